/* Tuples and how many rows each has; a random choice of $most, where there are more. */
SELECT
  $columns,
  n
FROM tuples
ORDER BY
  HASH($columns)
LIMIT $most
