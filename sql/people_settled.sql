/* The pairs of a tuple and a class that are left once classes are full: where all rows that can be in a class are just as
   many as it has, they are in it and in no other class. */
WITH possible AS (
  SELECT
    pairs.class AS class,
    SUM(tuples.n) AS n
  FROM pairs
  INNER JOIN tuples
    ON tuples.tuple = pairs.tuple
  GROUP BY
    pairs.class
), full_classes AS (
  SELECT
    possible.class AS class
  FROM possible
  INNER JOIN classes
    ON classes.class = possible.class
  WHERE possible.n = classes.n
), taken AS (
  SELECT DISTINCT
    pairs.tuple AS tuple
  FROM pairs
  INNER JOIN full_classes
    ON full_classes.class = pairs.class
)
SELECT
  pairs.tuple AS tuple,
  pairs.class AS class
FROM pairs
LEFT JOIN taken
  ON taken.tuple = pairs.tuple
LEFT JOIN full_classes
  ON full_classes.class = pairs.class
WHERE taken.tuple IS NULL OR full_classes.class IS NOT NULL
