-- 1. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE released AS
WITH generalized AS (
  SELECT
    '*' AS age,
    source.sex,
    source.zip,
    source.disease,
    source.id AS kanon_entity
  FROM patients AS source
), too_small AS (
  SELECT
    age,
    sex,
    zip
  FROM generalized
  GROUP BY
    age,
    sex,
    zip
  HAVING
    COUNT(DISTINCT kanon_entity) < 4
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
  XXHASH64(generalized.age, generalized.sex, generalized.zip, generalized.disease, 1);

-- 2. Check the release on its own rows
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
  MIN(n) AS smallest_class,
  COUNT(*) FILTER(WHERE
    FALSE) AS classes_failing,
  SUM(n) FILTER(WHERE
    FALSE) AS rows_failing
FROM classes;

SELECT
  'age' AS column_name,
  COUNT(*) AS foreign_labels
FROM (
  SELECT DISTINCT
    age AS label
  FROM released
) AS published
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        '*' AS label
    ) AS known
    WHERE
      known.label IS NOT DISTINCT FROM published.label
  );

WITH generalized AS (
  SELECT
    '*' AS age,
    source.sex,
    source.zip,
    source.disease,
    source.id AS kanon_entity
  FROM patients AS source
), in_source AS (
  SELECT
    age,
    sex,
    zip,
    COUNT(*) AS n,
    COUNT(DISTINCT kanon_entity) AS measure_0
  FROM generalized
  GROUP BY
    age,
    sex,
    zip
), in_output AS (
  SELECT
    age,
    sex,
    zip,
    COUNT(*) AS n
  FROM released
  GROUP BY
    age,
    sex,
    zip
), classes AS (
  SELECT
    in_output.n,
    in_source.n AS n_in_source,
    in_source.measure_0
  FROM in_output
  LEFT JOIN in_source
    ON in_source.age IS NOT DISTINCT FROM in_output.age
    AND in_source.sex IS NOT DISTINCT FROM in_output.sex
    AND in_source.zip IS NOT DISTINCT FROM in_output.zip
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER(WHERE
    measure_0 < 4) AS classes_failing,
  SUM(n) FILTER(WHERE
    measure_0 < 4) AS rows_failing,
  MIN(measure_0) AS worst_0,
  COUNT(*) FILTER(WHERE
    measure_0 < 4) AS failing_0,
  SUM(n) FILTER(WHERE
    measure_0 < 4) AS rows_failing_0,
  COUNT(*) FILTER(WHERE
    n IS DISTINCT FROM n_in_source) AS not_whole
FROM classes;
