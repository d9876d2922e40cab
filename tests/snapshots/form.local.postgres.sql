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

-- 2. Step by step: the combinations of values whose class is large enough
CREATE TEMPORARY TABLE kanon_combinations AS
WITH combined AS (
  SELECT
    source.age,
    source.sex,
    source.zip,
    COUNT(*) AS n,
    source.disease AS disease
  FROM patients AS source
  GROUP BY
    source.age,
    source.sex,
    source.zip,
    source.disease
)
SELECT
  combined.age,
  combined.sex,
  combined.zip,
  combined.n,
  combined.disease,
  CAST(NULL AS INT) AS step
FROM combined;

UPDATE kanon_combinations SET step = 1
WHERE
  step IS NULL
  AND EXISTS(
    SELECT
      1
    FROM (
      WITH shares_1 AS (
        SELECT
          disease AS value,
          CAST(SUM(n) AS DOUBLE PRECISION) / SUM(SUM(n)) OVER () AS share,
          COUNT(*) OVER () AS "values"
        FROM kanon_combinations
        GROUP BY
          disease
      ), counted AS (
        SELECT
          sex,
          zip,
          disease AS value,
          CAST(SUM(n) AS BIGINT) AS n
        FROM kanon_combinations
        WHERE
          step IS NULL
        GROUP BY
          sex,
          zip,
          disease
      )
      SELECT
        sex,
        zip
      FROM (
        SELECT
          sex,
          zip,
          CAST(SUM(n) AS BIGINT) AS n,
          SUM(n) AS measure_0,
          COUNT(*) AS measure_1
        FROM counted
        GROUP BY
          sex,
          zip
      ) AS classes
      WHERE
        measure_0 >= 8 AND measure_1 >= 2
    ) AS large
    WHERE
      COALESCE(large.sex, '') = COALESCE(kanon_combinations.sex, '')
      AND (
        large.sex IS NULL
      ) = (
        kanon_combinations.sex IS NULL
      )
      AND COALESCE(large.zip, '') = COALESCE(kanon_combinations.zip, '')
      AND (
        large.zip IS NULL
      ) = (
        kanon_combinations.zip IS NULL
      )
  );

-- 3. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE released AS
WITH generalized AS (
  SELECT
    '*' AS age,
    source.sex AS sex,
    source.zip AS zip,
    source.disease
  FROM patients AS source
  JOIN kanon_combinations
    ON COALESCE(source.age, 0) = COALESCE(kanon_combinations.age, 0)
    AND (
      source.age IS NULL
    ) = (
      kanon_combinations.age IS NULL
    )
    AND COALESCE(source.sex, '') = COALESCE(kanon_combinations.sex, '')
    AND (
      source.sex IS NULL
    ) = (
      kanon_combinations.sex IS NULL
    )
    AND COALESCE(source.zip, '') = COALESCE(kanon_combinations.zip, '')
    AND (
      source.zip IS NULL
    ) = (
      kanon_combinations.zip IS NULL
    )
    AND ARRAY[source.disease] = ARRAY[kanon_combinations.disease]
  WHERE
    NOT kanon_combinations.step IS NULL
)
SELECT
  generalized.age,
  generalized.sex,
  generalized.zip,
  generalized.disease
FROM generalized
ORDER BY
  HASH_RECORD_EXTENDED(ROW(generalized.age, generalized.sex, generalized.zip, generalized.disease), 1);

-- 4. Check the release on its own rows
WITH shares_1 AS (
  SELECT
    disease AS value,
    CAST(COUNT(*) AS DOUBLE PRECISION) / SUM(COUNT(*)) OVER () AS share,
    COUNT(*) OVER () AS "values"
  FROM patients
  GROUP BY
    disease
), counted AS (
  SELECT
    age AS age,
    sex AS sex,
    zip AS zip,
    disease AS value,
    COUNT(*) AS n
  FROM released
  GROUP BY
    age,
    sex,
    zip,
    disease
), classes AS (
  SELECT
    age,
    sex,
    zip,
    CAST(SUM(n) AS BIGINT) AS n,
    SUM(n) AS measure_0,
    COUNT(*) AS measure_1
  FROM counted
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
    measure_0 < 8 OR measure_1 < 2) AS classes_failing,
  SUM(n) FILTER(WHERE
    measure_0 < 8 OR measure_1 < 2) AS rows_failing,
  MIN(measure_0) AS worst_0,
  COUNT(*) FILTER(WHERE
    measure_0 < 8) AS failing_0,
  SUM(n) FILTER(WHERE
    measure_0 < 8) AS rows_failing_0,
  MIN(measure_1) AS worst_1,
  COUNT(*) FILTER(WHERE
    measure_1 < 2) AS failing_1,
  SUM(n) FILTER(WHERE
    measure_1 < 2) AS rows_failing_1
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
