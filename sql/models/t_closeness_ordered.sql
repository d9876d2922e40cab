/* t-closeness by the ordered distance: values are as far apart as their ranks (Li, Li & Venkatasubramanian 2007).
   Classes are compared by features: the first i values of the table, for every i. A value has the features from its
   own rank on. share is a feature's share of the table, total the sum of all, p its share of the class. $labels are
   the quasi-identifiers of the release, $class their names in the steps. */
WITH shares AS (
  SELECT
    $sensitive AS value,
    CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER () AS share,
    COUNT(*) OVER () AS "values"
  FROM whole_table
  GROUP BY
    $sensitive
), features AS (
  WITH ranked AS (
    SELECT
      value AS value,
      ROW_NUMBER() OVER (ORDER BY value NULLS FIRST) AS rank,
      SUM(share) OVER (ORDER BY value NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS up_to
    FROM shares
  ), facts AS (
    SELECT
      SUM(up_to) AS total,
      COUNT(*) - 1 AS scale
    FROM ranked
  )
  SELECT
    own.value,
    later.rank AS feature,
    later.up_to AS share,
    facts.total,
    facts.scale
  FROM ranked AS own
  JOIN ranked AS later
    ON later.rank >= own.rank
  CROSS JOIN facts
), counted AS (
  SELECT
    $labels,
    $sensitive AS value,
    COUNT(*) AS n
  FROM release
  GROUP BY
    $labels,
    $sensitive
), weighed AS (
  SELECT
    $class_counted,
    counted.value,
    counted.n,
    CAST(SUM(counted.n) OVER (PARTITION BY $class_counted) AS BIGINT) AS class_n
  FROM counted
), spread AS (
  SELECT
    $class_weighed,
    MAX(weighed.class_n) AS class_n,
    MAX(features.share) AS share,
    MAX(features.total) AS total,
    MAX(features.scale) AS scale,
    CAST(SUM(weighed.n) AS DOUBLE) / MAX(weighed.class_n) AS p
  FROM weighed
  JOIN features
    ON weighed.value IS NOT DISTINCT FROM features.value
  GROUP BY
    $class_weighed,
    features.feature
), classes AS (
  SELECT
    $class,
    MAX(class_n) AS n,
    CASE
      WHEN MAX(scale) > 0
      THEN (
        2.0e0 * SUM(GREATEST(0.0e0, p - share)) - SUM(p) + MAX(total)
      ) / MAX(scale)
      ELSE 0.0e0
    END AS measure
  FROM spread
  GROUP BY
    $class
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE measure > $t + 1e-9) AS classes_failing,
  SUM(n) FILTER (WHERE measure > $t + 1e-9) AS rows_failing,
  MAX(measure) AS worst
FROM classes
