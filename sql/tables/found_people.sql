/* How many people are alone with the rarest combination known about them, and how many are among fewer than $k. */
SELECT
  COUNT(*) AS people,
  COUNT(*) FILTER (WHERE fewest = 1) AS alone,
  COUNT(*) FILTER (WHERE fewest < $k) AS below_k,
  MIN(fewest) AS smallest
FROM (
  SELECT
    person,
    MIN(fewest) AS fewest
  FROM rarest_known
  GROUP BY
    person
) AS rarest
