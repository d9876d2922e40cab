/* The place of each value in a column that is released unchanged. */
SELECT
  labels.number AS label,
  places.place
FROM labels
JOIN places
  ON places.value = labels.label
