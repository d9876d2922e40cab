/* The frequency set of rows that have codes already. If members of a class are people, entity is the number of
   each, and nearly all have several tuples. The rows are many, and sorted so that counting the classes touches few
   places at once. */
SELECT
  $keys,
  COUNT(*) AS n,
  $people
FROM coded_rows
GROUP BY
  $grouped
ORDER BY
  $sorted
