WITH shares_1 AS (
  SELECT
    disease AS value,
    CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER () AS share,
    COUNT(*) OVER () AS "values"
  FROM (
    SELECT
      *
    FROM ward
  ) AS whole_table
  GROUP BY
    disease
), counted AS (
  SELECT
    age AS age,
    sex AS sex,
    disease AS value,
    COUNT(*) AS n
  FROM ward
  GROUP BY
    age,
    sex,
    disease
), weighed AS (
  SELECT
    counted.age,
    counted.sex,
    counted.value,
    counted.n,
    CAST(SUM(counted.n) OVER (PARTITION BY counted.age, counted.sex) AS BIGINT) AS class_n,
    shares.share AS share
  FROM counted
  JOIN shares_1 AS shares
    ON counted.value IS NOT DISTINCT FROM shares.value
), classes AS (
  SELECT
    age,
    sex,
    CAST(SUM(n) AS BIGINT) AS n,
    SUM(n) AS measure_0,
    SUM(GREATEST(0.0e0, CAST(n AS DOUBLE) / class_n - share)) AS measure_1
  FROM weighed
  GROUP BY
    age,
    sex
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER(WHERE
    measure_0 < 3 OR measure_1 > 0.40000000100000005e0) AS classes_failing,
  SUM(n) FILTER(WHERE
    measure_0 < 3 OR measure_1 > 0.40000000100000005e0) AS rows_failing,
  MIN(measure_0) AS worst_0,
  COUNT(*) FILTER(WHERE
    measure_0 < 3) AS failing_0,
  SUM(n) FILTER(WHERE
    measure_0 < 3) AS rows_failing_0,
  MAX(measure_1) AS worst_1,
  COUNT(*) FILTER(WHERE
    measure_1 > 0.40000000100000005e0) AS failing_1,
  SUM(n) FILTER(WHERE
    measure_1 > 0.40000000100000005e0) AS rows_failing_1
FROM classes;
