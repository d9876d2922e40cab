/* The classes of a release, counted again on its own rows: their number, the smallest, and the models that fail.
   $measures are those of the models; $models are the measure of the worst class for each, and the classes and rows that
   fail it. */
WITH classes AS (
  SELECT
    COUNT(*) AS n,
    $measures
  FROM release
  GROUP BY
    $labels
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE $fails) AS classes_failing,
  SUM(n) FILTER (WHERE $fails) AS rows_failing,
  $models
FROM classes
