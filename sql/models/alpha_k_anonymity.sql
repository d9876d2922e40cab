/* (alpha,k)-anonymity: no sensitive value has more than a share $alpha of a class (Wong et al. 2006). $labels are the
   quasi-identifiers of the release, $class their names in the steps. */
WITH counted AS (
  SELECT
    $labels,
    $sensitive AS value,
    COUNT(*) AS n
  FROM release
  GROUP BY
    $labels,
    $sensitive
), classes AS (
  SELECT
    $class,
    CAST(SUM(n) AS BIGINT) AS n,
    CAST(MAX(n) AS DOUBLE) / SUM(n) AS measure
  FROM counted
  GROUP BY
    $class
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE measure > $alpha + 1e-9) AS classes_failing,
  SUM(n) FILTER (WHERE measure > $alpha + 1e-9) AS rows_failing,
  MAX(measure) AS worst
FROM classes
