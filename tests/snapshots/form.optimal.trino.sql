-- 1. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE "released" AS
WITH "generalized" AS (
  SELECT
    '*' AS "age",
    "source"."sex",
    "source"."zip",
    "source"."disease"
  FROM "patients" AS "source"
), "shares_1" AS (
  SELECT
    "disease" AS "value",
    CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER () AS "share",
    COUNT(*) OVER () AS "values"
  FROM "patients"
  GROUP BY
    "disease"
), "counted" AS (
  SELECT
    "age",
    "sex",
    "zip",
    "disease" AS "value",
    COUNT(*) AS "n"
  FROM "generalized"
  GROUP BY
    "age",
    "sex",
    "zip",
    "disease"
), "too_small" AS (
  SELECT
    "classes"."age",
    "classes"."sex",
    "classes"."zip"
  FROM (
    SELECT
      "age",
      "sex",
      "zip",
      CAST(SUM("n") AS BIGINT) AS "n",
      SUM("n") AS "measure_0",
      COUNT(*) AS "measure_1"
    FROM "counted"
    GROUP BY
      "age",
      "sex",
      "zip"
  ) AS "classes"
  WHERE
    "classes"."measure_0" < 5 OR "classes"."measure_1" < 2
)
SELECT
  "generalized"."age",
  "generalized"."sex",
  "generalized"."zip",
  "generalized"."disease"
FROM "generalized"
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM "too_small"
    WHERE
      COALESCE("too_small"."age", '') = COALESCE("generalized"."age", '')
      AND "too_small"."age" IS NOT DISTINCT FROM "generalized"."age"
      AND COALESCE("too_small"."sex", '') = COALESCE("generalized"."sex", '')
      AND "too_small"."sex" IS NOT DISTINCT FROM "generalized"."sex"
      AND COALESCE("too_small"."zip", '') = COALESCE("generalized"."zip", '')
      AND "too_small"."zip" IS NOT DISTINCT FROM "generalized"."zip"
  )
ORDER BY
  XXHASH64(
    TO_UTF8(
      JSON_FORMAT(
        CAST(ROW(
          "generalized"."age",
          "generalized"."sex",
          "generalized"."zip",
          "generalized"."disease",
          1
        ) AS JSON)
      )
    )
  );

-- 2. Check the release on its own rows
WITH "shares_1" AS (
  SELECT
    "disease" AS "value",
    CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER () AS "share",
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
    CAST(SUM("n") AS BIGINT) AS "n",
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
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        '*' AS "label"
    ) AS "known"
    WHERE
      COALESCE("known"."label", '') = COALESCE("published"."label", '')
      AND "known"."label" IS NOT DISTINCT FROM "published"."label"
  );
