/* For what is found, of which some classes may still be ruled out: the fewest different values of one of these classes, and
   whether one value has the share in one of them that counts as known. */
WITH counted AS (
  SELECT
    class,
    $shared AS value,
    COUNT(*) AS n
  FROM released
  GROUP BY
    1,
    2
), in_classes AS (
  SELECT
    class,
    COUNT(*) AS different,
    MAX(n) * $denominator >= SUM(n) * $numerator AS is_confident
  FROM counted
  GROUP BY
    class
)
SELECT
  sets.found,
  MIN(in_classes.different) AS fewest,
  BOOL_OR(in_classes.is_confident) AS could_be
FROM sets
INNER JOIN in_classes
  ON in_classes.class = sets.class
GROUP BY
  sets.found
