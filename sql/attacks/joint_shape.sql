/* A hash of the classes of one release, whatever their numbers are: the tuples that find each of them, and its rows. */
WITH covers AS (
  SELECT
    pairs.class,
    COUNT(*) AS covered,
    BIT_XOR(HASH(pairs.tuple)) AS which
  FROM pairs
  GROUP BY
    pairs.class
), counted AS (
  SELECT
    classes.n,
    covers.covered,
    covers.which,
    COUNT(*) AS classes
  FROM classes
  LEFT JOIN covers
    ON covers.class = classes.class
  GROUP BY
    classes.n,
    covers.covered,
    covers.which
)
SELECT
  COUNT(*),
  BIT_XOR(HASH(n, covered, which, classes))
FROM counted
