/* How many people have a row in a group of one person, and in a group of fewer than k. */
SELECT
  COUNT(DISTINCT CASE WHEN sizes.size = 1 THEN $person END),
  COUNT(DISTINCT $person)
FROM sizes
INNER JOIN alike
  ON alike.first = sizes.first AND alike.second = sizes.second
INNER JOIN people
  ON people.tuple = alike.tuple
INNER JOIN original
  ON original.rowid = people.position
WHERE
  sizes.size < $k
