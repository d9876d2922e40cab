/* k-anonymity: every class has at least $k rows (Samarati 2001; Sweeney 2002). $labels are the quasi-identifiers of
   the release. Where members are people, measure is the number of distinct people. */
WITH classes AS (
  SELECT
    COUNT(*) AS n,
    COUNT(*) AS measure
  FROM release
  GROUP BY
    $labels
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE measure < $k) AS classes_failing,
  SUM(n) FILTER (WHERE measure < $k) AS rows_failing,
  MIN(measure) AS worst
FROM classes
