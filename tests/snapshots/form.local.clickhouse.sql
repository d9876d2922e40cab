-- 1. What the script needs
SET join_use_nulls = 1;

SET prefer_column_name_to_alias = 1;

-- 2. Hierarchies: each value with its label at every level
CREATE TABLE "kanon_hierarchy_age"
ENGINE=MergeTree
ORDER BY tuple() AS
WITH "present" AS (
  SELECT
    "source"."age" AS "value"
  FROM "patients" AS "source"
  UNION DISTINCT
  SELECT
    CAST(NULL AS Nullable(Int64)) AS "value"
), "numbers" AS (
  SELECT
    "value",
    CAST("value" AS Nullable(Int64)) AS "number"
  FROM "present"
), "lower_bounds" AS (
  SELECT
    "value",
    "number",
    CAST("number" - (
      "number" % 10 + 10
    ) % 10 AS Nullable(Decimal(18, 0))) AS "lower_1",
    CAST("number" - (
      "number" % 20 + 20
    ) % 20 AS Nullable(Decimal(18, 0))) AS "lower_2"
  FROM "numbers"
), "intervals" AS (
  SELECT
    *,
    CAST("lower_1" + 10 AS Nullable(Decimal(18, 0))) AS "upper_1",
    CAST("lower_2" + 20 AS Nullable(Decimal(18, 0))) AS "upper_2"
  FROM "lower_bounds"
)
SELECT
  "value",
  CASE
    WHEN "number" IS NULL
    THEN '*'
    WHEN "number" >= 90
    THEN '>=90'
    ELSE CAST("lower_1" AS Nullable(String)) || '-' || CAST(LEAST("upper_1", 90) - 1 AS Nullable(String))
  END AS "level_1",
  CASE
    WHEN "number" IS NULL
    THEN '*'
    WHEN "number" >= 90
    THEN '>=90'
    ELSE CAST("lower_2" AS Nullable(String)) || '-' || CAST(LEAST("upper_2", 90) - 1 AS Nullable(String))
  END AS "level_2"
FROM "intervals";

CREATE TABLE "kanon_hierarchy_zip"
ENGINE=MergeTree
ORDER BY tuple() AS
WITH "present" AS (
  SELECT
    "source"."zip" AS "value"
  FROM "patients" AS "source"
  UNION DISTINCT
  SELECT
    CAST(NULL AS Nullable(String)) AS "value"
)
SELECT
  "value",
  COALESCE(rightPadUTF8(leftUTF8("value", 2), 5, '*'), '*') AS "level_2"
FROM "present";

-- 3. Step by step: the combinations of values whose class is large enough
CREATE TABLE "kanon_combinations"
ENGINE=MergeTree
ORDER BY tuple() AS
WITH "combined" AS (
  SELECT
    "source"."age",
    "source"."sex",
    "source"."zip",
    COUNT(*) AS "n",
    "source"."disease" AS "disease"
  FROM "patients" AS "source"
  GROUP BY
    "source"."age",
    "source"."sex",
    "source"."zip",
    "source"."disease"
)
SELECT
  "combined"."age",
  "combined"."sex",
  "combined"."zip",
  "kanon_hierarchy_age"."level_1" AS "age_level_1",
  "kanon_hierarchy_age"."level_2" AS "age_level_2",
  "kanon_hierarchy_zip"."level_2" AS "zip_level_2",
  "combined"."n",
  "combined"."disease",
  CAST(NULL AS Nullable(Int32)) AS "step"
FROM "combined"
JOIN "kanon_hierarchy_age"
  ON "combined"."age" IS NOT DISTINCT FROM "kanon_hierarchy_age"."value"
JOIN "kanon_hierarchy_zip"
  ON "combined"."zip" IS NOT DISTINCT FROM "kanon_hierarchy_zip"."value";

CREATE OR REPLACE TABLE "kanon_combinations"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "kanon_combinations"."age",
  "kanon_combinations"."sex",
  "kanon_combinations"."zip",
  "kanon_combinations"."age_level_1",
  "kanon_combinations"."age_level_2",
  "kanon_combinations"."zip_level_2",
  "kanon_combinations"."n",
  "kanon_combinations"."disease",
  CASE
    WHEN "kanon_combinations"."step" IS NULL AND "large"."found" = 1
    THEN 1
    ELSE "kanon_combinations"."step"
  END AS "step"
