/* What the cells of classes cost: a row for each column and level at which labels are looked up.
   The levels say at which level each column is, and where its code stands in the keys of a class. The classes that are
   $counted are taken apart into cells. To count those that are alike first takes as long as to look them up. */
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
