/* How many rows each person has with each tuple of quasi-identifiers. */
SELECT
  people.tuple AS tuple,
  $person AS person,
  COUNT(*) AS n
FROM people
INNER JOIN original
  ON original.rowid = people.position
GROUP BY
  people.tuple,
  $person
