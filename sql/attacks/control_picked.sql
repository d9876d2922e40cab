/* One row of the release for each person who has candidates: each candidate row is as likely as any other. */
WITH ranges AS (
  SELECT
    pairs.tuple,
    pairs.class,
    SUM(classes.n) OVER (
      PARTITION BY pairs.tuple ORDER BY pairs.class ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - classes.n AS before,
    classes.n,
    SUM(classes.n) OVER (PARTITION BY pairs.tuple) AS candidates
  FROM pairs
  INNER JOIN classes
    ON classes.class = pairs.class
), picked AS (
  SELECT
    tuple,
    class,
    before,
    n,
    1 + CAST(MD5_NUMBER_LOWER($seed || ' ' || CAST(tuple AS TEXT)) % candidates AS BIGINT) AS pick
  FROM ranges
)
SELECT
  picked.tuple,
  members.record
FROM picked
INNER JOIN members
  ON members.class = picked.class AND members.number = picked.pick - picked.before
WHERE
  picked.pick > picked.before AND picked.pick <= picked.before + picked.n
