/* What is published of the rows of a table, each once with a number. */
SELECT
  ROW_NUMBER() OVER () AS kind,
  $labels
FROM own
GROUP BY
  $texts
