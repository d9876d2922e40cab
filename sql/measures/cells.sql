/* The costs of the cells of classes: a row for each column and level at which labels are looked up. The levels
   hold, for each column, its level and the position of its code in the keys of a class. The $counted classes are
   split into cells. Counting equal cells first would take as long as looking them up. */
WITH classes AS (
  SELECT
    key_0,
    n
  FROM kanon_frequency
), cells AS (
  SELECT
    levels.number,
    levels.level,
    $codes,
    classes.n
  FROM classes
  JOIN levels
    ON TRUE
  WHERE
    $counted
)
SELECT
  cells.number,
  cells.level,
  $charged
FROM cells
JOIN labels
  ON labels.number = cells.number AND labels.level = cells.level AND $same_codes
GROUP BY
  cells.number,
  cells.level
