/* Counting queries over the cells of a marginal, each a range of bins in every column: what the original answers, and
   what the release does. */
SELECT
  queries.query,
  SUM(cells.original) AS true_count,
  SUM(cells.released) AS estimated_count
FROM queries
JOIN cells
  ON cells.bin_1 BETWEEN queries.low_1 AND queries.high_1
  AND cells.bin_2 BETWEEN queries.low_2 AND queries.high_2
  AND cells.bin_3 BETWEEN queries.low_3 AND queries.high_3
GROUP BY
  queries.query
ORDER BY
  queries.query
