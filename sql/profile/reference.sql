/* Test a reference from columns of a table to another table: count rows with a value in each column, and those whose
   key the other table has. It has each key once. */
SELECT
  COUNT(*) AS with_value,
  COUNT($key) AS matched
FROM referring
LEFT JOIN referred
  ON $same
WHERE
  $has_value
