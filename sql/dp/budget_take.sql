/* Take hold of the budget of a table: of two who spend at once, one waits or begins anew. */
UPDATE kanon.dp_budgets
SET
  questions = questions + 1
WHERE
  place = $place
  AND source_schema = $source_schema
  AND source_name = $source_name
