/* Give a table a budget. */
INSERT INTO kanon.dp_budgets
SELECT
  $place,
  $source_schema,
  $source_name,
  $entity,
  CAST($epsilon AS DECIMAL(38, 20)),
  CAST($delta AS DECIMAL(38, 20)),
  0