FROM "kanon_combinations"
LEFT JOIN (
  WITH "shares_1" AS (
    SELECT
      "disease" AS "value",
      CAST(SUM("n") AS Nullable(Float64)) / SUM(SUM("n")) OVER () AS "share",
      COUNT(*) OVER () AS "values"
    FROM "kanon_combinations"
    GROUP BY
      "disease"
  ), "counted" AS (
    SELECT
      "age_level_2",
      "sex",
      "zip",
      "disease" AS "value",
      CAST(SUM("n") AS Nullable(Int64)) AS "n"
    FROM "kanon_combinations"
    WHERE
      "step" IS NULL
    GROUP BY
      "age_level_2",
      "sex",
      "zip",
      "disease"
  )
  SELECT
    "age_level_2",
    "sex",
    "zip",
    1 AS "found"
  FROM (
    SELECT
      "age_level_2",
      "sex",
      "zip",
      CAST(SUM("n") AS Nullable(Int64)) AS "n",
      SUM("n") AS "measure_0",
      COUNT(*) AS "measure_1"
    FROM "counted"
    GROUP BY
      "age_level_2",
      "sex",
      "zip"
  ) AS "classes"
  WHERE
    "measure_0" >= 5 AND "measure_1" >= 2
) AS "large"
  ON "large"."age_level_2" IS NOT DISTINCT FROM "kanon_combinations"."age_level_2"
  AND "large"."sex" IS NOT DISTINCT FROM "kanon_combinations"."sex"
  AND "large"."zip" IS NOT DISTINCT FROM "kanon_combinations"."zip";

CREATE OR REPLACE TABLE "kanon_combinations"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "kanon_combinations"."age",
  "kanon_combinations"."sex",
  "kanon_combinations"."zip",
  "kanon_combinations"."age_level_1",
  "kanon_combinations"."age_level_2",
  "kanon_combinations"."zip_level_2",
  "kanon_combinations"."n",
  "kanon_combinations"."disease",
  CASE
    WHEN "kanon_combinations"."step" IS NULL AND "large"."found" = 1
    THEN 2
    ELSE "kanon_combinations"."step"
  END AS "step"
FROM "kanon_combinations"
LEFT JOIN (
  WITH "shares_1" AS (
    SELECT
      "disease" AS "value",
      CAST(SUM("n") AS Nullable(Float64)) / SUM(SUM("n")) OVER () AS "share",
      COUNT(*) OVER () AS "values"
    FROM "kanon_combinations"
    GROUP BY
      "disease"
  ), "counted" AS (
    SELECT
      "age_level_1",
      "sex",
      "zip_level_2",
      "disease" AS "value",
      CAST(SUM("n") AS Nullable(Int64)) AS "n"
    FROM "kanon_combinations"
    WHERE
      "step" IS NULL
    GROUP BY
      "age_level_1",
      "sex",
      "zip_level_2",
      "disease"
  )
  SELECT
    "age_level_1",
    "sex",
    "zip_level_2",
    1 AS "found"
  FROM (
    SELECT
      "age_level_1",
      "sex",
      "zip_level_2",
      CAST(SUM("n") AS Nullable(Int64)) AS "n",
      SUM("n") AS "measure_0",
      COUNT(*) AS "measure_1"
    FROM "counted"
    GROUP BY
      "age_level_1",
      "sex",
      "zip_level_2"
  ) AS "classes"
  WHERE
    "measure_0" >= 5 AND "measure_1" >= 2
) AS "large"
  ON "large"."age_level_1" IS NOT DISTINCT FROM "kanon_combinations"."age_level_1"
  AND "large"."sex" IS NOT DISTINCT FROM "kanon_combinations"."sex"
  AND "large"."zip_level_2" IS NOT DISTINCT FROM "kanon_combinations"."zip_level_2";

CREATE OR REPLACE TABLE "kanon_combinations"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "kanon_combinations"."age",
  "kanon_combinations"."sex",
  "kanon_combinations"."zip",
  "kanon_combinations"."age_level_1",
  "kanon_combinations"."age_level_2",
  "kanon_combinations"."zip_level_2",
  "kanon_combinations"."n",
  "kanon_combinations"."disease",
  CASE
    WHEN "kanon_combinations"."step" IS NULL AND "large"."found" = 1
    THEN 3
    ELSE "kanon_combinations"."step"
  END AS "step"
