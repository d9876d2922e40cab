/* The labels of a generalized column: how many do not belong to its level in the hierarchy. One query for each such
   column, all of them combined by UNION ALL. */
SELECT
  $column AS column_name,
  COUNT(*) FILTER (WHERE NOT EXISTS(SELECT 1 FROM known WHERE $is_known)) AS foreign_labels
FROM (
  SELECT DISTINCT
    $label AS label
  FROM release
) AS published
