/* The classes that each tuple can be in, as a text, and a number that is the same for tuples with the same ones. */
WITH listed AS (
  SELECT
    tuple,
    STRING_AGG(CAST(class AS TEXT), ',' ORDER BY class) AS classes
  FROM pairs
  GROUP BY
    tuple
)
SELECT
  listed.tuple,
  tuples.n,
  listed.classes,
  DENSE_RANK() OVER (ORDER BY listed.classes) AS number
FROM listed
INNER JOIN tuples
  ON tuples.tuple = listed.tuple
