/* How many people have how many kinds of events. */
SELECT
  kinds,
  COUNT(*) AS people
FROM (
  SELECT
    COUNT(*) AS kinds
  FROM events
  GROUP BY
    person,
    class
) AS per_person
GROUP BY
  kinds
