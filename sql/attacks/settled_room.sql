/* How many rows of the original fit some class, how many rows the release has, and how many of its classes have more rows
   than fit them. */
WITH fits AS (
  SELECT
    classes.class,
    classes.n,
    COALESCE(SUM(tuples.n), 0) AS possible
  FROM classes
  LEFT JOIN pairs
    ON pairs.class = classes.class
  LEFT JOIN tuples
    ON tuples.tuple = pairs.tuple
  GROUP BY
    classes.class,
    classes.n
), own AS (
  SELECT DISTINCT
    tuple
  FROM pairs
)
SELECT
  (
    SELECT
      CAST(COALESCE(SUM(tuples.n), 0) AS BIGINT)
    FROM own
    INNER JOIN tuples
      ON tuples.tuple = own.tuple
  ),
  CAST(COALESCE(SUM(n), 0) AS BIGINT),
  COUNT(*) FILTER (WHERE possible < n)
FROM fits
