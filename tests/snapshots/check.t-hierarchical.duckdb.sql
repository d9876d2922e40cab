CREATE TEMPORARY TABLE kanon_hierarchy_disease AS
SELECT
  CAST(lines.value AS TEXT) AS value,
  CAST(lines.level_1 AS TEXT) AS level_1,
  CAST(lines.level_2 AS TEXT) AS level_2
FROM (VALUES
  ('cold', 'head', '*'),
  ('cough', 'lung', '*'),
  ('flu', 'lung', '*'),
  (NULL, '*', '*')) AS lines(value, level_1, level_2);

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
), features_2 AS (
  WITH labels AS (
    SELECT
      shares.value AS value,
      0 AS level,
      CAST(lookup.value AS TEXT) AS label,
      shares.share
    FROM shares_1 AS shares
    JOIN kanon_hierarchy_disease AS lookup
      ON shares.value IS NOT DISTINCT FROM lookup.value
    UNION ALL
    SELECT
      shares.value AS value,
      1 AS level,
      CAST(lookup.level_1 AS TEXT) AS label,
      shares.share
    FROM shares_1 AS shares
    JOIN kanon_hierarchy_disease AS lookup
      ON shares.value IS NOT DISTINCT FROM lookup.value
  )
  SELECT
    value,
    DENSE_RANK() OVER (ORDER BY level NULLS FIRST, label NULLS FIRST) AS feature,
    SUM(share) OVER (PARTITION BY level, label) AS share,
    CAST(2 AS DOUBLE) AS total,
    4 AS scale
  FROM labels
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
    CAST(SUM(counted.n) OVER (PARTITION BY counted.age, counted.sex) AS BIGINT) AS class_n
  FROM counted
), spread AS (
  SELECT
    weighed.age,
    weighed.sex,
    MAX(weighed.class_n) AS class_n,
    MAX(features.share) AS share,
    MAX(features.total) AS total,
    MAX(features.scale) AS scale,
    CAST(SUM(weighed.n) AS DOUBLE) / MAX(weighed.class_n) AS p
  FROM weighed
  JOIN features_2 AS features
    ON weighed.value IS NOT DISTINCT FROM features.value
  GROUP BY
    weighed.age,
    weighed.sex,
    features.feature
), classes AS (
  SELECT
    age,
    sex,
    MAX(class_n) AS n,
    MAX(class_n) AS measure_0,
    CASE
      WHEN MAX(scale) > 0
      THEN (
        2.0e0 * SUM(GREATEST(0.0e0, p - share)) - SUM(p) + MAX(total)
      ) / MAX(scale)
      ELSE 0.0e0
    END AS measure_1
  FROM spread
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
