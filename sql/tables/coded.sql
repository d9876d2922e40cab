/* The rows of a table, each with the number of the person and the codes of the values that it is known by. The row that
   it refers to has the number, and its own codes; a value is joined to its hierarchy. */
SELECT
  $columns
FROM source
JOIN referred
  ON $refers
LEFT JOIN hierarchy
  ON $is_value
