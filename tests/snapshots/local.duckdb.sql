CREATE TEMPORARY TABLE kanon_hierarchy_age AS
WITH present AS (
  SELECT
    source.age AS value
  FROM patients AS source
  UNION
  SELECT
    CAST(NULL AS BIGINT) AS value
), numbers AS (
  SELECT
    value,
    TRY_CAST(value AS DECIMAL(18, 0)) AS number
  FROM present
), lower_bounds AS (
  SELECT
    value,
    number,
    CAST(number - (
      number % 10 + 10
    ) % 10 AS DECIMAL(18, 0)) AS lower_1,
    CAST(number - (
      number % 20 + 20
    ) % 20 AS DECIMAL(18, 0)) AS lower_2
  FROM numbers
), intervals AS (
  SELECT
    *,
    CAST(lower_1 + 10 AS DECIMAL(18, 0)) AS upper_1,
    CAST(lower_2 + 20 AS DECIMAL(18, 0)) AS upper_2
  FROM lower_bounds
)
SELECT
  value,
  CASE
    WHEN number IS NULL
    THEN '*'
    WHEN number >= 90
    THEN '>=90'
    ELSE CAST(lower_1 AS TEXT) || '-' || CAST(LEAST(upper_1, 90) - 1 AS TEXT)
  END AS level_1
FROM intervals;

CREATE TEMPORARY TABLE kanon_combinations AS
WITH combined AS (
  SELECT
    source.age,
    source.sex,
    COUNT(*) AS n,
    source.disease AS disease
  FROM patients AS source
  GROUP BY
    source.age,
    source.sex,
    source.disease
)
SELECT
  combined.age,
  combined.sex,
  kanon_hierarchy_age.level_1 AS age_level_1,
  combined.n,
  combined.disease,
  CAST(NULL AS INT) AS step
FROM combined
JOIN kanon_hierarchy_age
  ON combined.age IS NOT DISTINCT FROM kanon_hierarchy_age.value;

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
          CAST(SUM(n) AS DOUBLE) / SUM(SUM(n)) OVER () AS share,
          COUNT(*) OVER () AS "values"
        FROM kanon_combinations
        GROUP BY
          disease
      ), counted AS (
        SELECT
          age_level_1,
          sex,
          disease AS value,
          CAST(SUM(n) AS BIGINT) AS n
        FROM kanon_combinations
        WHERE
          step IS NULL
        GROUP BY
          age_level_1,
          sex,
          disease
      )
      SELECT
        age_level_1,
        sex
      FROM (
        SELECT
          age_level_1,
          sex,
          CAST(SUM(n) AS BIGINT) AS n,
          SUM(n) AS measure_0,
          COUNT(*) AS measure_1
        FROM counted
        GROUP BY
          age_level_1,
          sex
      ) AS classes
      WHERE
        measure_0 >= 5 AND measure_1 >= 2
    ) AS large
    WHERE
      large.age_level_1 IS NOT DISTINCT FROM kanon_combinations.age_level_1
      AND large.sex IS NOT DISTINCT FROM kanon_combinations.sex
  );

CREATE TABLE released AS
WITH generalized AS (
  SELECT
    kanon_combinations.age_level_1 AS age,
    source.sex AS sex,
    source.disease
  FROM patients AS source
  JOIN kanon_combinations
    ON source.age IS NOT DISTINCT FROM kanon_combinations.age
    AND source.sex IS NOT DISTINCT FROM kanon_combinations.sex
    AND source.disease IS NOT DISTINCT FROM kanon_combinations.disease
  WHERE
    NOT kanon_combinations.step IS NULL
)
SELECT
  generalized.age,
  generalized.sex,
  generalized.disease
FROM generalized
ORDER BY
  HASH(generalized.age, generalized.sex, generalized.disease, 1);

WITH shares_1 AS (
  SELECT
    disease AS value,
    CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER () AS share,
    COUNT(*) OVER () AS "values"
  FROM patients
  GROUP BY
    disease
), counted AS (
  SELECT
    age AS age,
    sex AS sex,
    disease AS value,
    COUNT(*) AS n
  FROM released
  GROUP BY
    age,
    sex,
    disease
), classes AS (
  SELECT
    age,
    sex,
    CAST(SUM(n) AS BIGINT) AS n,
    SUM(n) AS measure_0,
    COUNT(*) AS measure_1
  FROM counted
  GROUP BY
    age,
    sex
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER(WHERE
    measure_0 < 5 OR measure_1 < 2) AS classes_failing,
  SUM(n) FILTER(WHERE
    measure_0 < 5 OR measure_1 < 2) AS rows_failing,
  MIN(measure_0) AS worst_0,
  COUNT(*) FILTER(WHERE
    measure_0 < 5) AS failing_0,
  SUM(n) FILTER(WHERE
    measure_0 < 5) AS rows_failing_0,
  MIN(measure_1) AS worst_1,
  COUNT(*) FILTER(WHERE
    measure_1 < 2) AS failing_1,
  SUM(n) FILTER(WHERE
    measure_1 < 2) AS rows_failing_1
FROM classes;

SELECT
  'age' AS column_name,
  COUNT(*) FILTER(WHERE
    NOT EXISTS(
      SELECT
        1
      FROM kanon_hierarchy_age
      WHERE
        kanon_hierarchy_age.level_1 IS NOT DISTINCT FROM published.label
    )) AS foreign_labels
FROM (
  SELECT DISTINCT
    age AS label
  FROM released
) AS published
