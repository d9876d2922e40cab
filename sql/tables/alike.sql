/* The distinct published rows of a table, each with a number, and their count. */
SELECT
  CAST(ROW_NUMBER() OVER () AS HUGEINT) AS kind,
  COUNT(*) OVER () AS kinds,
  $labels
FROM own
GROUP BY
  $texts
