-- 1. Step by step: the combinations of values whose class is large enough
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

-- 2. The release: generalize, leave out classes that are too small, mix the rows
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

-- 3. Check the release on its own rows
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
    FROM (
      SELECT
        '*' AS label
    ) AS known
    WHERE
      COALESCE(known.label, '') = COALESCE(published.label, '')
      AND (
        known.label IS NULL
      ) = (
        published.label IS NULL
      )
  );
