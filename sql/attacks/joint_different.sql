/* How many different values each group has. */
SELECT
  first,
  second,
  COUNT(*) AS size
FROM own_values
GROUP BY
  first,
  second
