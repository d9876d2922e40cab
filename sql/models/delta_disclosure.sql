/* Delta-disclosure privacy: |ln (p / q)| stays below $delta for every sensitive value of the table, with its share
   p of the class and q of the table (Brickell & Shmatikov 2008). It is infinite if a class lacks a value. $labels
   are the quasi-identifiers of the release, $class their names in the steps. */
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
    shares.share AS share,
    shares."values" AS "values"
  FROM counted
  JOIN shares
    ON counted.value IS NOT DISTINCT FROM shares.value
), classes AS (
  SELECT
    $class,
    CAST(SUM(n) AS BIGINT) AS n,
    CASE
      WHEN COUNT(*) = MAX("values")
      THEN GREATEST(LN(MAX(CAST(n AS DOUBLE) / share) / SUM(n)), -LN(MIN(CAST(n AS DOUBLE) / share) / SUM(n)))
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
  COUNT(*) FILTER (WHERE NOT (measure < $delta - 1e-9)) AS classes_failing,
  SUM(n) FILTER (WHERE NOT (measure < $delta - 1e-9)) AS rows_failing,
  MAX(measure) AS worst
FROM classes
