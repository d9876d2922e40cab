/* The classes by subsets of the quasi-identifiers: how many, the smallest, rows that are alone, all rows, and what is
   in classes of fewer than $k rows. There is a GROUP BY for each subset, which has a number; $values are its columns. */
WITH classes AS (
  SELECT
    0 AS subset,
    CAST(SUM(n) AS BIGINT) AS members
  FROM coded
  GROUP BY
    $values
)
SELECT
  subset,
  COUNT(*) AS classes,
  MIN(members) AS smallest_class,
  COUNT(*) FILTER (WHERE members = 1) AS uniques,
  SUM(members) AS all_members,
  COUNT(*) FILTER (WHERE members < $k) AS too_small,
  SUM(members) FILTER (WHERE members < $k) AS in_too_small
FROM classes
GROUP BY
  subset
