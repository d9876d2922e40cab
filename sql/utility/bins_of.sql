/* The bins of a column, in their order. */
SELECT DISTINCT
  bin
FROM bins
ORDER BY
  bin