FROM "kanon_combinations"
LEFT JOIN (
  WITH "shares_1" AS (
    SELECT
      "disease" AS "value",
      CAST(SUM("n") AS Nullable(Float64)) / SUM(SUM("n")) OVER () AS "share",
      COUNT(*) OVER () AS "values"
    FROM "kanon_combinations"
    GROUP BY
      "disease"
  ), "counted" AS (
    SELECT
      "sex",
      "zip",
      "disease" AS "value",
      CAST(SUM("n") AS Nullable(Int64)) AS "n"
    FROM "kanon_combinations"
    WHERE
      "step" IS NULL
    GROUP BY
      "sex",
      "zip",
      "disease"
  )
  SELECT
    "sex",
    "zip",
    1 AS "found"
  FROM (
    SELECT
      "sex",
      "zip",
      CAST(SUM("n") AS Nullable(Int64)) AS "n",
      SUM("n") AS "measure_0",
      COUNT(*) AS "measure_1"
    FROM "counted"
    GROUP BY
      "sex",
      "zip"
  ) AS "classes"
  WHERE
    "measure_0" >= 5 AND "measure_1" >= 2
) AS "large"
  ON "large"."sex" IS NOT DISTINCT FROM "kanon_combinations"."sex"
  AND "large"."zip" IS NOT DISTINCT FROM "kanon_combinations"."zip";

CREATE OR REPLACE TABLE "kanon_combinations"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  "kanon_combinations"."age",
  "kanon_combinations"."sex",
  "kanon_combinations"."zip",
  "kanon_combinations"."age_level_1",
  "kanon_combinations"."age_level_2",
  "kanon_combinations"."zip_level_2",
  "kanon_combinations"."n",
  "kanon_combinations"."disease",
  CASE
    WHEN "kanon_combinations"."step" IS NULL AND "large"."found" = 1
    THEN 4
    ELSE "kanon_combinations"."step"
  END AS "step"
FROM "kanon_combinations"
LEFT JOIN (
  WITH "shares_1" AS (
    SELECT
      "disease" AS "value",
      CAST(SUM("n") AS Nullable(Float64)) / SUM(SUM("n")) OVER () AS "share",
      COUNT(*) OVER () AS "values"
    FROM "kanon_combinations"
    GROUP BY
      "disease"
  ), "counted" AS (
    SELECT
      "age_level_2",
      "sex",
      "zip_level_2",
      "disease" AS "value",
      CAST(SUM("n") AS Nullable(Int64)) AS "n"
    FROM "kanon_combinations"
    WHERE
      "step" IS NULL
    GROUP BY
      "age_level_2",
      "sex",
      "zip_level_2",
      "disease"
  )
  SELECT
    "age_level_2",
    "sex",
    "zip_level_2",
    1 AS "found"
  FROM (
    SELECT
      "age_level_2",
      "sex",
      "zip_level_2",
      CAST(SUM("n") AS Nullable(Int64)) AS "n",
      SUM("n") AS "measure_0",
      COUNT(*) AS "measure_1"
    FROM "counted"
    GROUP BY
      "age_level_2",
      "sex",
      "zip_level_2"
  ) AS "classes"
  WHERE
    "measure_0" >= 5 AND "measure_1" >= 2
) AS "large"
  ON "large"."age_level_2" IS NOT DISTINCT FROM "kanon_combinations"."age_level_2"
  AND "large"."sex" IS NOT DISTINCT FROM "kanon_combinations"."sex"
  AND "large"."zip_level_2" IS NOT DISTINCT FROM "kanon_combinations"."zip_level_2";

-- 4. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE "released"
ENGINE=MergeTree
ORDER BY tuple() AS
WITH "generalized" AS (
  SELECT
    CASE
      WHEN "kanon_combinations"."step" IN (2)
      THEN "kanon_combinations"."age_level_1"
      WHEN "kanon_combinations"."step" IN (1, 4)
      THEN "kanon_combinations"."age_level_2"
      ELSE '*'
    END AS "age",
    "source"."sex" AS "sex",
    CASE
      WHEN "kanon_combinations"."step" IN (1, 3)
      THEN CAST("source"."zip" AS Nullable(String))
      ELSE "kanon_combinations"."zip_level_2"
    END AS "zip",
    "source"."disease"
  FROM "patients" AS "source"
  JOIN "kanon_combinations"
    ON "source"."age" IS NOT DISTINCT FROM "kanon_combinations"."age"
    AND "source"."sex" IS NOT DISTINCT FROM "kanon_combinations"."sex"
    AND "source"."zip" IS NOT DISTINCT FROM "kanon_combinations"."zip"
    AND "source"."disease" IS NOT DISTINCT FROM "kanon_combinations"."disease"
  WHERE
    NOT (
      "kanon_combinations"."step" IS NULL
    )
)
SELECT
  "generalized"."age",
  "generalized"."sex",
  "generalized"."zip",
  "generalized"."disease"
