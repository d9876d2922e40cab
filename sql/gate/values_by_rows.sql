/*
Count the values of a column by their number of rows, and those that always occur with one value of each other column
($others; $alone, counted by $told). $counted selects the rows that count.
*/
SELECT
  sizes.n AS rows_of_value,
  COUNT(*) AS number_of_values,
  $told
FROM (
  SELECT COUNT(*) AS n, $alone
  FROM (SELECT $column AS value, $others FROM source) AS found
  WHERE $counted
  GROUP BY found.value
) AS sizes
GROUP BY sizes.n
