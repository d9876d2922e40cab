/* How many rows each person has with each tuple of quasi-identifiers. */
WITH each_row AS (
  SELECT
    people.tuple AS tuple,
    $person AS person
  FROM people
  INNER JOIN original
    ON original.rowid = people.position
)
SELECT
  tuple,
  person,
  COUNT(*) AS n
FROM each_row
GROUP BY
  tuple,
  person
