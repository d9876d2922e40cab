/* The released rows of a table: of released people, or of remaining events. */
SELECT
  $published
FROM rows_of_table
JOIN needed
  ON $is_needed
ORDER BY
  $order
