/* The rows of the original, each with the items that it can be. */
SELECT
  people.position,
  items.item,
  items.size,
  items.place
FROM original
INNER JOIN people
  ON people.position = original.rowid
INNER JOIN pairs
  ON pairs.tuple = people.tuple
INNER JOIN items
  ON items.class = pairs.class AND $same
