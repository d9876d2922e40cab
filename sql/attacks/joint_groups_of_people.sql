/* Groups of rows that are alike in two releases, and how many people they are about. A row that names nobody is about
   none: a group of such rows alone hides none of them. */
SELECT
  alike.first,
  alike.second,
  COUNT(*) AS n,
  COUNT(DISTINCT $person) AS size
FROM alike
INNER JOIN people
  ON people.tuple = alike.tuple
INNER JOIN original
  ON original.rowid = people.position
GROUP BY
  alike.first,
  alike.second
