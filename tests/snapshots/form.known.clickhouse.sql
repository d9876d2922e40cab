-- 1. What the script needs
SET join_use_nulls = 1;

SET prefer_column_name_to_alias = 1;

-- 2. The classes that have k by some of the columns, in the rows of today: run it on these rows only
CREATE TABLE "kanon_kept"
ENGINE=MergeTree
ORDER BY tuple() AS
SELECT
  CAST("lines"."age" AS Nullable(String)) AS "age",
  CAST("lines"."sex" AS Nullable(String)) AS "sex",
  CAST("lines"."zip" AS Nullable(String)) AS "zip"
FROM values(
  '"age" Nullable(String), "sex" Nullable(String), "zip" Nullable(String)',
  ('*', 'F', '10000'),
  ('*', 'F', '10022'),
  ('*', 'F', '10041'),
  ('*', 'M', '10011'),
  ('*', 'M', '10030'),
  ('*', 'M', '10052')
) AS "lines";

-- 3. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE "released"
ENGINE=MergeTree
ORDER BY tuple() AS
WITH "generalized" AS (
  SELECT
    '*' AS "age",
    "source"."sex",
    "source"."zip",
    "source"."disease"
  FROM "patients" AS "source"
), "too_small" AS (
  SELECT DISTINCT
    "age",
    "sex",
    "zip"
  FROM "generalized"
  LEFT ANTI JOIN "kanon_kept" AS "kept"
    ON "kept"."age" IS NOT DISTINCT FROM "generalized"."age"
    AND "kept"."sex" IS NOT DISTINCT FROM "generalized"."sex"
    AND "kept"."zip" IS NOT DISTINCT FROM "generalized"."zip"
)
SELECT
  "generalized"."age",
  "generalized"."sex",
  "generalized"."zip",
  "generalized"."disease"
FROM "generalized"
LEFT ANTI JOIN "too_small"
  ON "too_small"."age" IS NOT DISTINCT FROM "generalized"."age"
  AND "too_small"."sex" IS NOT DISTINCT FROM "generalized"."sex"
  AND "too_small"."zip" IS NOT DISTINCT FROM "generalized"."zip"
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

-- 4. Check the release on its own rows
WITH "classes" AS (
  SELECT
    COUNT(*) AS "n"
  FROM "released"
  GROUP BY
    "age",
    "sex",
    "zip"
)
SELECT
  COUNT(*) AS "classes",
  SUM("n") AS "rows_in_classes",
  MIN("n") AS "smallest_class"
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
    '*' AS "label"
) AS "known"
  ON "known"."label" IS NOT DISTINCT FROM "published"."label";

WITH "classes" AS (
  SELECT
    COUNT(*) AS "members"
  FROM "released"
  GROUP BY
    "age",
    "sex"
  UNION ALL
  SELECT
    COUNT(*) AS "members"
  FROM "released"
  GROUP BY
    "age",
    "zip"
  UNION ALL
  SELECT
    COUNT(*) AS "members"
  FROM "released"
  GROUP BY
    "sex",
    "zip"
)
SELECT
  COUNT(*) AS "classes",
  MIN("members") AS "smallest_class",
  COUNT(CASE WHEN "members" < 5 THEN 1 END) AS "classes_failing"
FROM "classes";

-- 5. Remove the tables that were made on the way
DROP TABLE IF EXISTS "kanon_kept";
