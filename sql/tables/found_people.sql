/* How many people share the rarest of what could be known of them with nobody, and how many with fewer than $k. */
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
