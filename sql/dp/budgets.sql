/* The budgets of all tables. */
SELECT
  place,
  source_schema,
  source_name,
  entity,
  epsilon,
  delta
FROM kanon.dp_budgets
ORDER BY
  place,
  source_schema,
  source_name
