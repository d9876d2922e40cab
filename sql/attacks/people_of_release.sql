/* How many rows each person has in each class of a release that has a column of people, with the sums of people_members. */
WITH members AS (
  SELECT
    class,
    NULLIF(published_1, '') AS person,
    COUNT(*) AS n
  FROM released
  GROUP BY
    class,
    NULLIF(published_1, '')
)
SELECT
  class,
  person,
  n,
  CAST(SUM(n) OVER (
    PARTITION BY class ORDER BY person IS NULL DESC, n DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
  ) AS BIGINT) AS up_to
FROM members
