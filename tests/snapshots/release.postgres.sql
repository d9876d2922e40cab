-- 1. Hierarchies: each value with its label at every level
CREATE TEMPORARY TABLE kanon_hierarchy_age AS
SELECT
  CAST(value AS BIGINT) AS value,
  level_1,
  level_2,
  level_3
FROM (VALUES
  ('20', '20-29', '20-39', '*'),
  ('21', '20-29', '20-39', '*'),
  ('22', '20-29', '20-39', '*'),
  ('23', '20-29', '20-39', '*'),
  ('24', '20-29', '20-39', '*'),
  ('25', '20-29', '20-39', '*'),
  ('26', '20-29', '20-39', '*'),
  ('27', '20-29', '20-39', '*'),
  ('28', '20-29', '20-39', '*'),
  ('29', '20-29', '20-39', '*'),
  ('30', '30-39', '20-39', '*'),
  ('31', '30-39', '20-39', '*'),
  ('32', '30-39', '20-39', '*'),
  ('33', '30-39', '20-39', '*'),
  ('34', '30-39', '20-39', '*'),
  ('35', '30-39', '20-39', '*'),
  ('36', '30-39', '20-39', '*'),
  ('37', '30-39', '20-39', '*'),
  ('38', '30-39', '20-39', '*'),
  ('39', '30-39', '20-39', '*'),
  ('40', '40-49', '40-59', '*'),
  ('41', '40-49', '40-59', '*'),
  ('42', '40-49', '40-59', '*'),
  ('43', '40-49', '40-59', '*'),
  ('44', '40-49', '40-59', '*'),
  ('45', '40-49', '40-59', '*'),
  ('46', '40-49', '40-59', '*'),
  ('47', '40-49', '40-59', '*'),
  ('48', '40-49', '40-59', '*'),
  ('49', '40-49', '40-59', '*'),
  ('50', '50-59', '40-59', '*'),
  ('51', '50-59', '40-59', '*'),
  ('52', '50-59', '40-59', '*'),
  ('53', '50-59', '40-59', '*'),
  ('54', '50-59', '40-59', '*'),
  ('55', '50-59', '40-59', '*'),
  ('56', '50-59', '40-59', '*'),
  ('57', '50-59', '40-59', '*'),
  ('58', '50-59', '40-59', '*'),
  ('59', '50-59', '40-59', '*'),
  ('60', '60-69', '60-79', '*'),
  ('61', '60-69', '60-79', '*'),
  ('62', '60-69', '60-79', '*'),
  ('63', '60-69', '60-79', '*'),
  ('64', '60-69', '60-79', '*'),
  ('65', '60-69', '60-79', '*'),
  ('66', '60-69', '60-79', '*'),
  ('67', '60-69', '60-79', '*'),
  ('68', '60-69', '60-79', '*'),
  ('69', '60-69', '60-79', '*'),
  ('95', '>=90', '>=90', '*'),
  ('96', '>=90', '>=90', '*'),
  ('97', '>=90', '>=90', '*'),
  (NULL, '*', '*', '*')) AS lines(value, level_1, level_2, level_3);

-- 2. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE released AS
WITH generalized AS MATERIALIZED (
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
      COALESCE(too_small.age, '') = COALESCE(generalized.age, '')
      AND (
        too_small.age IS NULL
      ) = (
        generalized.age IS NULL
      )
      AND COALESCE(too_small.sex, '') = COALESCE(generalized.sex, '')
      AND (
        too_small.sex IS NULL
      ) = (
        generalized.sex IS NULL
      )
      AND COALESCE(too_small.zip, '') = COALESCE(generalized.zip, '')
      AND (
        too_small.zip IS NULL
      ) = (
        generalized.zip IS NULL
      )
  )
ORDER BY
  HASH_RECORD_EXTENDED(ROW(generalized.age, generalized.sex, generalized.zip, generalized.disease), 1);

-- 3. Check the release on its own rows
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
    FROM kanon_hierarchy_age
    WHERE
      COALESCE(kanon_hierarchy_age.level_3, '') = COALESCE(published.label, '')
      AND (
        kanon_hierarchy_age.level_3 IS NULL
      ) = (
        published.label IS NULL
      )
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
    ON ARRAY[in_source.age] = ARRAY[in_output.age]
    AND ARRAY[in_source.sex] = ARRAY[in_output.sex]
    AND ARRAY[in_source.zip] = ARRAY[in_output.zip]
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
