/* The people who can have rows in each class and how many rows each; up_to counts rows from the first person to this one.
   Rows that name nobody come first, then who has most rows: so the first n rows are of the fewest people possible. */
WITH members AS (
  SELECT
    pairs.class AS class,
    persons.person AS person,
    SUM(persons.n) AS n
  FROM pairs
  INNER JOIN persons
    ON persons.tuple = pairs.tuple
  GROUP BY
    pairs.class,
    persons.person
)
SELECT
  class,
  person,
  CAST(n AS BIGINT) AS n,
  CAST(SUM(n) OVER (
    PARTITION BY class ORDER BY person IS NULL DESC, n DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  ) AS BIGINT) AS up_to
FROM members
