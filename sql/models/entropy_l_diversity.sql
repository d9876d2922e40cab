/* Entropy l-diversity: the sensitive values of every class are spread as evenly as $l equally frequent ones
   (Machanavajjhala et al. 2007). measure is exp of the entropy: ln N - (sum of n ln n) / N. $labels are the quasi-
   identifiers of the release, $class their names in the steps. */
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
    EXP(LN(CAST(SUM(n) AS DOUBLE)) - SUM(n * LN(CAST(n AS DOUBLE))) / SUM(n)) AS measure
  FROM counted
  GROUP BY
    $class
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE measure < $l - 1e-9) AS classes_failing,
  SUM(n) FILTER (WHERE measure < $l - 1e-9) AS rows_failing,
  MIN(measure) AS worst
FROM classes
