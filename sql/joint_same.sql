/* How many classes of one release the other one does not have: the same tuples, with as many rows. */
WITH first_covers AS (
  SELECT
    pairs.class,
    COUNT(*) AS covered,
    BIT_XOR(HASH(pairs.tuple)) AS which
  FROM first_pairs AS pairs
  GROUP BY
    pairs.class
), second_covers AS (
  SELECT
    pairs.class,
    COUNT(*) AS covered,
    BIT_XOR(HASH(pairs.tuple)) AS which
  FROM second_pairs AS pairs
  GROUP BY
    pairs.class
), first_counted AS (
  SELECT
    classes.n,
    covers.covered,
    covers.which,
    COUNT(*) AS classes
  FROM first_classes AS classes
  LEFT JOIN first_covers AS covers
    ON covers.class = classes.class
  GROUP BY
    classes.n,
    covers.covered,
    covers.which
), second_counted AS (
  SELECT
    classes.n,
    covers.covered,
    covers.which,
    COUNT(*) AS classes
  FROM second_classes AS classes
  LEFT JOIN second_covers AS covers
    ON covers.class = classes.class
  GROUP BY
    classes.n,
    covers.covered,
    covers.which
)
SELECT
  COUNT(*)
FROM first_counted
FULL JOIN second_counted
  ON second_counted.n = first_counted.n
  AND second_counted.covered IS NOT DISTINCT FROM first_counted.covered
  AND second_counted.which IS NOT DISTINCT FROM first_counted.which
  AND second_counted.classes = first_counted.classes
WHERE
  first_counted.n IS NULL OR second_counted.n IS NULL
