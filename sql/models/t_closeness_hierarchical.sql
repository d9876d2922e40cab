/* t-closeness by the hierarchical distance: the distance of two values is the level of their lowest common label,
   as a share of all levels (Li, Li & Venkatasubramanian 2007). Classes are compared by features: the labels below
   the root, on every $level of the $height levels. labels has the rows of all levels (UNION ALL). share is a
   feature's share of the table, p its share of the class. $labels are the quasi-identifiers of the release, $class
   their names in the steps. */
WITH shares AS (
  SELECT
    $sensitive AS value,
    CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER () AS share,
    COUNT(*) OVER () AS "values"
  FROM whole_table
  GROUP BY
    $sensitive
), features AS (
  WITH labels AS (
    SELECT
      shares.value AS value,
      $level AS level,
      CAST($label AS TEXT) AS label,
      shares.share
    FROM shares
    JOIN hierarchy AS lookup
      ON shares.value IS NOT DISTINCT FROM lookup.value
  )
  SELECT
    value,
    DENSE_RANK() OVER (ORDER BY level NULLS FIRST, label NULLS FIRST) AS feature,
    SUM(share) OVER (PARTITION BY level, label) AS share,
    CAST($height AS DOUBLE) AS total,
    $twice_height AS scale
  FROM labels
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
