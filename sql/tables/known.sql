/* The rows of a released table, each with its key, the person and a number for the known values of both. A row that
   leads to no person is omitted. */
SELECT
  $columns
FROM own
JOIN referred
  ON $refers
