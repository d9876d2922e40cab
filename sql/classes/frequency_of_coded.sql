/* The frequency set of rows that have codes already. Where members of a class are people, entity is the number of each,
   and nearly all have several tuples: they are many, and sorted, so that classes are counted in few places at once. */
SELECT
  $keys,
  COUNT(*) AS n,
  $people
FROM coded_rows
GROUP BY
  $grouped
ORDER BY
  $sorted
