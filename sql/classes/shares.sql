/* The distinct values of a sensitive column: each with its share of the table, and their number. */
SELECT
  $value AS value,
  CAST($rows AS DOUBLE) / SUM($rows) OVER () AS share,
  COUNT(*) OVER () AS "values"
FROM whole_table
GROUP BY
  $value
