/*
Whether a column tells the value of others ($others): of its values in at least 3 rows, how many there are by their
number of rows, and with how many of these each other column has one value alone ($alone, counted by $told).
*/
SELECT
  sizes.n AS rows_of_value,
  COUNT(*) AS number_of_values,
  $told
FROM (
  SELECT COUNT(*) AS n, $alone
  FROM (SELECT $column AS value, $others FROM source) AS found
  WHERE NOT found.value IS NULL
  GROUP BY found.value
  HAVING COUNT(*) >= 3
) AS sizes
GROUP BY sizes.n
