/* The rows of a table with the person of each. $refers is the condition that a row has the key of a row of another
   table: of the table that it goes through to a person, and of the table of people; each value is joined to its labels
   in the same way. A row that leads to nobody is omitted. */
SELECT
  $person AS kanon_person,
  $columns
FROM source
JOIN referred
  ON $refers
WHERE
  $person IS NOT NULL
