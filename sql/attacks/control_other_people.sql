/* The rows of the original that are of nobody in the control group, in their order. */
SELECT
  $columns
FROM (
  SELECT
    original.*,
    ROW_NUMBER() OVER () AS kanon_position
  FROM original
) AS original
ANTI JOIN control
  ON $same_person
ORDER BY
  original.kanon_position
