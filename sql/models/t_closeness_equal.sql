/* t-closeness by the equal distance: in no class the shares of sensitive values differ from those in the table by
   more than $t (Li, Li & Venkatasubramanian 2007). measure is what values have above their shares of the table.
   $labels are the quasi-identifiers of the release, $class their names in the steps. */
WITH shares AS (
  SELECT
    $sensitive AS value,
    CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER () AS share,
    COUNT(*) OVER () AS "values"
  FROM whole_table
  GROUP BY
    $sensitive
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
    CAST(SUM(counted.n) OVER (PARTITION BY $class_counted) AS BIGINT) AS class_n,
    shares.share AS share
  FROM counted
  JOIN shares
    ON counted.value IS NOT DISTINCT FROM shares.value
), classes AS (
  SELECT
    $class,
    CAST(SUM(n) AS BIGINT) AS n,
    SUM(GREATEST(0.0e0, CAST(n AS DOUBLE) / class_n - share)) AS measure
  FROM weighed
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
