/*
How many values a column has by their number of rows, and how many of these stand with one value alone of each of other
columns ($others; $alone, counted by $told). $counted are the rows that count.
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
