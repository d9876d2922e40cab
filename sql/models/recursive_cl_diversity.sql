/* Recursive (c,l)-diversity: in every class the most frequent value has fewer than $c times the rows of all but the
   l - 1 most frequent ones (Machanavajjhala et al. 2007). place is 1 for the most frequent value of a class. With l
   = 1 or 2 the sum needs no places: it is over all rows, or all but those of the most frequent value. $labels are
   the quasi-identifiers of the release, $class their names in the steps. */
WITH counted AS (
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
    ROW_NUMBER() OVER (PARTITION BY $class_counted ORDER BY counted.n DESC) AS place
  FROM counted
), classes AS (
  SELECT
    $class,
    CAST(SUM(n) AS BIGINT) AS n,
    CASE
      WHEN COALESCE(SUM(n) FILTER (WHERE place >= $l), 0) > 0
      THEN CAST(MAX(n) AS DOUBLE) / COALESCE(SUM(n) FILTER (WHERE place >= $l), 0)
      ELSE CAST('Infinity' AS DOUBLE)
    END AS measure
  FROM weighed
  GROUP BY
    $class
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE NOT (measure < $c - 1e-9)) AS classes_failing,
  SUM(n) FILTER (WHERE NOT (measure < $c - 1e-9)) AS rows_failing,
  MAX(measure) AS worst
FROM classes
