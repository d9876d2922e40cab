/* k-map: every class of the release has at least $k rows in the population (Sweeney 2001). $labels are the
   quasi-identifiers; everybody is the population, generalized like the release. */
WITH classes_of_rows AS (
  SELECT
    $labels,
    COUNT(*) AS n
  FROM release
  GROUP BY
    $labels
), population AS (
  SELECT
    $class_in_population,
    in_population.n AS measure
  FROM (
    SELECT
      $labels,
      COUNT(*) AS n
    FROM everybody
    GROUP BY
      $labels
  ) AS in_population
), classes AS (
  SELECT
    $class,
    classes_of_rows.n,
    COALESCE(population.measure, 0) AS measure
  FROM classes_of_rows
  LEFT JOIN population
    ON $same_class
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE measure < $k) AS classes_failing,
  SUM(n) FILTER (WHERE measure < $k) AS rows_failing,
  MIN(measure) AS worst
FROM classes
