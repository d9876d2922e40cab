/* The people of each class, if a model counts them: the release does not name them, so each class of it is looked up in
   the source, generalized as for the release. It must have the same number of rows there, and enough people. */
WITH generalized AS (
  SELECT
    $generalized
  FROM source
), in_source AS (
  SELECT
    $labels,
    COUNT(*) AS n,
    $measures
  FROM generalized
  GROUP BY
    $labels
), in_output AS (
  SELECT
    $labels,
    COUNT(*) AS n
  FROM release
  GROUP BY
    $labels
), classes AS (
  SELECT
    in_output.n,
    in_source.n AS n_in_source,
    $measured
  FROM in_output
  LEFT JOIN in_source
    ON $same_class
)
SELECT
  COUNT(*) AS classes,
  SUM(n) AS rows_in_classes,
  MIN(n) AS smallest_class,
  COUNT(*) FILTER (WHERE $fails) AS classes_failing,
  SUM(n) FILTER (WHERE $fails) AS rows_failing,
  $models,
  COUNT(*) FILTER (WHERE n IS DISTINCT FROM n_in_source) AS not_whole
FROM classes
