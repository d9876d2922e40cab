/* The values of a sensitive column in groups of rows that are alike in two releases. */
SELECT
  alike.first,
  alike.second,
  $value AS value,
  COUNT(*) AS n
FROM alike
INNER JOIN people
  ON people.tuple = alike.tuple
INNER JOIN original
  ON original.rowid = people.position
GROUP BY
  1,
  2,
  3
