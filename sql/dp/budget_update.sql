/* Change the budget of a table; what was spent stays spent. */
UPDATE kanon.dp_budgets
SET
  entity = $entity,
  epsilon = CAST($epsilon AS DECIMAL(38, 20)),
  delta = CAST($delta AS DECIMAL(38, 20))
WHERE
  place = $place
  AND source_schema = $source_schema
  AND source_name = $source_name
