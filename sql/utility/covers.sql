/* The place of each value that a column of the release has as it was. */
SELECT
  labels.number AS label,
  places.place
FROM labels
JOIN places
  ON places.value = labels.label
