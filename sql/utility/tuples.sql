/* Tuples and the number of rows of each; a random sample of $most tuples, if there are more. */
SELECT
  $columns,
  n
FROM tuples
ORDER BY
  HASH($columns)
LIMIT $most
