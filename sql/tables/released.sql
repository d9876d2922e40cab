/* The rows of a table that are released: of people who are, of events that are left. */
SELECT
  $published
FROM rows_of_table
JOIN needed
  ON $is_needed
ORDER BY
  $order