FROM "generalized"
ORDER BY
  cityHash64(
    toJSONString(
      tuple(
        "generalized"."age",
        "generalized"."sex",
        "generalized"."zip",
        "generalized"."disease",
        1
      )
    )
  );

-- 5. Check the release on its own rows
WITH "shares_1" AS (
  SELECT
    "disease" AS "value",
    CAST(COUNT(*) AS Nullable(Float64)) / SUM(COUNT(*)) OVER () AS "share",
    COUNT(*) OVER () AS "values"
  FROM "patients"
  GROUP BY
    "disease"
), "counted" AS (
  SELECT
    "age" AS "age",
    "sex" AS "sex",
    "zip" AS "zip",
    "disease" AS "value",
    COUNT(*) AS "n"
  FROM "released"
  GROUP BY
    "age",
    "sex",
    "zip",
    "disease"
), "classes" AS (
  SELECT
    "age",
    "sex",
    "zip",
    CAST(SUM("n") AS Nullable(Int64)) AS "n",
    SUM("n") AS "measure_0",
    COUNT(*) AS "measure_1"
  FROM "counted"
  GROUP BY
    "age",
    "sex",
    "zip"
)
SELECT
  COUNT(*) AS "classes",
  SUM("n") AS "rows_in_classes",
  MIN("n") AS "smallest_class",
  COUNT(CASE WHEN "measure_0" < 5 OR "measure_1" < 2 THEN 1 END) AS "classes_failing",
  SUM(CASE WHEN "measure_0" < 5 OR "measure_1" < 2 THEN "n" END) AS "rows_failing",
  MIN("measure_0") AS "worst_0",
  COUNT(CASE WHEN "measure_0" < 5 THEN 1 END) AS "failing_0",
  SUM(CASE WHEN "measure_0" < 5 THEN "n" END) AS "rows_failing_0",
  MIN("measure_1") AS "worst_1",
  COUNT(CASE WHEN "measure_1" < 2 THEN 1 END) AS "failing_1",
  SUM(CASE WHEN "measure_1" < 2 THEN "n" END) AS "rows_failing_1"
FROM "classes";

SELECT
  'age' AS "column_name",
  COUNT(*) AS "foreign_labels"
FROM (
  SELECT DISTINCT
    "age" AS "label"
  FROM "released"
) AS "published"
LEFT ANTI JOIN (
  SELECT
    "kanon_hierarchy_age"."level_1" AS "label"
  FROM "kanon_hierarchy_age"
  UNION ALL
  SELECT
    "kanon_hierarchy_age"."level_2" AS "label"
  FROM "kanon_hierarchy_age"
  UNION ALL
  SELECT
    '*' AS "label"
) AS "known"
  ON "known"."label" IS NOT DISTINCT FROM "published"."label"
UNION ALL
SELECT
  'zip' AS "column_name",
  COUNT(*) AS "foreign_labels"
FROM (
  SELECT DISTINCT
    "zip" AS "label"
  FROM "released"
) AS "published"
LEFT ANTI JOIN (
  SELECT
    CAST("kanon_hierarchy_zip"."value" AS Nullable(String)) AS "label"
  FROM "kanon_hierarchy_zip"
  UNION ALL
  SELECT
    "kanon_hierarchy_zip"."level_2" AS "label"
  FROM "kanon_hierarchy_zip"
) AS "known"
  ON "known"."label" IS NOT DISTINCT FROM "published"."label";

-- 6. Remove the tables that were made on the way
DROP TABLE IF EXISTS "kanon_hierarchy_age";

DROP TABLE IF EXISTS "kanon_hierarchy_zip";

DROP TABLE IF EXISTS "kanon_combinations";
