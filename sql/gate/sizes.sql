/* How many values of a column there are by their number of rows. */
SELECT
  sizes.n AS rows_of_value,
  COUNT(*) AS number_of_values
FROM (
  SELECT COUNT(*) AS n
  FROM (SELECT $column AS value FROM source) AS found
  GROUP BY found.value
) AS sizes
GROUP BY sizes.n
