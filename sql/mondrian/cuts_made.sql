/* The cuts of a round that were made. */
SELECT
  link AS part,
  column_number,
  from_place,
  to_place,
  position,
  inside,
  outside
FROM kanon_sides
WHERE
  allowed
