/* Write down what is spent. */
INSERT INTO kanon.dp_spent
SELECT
  COALESCE(MAX(id), 0) + 1,
  CAST($spent_at AS TIMESTAMP),
  $place,
  $source_schema,
  $source_name,
  $question,
  CAST($epsilon AS DECIMAL(38, 20)),
  CAST($delta AS DECIMAL(38, 20)),
  $group_column,
  $group_value
FROM kanon.dp_spent
