/* The labels of a generalized column: how many are none of its level in the hierarchy. One for each such column, and
   all of them together by UNION ALL. */
SELECT
  $column AS column_name,
  COUNT(*) FILTER (WHERE NOT EXISTS(SELECT 1 FROM known WHERE $is_known)) AS foreign_labels
FROM (
  SELECT DISTINCT
    $label AS label
  FROM release
) AS published
