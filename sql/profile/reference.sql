/* How far some columns of a table refer to another one: rows with a value in each of them, and those of which the other
   table has the key. It has each key once. */
SELECT
  COUNT(*) AS with_value,
  COUNT($key) AS matched
FROM referring
LEFT JOIN referred
  ON $same
WHERE
  $has_value
