/* Enhanced beta-likeness: no sensitive value gains more than $beta times its share of the table in a class, nor
   more than -ln of that share (Cao & Karras 2012). measure is infinite if the second condition fails. $labels are
   the quasi-identifiers of the release, $class their names in the steps. */
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
    shares.share AS share
  FROM counted
  JOIN shares
    ON counted.value IS NOT DISTINCT FROM shares.value
), classes AS (
  SELECT
    $class,
    CAST(SUM(n) AS BIGINT) AS n,
    CASE
      WHEN MAX(CAST(n AS DOUBLE) / (
        share * (
          1.0e0 - LN(share)
        )
      )) / SUM(n) <= 1.000000001e0
      THEN MAX(CAST(n AS DOUBLE) / share) / SUM(n) - 1
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
  COUNT(*) FILTER (WHERE measure > $beta + 1e-9) AS classes_failing,
  SUM(n) FILTER (WHERE measure > $beta + 1e-9) AS rows_failing,
  MAX(measure) AS worst
FROM classes
