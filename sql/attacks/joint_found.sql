/* What each tuple finds in one release: 0 if it is in no class, the number of its class (from 1), or, where it can be in
   several, a number below 0 that stands for these classes. */
WITH chosen AS (
  SELECT
    tuple,
    COUNT(*) AS choices,
    MIN(class) AS class
  FROM pairs
  GROUP BY
    tuple
), listed AS (
  SELECT
    pairs.tuple,
    STRING_AGG(CAST(pairs.class AS TEXT), ',' ORDER BY pairs.class) AS classes
  FROM pairs
  INNER JOIN chosen
    ON chosen.tuple = pairs.tuple
  WHERE
    chosen.choices > 1
  GROUP BY
    pairs.tuple
), several AS (
  SELECT
    tuple,
    -DENSE_RANK() OVER (ORDER BY classes) AS found
  FROM listed
)
SELECT
  tuples.tuple,
  tuples.n,
  CASE
    WHEN chosen.choices = 1
    THEN chosen.class + 1
    ELSE COALESCE(several.found, 0)
  END AS found
FROM tuples
LEFT JOIN chosen
  ON chosen.tuple = tuples.tuple
LEFT JOIN several
  ON several.tuple = tuples.tuple
