/* The rows of a table of events, each with the number of the person and of their class. The row that it refers to has
   both: the row of a person, or of the event that it goes through, with its kind as $through. A value is joined to its
   label. A row that leads to no person is omitted. */
SELECT
  referred.number,
  referred.class,
  $through AS through,
  $columns
FROM source
JOIN referred
  ON $refers
