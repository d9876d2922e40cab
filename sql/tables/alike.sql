/* What is published of the rows of a table, each once with a number, and how many there are. */
SELECT
  CAST(ROW_NUMBER() OVER () AS HUGEINT) AS kind,
  COUNT(*) OVER () AS kinds,
  $labels
FROM own
GROUP BY
  $texts
