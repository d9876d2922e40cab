/* Distinct l-diversity: every class has at least $l different sensitive values (Machanavajjhala et al. 2007). $labels
   are the quasi-identifiers of the release, $class their names in the steps. */
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
    COUNT(*) AS measure
  FROM counted
  GROUP BY
    $class
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE measure < $l) AS classes_failing,
  SUM(n) FILTER (WHERE measure < $l) AS rows_failing,
  MIN(measure) AS worst
FROM classes
