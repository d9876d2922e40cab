/* The rows of a released table, each with its key, the person and a number for what is known of both. A row that leads
   to no person is not among them. */
SELECT
  $columns
FROM own
JOIN referred
  ON $refers
