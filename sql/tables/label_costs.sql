/* What a cell of a column costs by its label at a level. */
SELECT DISTINCT
  $label AS label,
  $cost AS cost
FROM lookup
JOIN labels
  ON $is_label
