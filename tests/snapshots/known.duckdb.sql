CREATE TEMPORARY TABLE kanon_kept AS
SELECT
  CAST(lines.age AS TEXT) AS age,
  CAST(lines.sex AS TEXT) AS sex,
  CAST(lines.zip AS TEXT) AS zip
FROM (VALUES
  ('*', 'F', '10000'),
  ('*', 'F', '10022'),
  ('*', 'F', '10041'),
  ('*', 'M', '10011'),
  ('*', 'M', '10030'),
  ('*', 'M', '10052')) AS lines(age, sex, zip);

CREATE TABLE released AS
WITH generalized AS NOT MATERIALIZED (
  SELECT
    '*' AS age,
    source.sex,
    source.zip,
    source.disease
  FROM patients AS source
), too_small AS (
  SELECT DISTINCT
    age,
    sex,
    zip
  FROM generalized
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM kanon_kept AS kept
      WHERE
        kept.age IS NOT DISTINCT FROM generalized.age
        AND kept.sex IS NOT DISTINCT FROM generalized.sex
        AND kept.zip IS NOT DISTINCT FROM generalized.zip
    )
)
SELECT
  generalized.age,
  generalized.sex,
  generalized.zip,
  generalized.disease
FROM generalized
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM too_small
    WHERE
      too_small.age IS NOT DISTINCT FROM generalized.age
      AND too_small.sex IS NOT DISTINCT FROM generalized.sex
      AND too_small.zip IS NOT DISTINCT FROM generalized.zip
  )
ORDER BY
  HASH(generalized.age, generalized.sex, generalized.zip, generalized.disease, 1);

WITH classes AS (
  SELECT
    COUNT(*) AS n
  FROM released
  GROUP BY
    age,
    sex,
    zip
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class
FROM classes;

WITH classes AS (
  SELECT
    COUNT(*) AS members
  FROM released
  GROUP BY
    age,
    sex
  UNION ALL
  SELECT
    COUNT(*) AS members
  FROM released
  GROUP BY
    age,
    zip
  UNION ALL
  SELECT
    COUNT(*) AS members
  FROM released
  GROUP BY
    sex,
    zip
)
SELECT
  COUNT(*) AS classes,
  MIN(members) AS smallest_class,
  COUNT(*) FILTER(WHERE
    members < 5) AS classes_failing
FROM classes
