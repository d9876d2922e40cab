/* How many of the original can be a row of the release: of the class that the fewest can be in, how many rows are in
   classes that fewer than k can be in, and the rows of the smallest class. */
WITH possible AS (
  SELECT
    classes.class,
    classes.n,
    $fitting AS fitting
  FROM classes
  LEFT JOIN pairs
    ON pairs.class = classes.class
  LEFT JOIN who
    ON who.tuple = pairs.tuple
  GROUP BY
    classes.class,
    classes.n
)
SELECT
  MIN(fitting) AS fewest,
  COALESCE(SUM(n) FILTER (WHERE fitting < $k), 0) AS few,
  MIN(n) AS smallest
FROM possible
