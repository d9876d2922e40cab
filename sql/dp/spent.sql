/* What was spent on a table, in the order in which it was. */
SELECT
  id,
  spent_at,
  question,
  epsilon,
  delta,
  group_column,
  group_value
FROM kanon.dp_spent
WHERE
  place = $place
  AND source_schema = $source_schema
  AND source_name = $source_name
ORDER BY id
