/* The rows of a table of events, each with the number of the person and of her class, which the row has that it refers
   to: that of a person, or of the event that it goes through, of which $through is the kind. A value is joined to its
   label. A row that leads to no person is not among them. */
SELECT
  referred.number,
  referred.class,
  $through AS through,
  $columns
FROM source
JOIN referred
  ON $refers
