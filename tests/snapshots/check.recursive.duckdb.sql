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
), classes AS (
  SELECT
    age,
    sex,
    CAST(SUM(n) AS BIGINT) AS n,
    SUM(n) AS measure_0,
    CASE
      WHEN (
        SUM(n) - MAX(n)
      ) > 0
      THEN CAST(MAX(n) AS DOUBLE) / (
        SUM(n) - MAX(n)
      )
      ELSE CAST('Infinity' AS DOUBLE)
    END AS measure_1
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
    measure_0 < 3 OR NOT (
      measure_1 < 2.999999999e0
    )) AS classes_failing,
  SUM(n) FILTER(WHERE
    measure_0 < 3 OR NOT (
      measure_1 < 2.999999999e0
    )) AS rows_failing,
  MIN(measure_0) AS worst_0,
  COUNT(*) FILTER(WHERE
    measure_0 < 3) AS failing_0,
  SUM(n) FILTER(WHERE
    measure_0 < 3) AS rows_failing_0,
  MAX(measure_1) AS worst_1,
  COUNT(*) FILTER(WHERE
    NOT (
      measure_1 < 2.999999999e0
    )) AS failing_1,
  SUM(n) FILTER(WHERE
    NOT (
      measure_1 < 2.999999999e0
    )) AS rows_failing_1
FROM classes;
