/* Counting queries over the cells of a marginal, each a range of bins in every column, and their answers: $counted
   is the number of rows in a cell, of the original or of the release. */
SELECT
  queries.query,
  SUM($counted) AS answer
FROM queries
JOIN cells
  ON cells.bin_1 BETWEEN queries.low_1 AND queries.high_1
  AND cells.bin_2 BETWEEN queries.low_2 AND queries.high_2
  AND cells.bin_3 BETWEEN queries.low_3 AND queries.high_3
WHERE
  $counted > 0
GROUP BY
  queries.query
