/* How many rows of the release have a value that some row of the original has, in one column. */
SELECT
  COUNT(*)
FROM coded
SEMI JOIN sides
  ON $same AND NOT sides.is_control
