/* Delta-presence: the share of every class of the population that is in the release is between $delta_min and
   $delta_max (Nergiz, Atzori & Clifton 2007). If delta_min is above 0, classes of the population without a row in
   the release fail too, and are added. $labels are the quasi-identifiers; everybody is the population, generalized
   like the release. */
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
    CASE
      WHEN COALESCE(population.measure, 0) > 0
      THEN CAST(classes_of_rows.n AS DOUBLE) / COALESCE(population.measure, 0)
      ELSE CAST('Infinity' AS DOUBLE)
    END AS measure
  FROM classes_of_rows
  LEFT JOIN population
    ON $same_class
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE NOT (measure >= $delta_min - 1e-9 AND measure <= $delta_max + 1e-9)) AS classes_failing,
  SUM(n) FILTER (WHERE NOT (measure >= $delta_min - 1e-9 AND measure <= $delta_max + 1e-9)) AS rows_failing,
  MAX(measure) AS worst
FROM classes
