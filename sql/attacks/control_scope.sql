/* The rows of the original without those of the control group, one for one: of equal rows, as many stay as the original
   has more of. They stay in their order. */
WITH held_out AS (
  SELECT
    $control_values,
    COUNT(*) AS kanon_held_out
  FROM control
  GROUP BY
    $control_keys
), numbered AS (
  SELECT
    $columns,
    ROW_NUMBER() OVER () AS kanon_position
  FROM original
), copies AS (
  SELECT
    $columns,
    kanon_position,
    ROW_NUMBER() OVER (PARTITION BY $keys ORDER BY kanon_position) AS kanon_copy
  FROM numbered
)
SELECT
  $copied
FROM copies
LEFT JOIN held_out
  ON $same
WHERE
  copies.kanon_copy > COALESCE(held_out.kanon_held_out, 0)
ORDER BY
  copies.kanon_position
