/* The fewest people of a release who share their published values and those of any one event; and how many combinations
   of both fewer than $k people share. Events are numbered by these combinations, separately for each table; events of
   no person are not counted.

   Counting people is slow, and few combinations need it. HASH puts people into 62 bins: a combination has people in no
   more bins than it has people. So the combinations with the fewest bins are counted first, and then all that have no
   more bins than the rarest of these has people; or fewer than $k. No other one is as rare. */
WITH events AS MATERIALIZED (
  SELECT
    0 AS place,
    kind,
    person
  FROM known_events
), combinations AS (
  SELECT
    place,
    kind,
    COUNT(*) AS n,
    BIT_COUNT(BIT_OR(CAST(1 AS BIGINT) << CAST(HASH(person) % 62 AS INT))) AS bins
  FROM events
  WHERE
    NOT person IS NULL
  GROUP BY
    place,
    kind
), rarest AS (
  SELECT
    COUNT(DISTINCT person) AS people
  FROM events
  JOIN combinations
    USING (place, kind)
  WHERE
    bins = (SELECT MIN(bins) FROM combinations)
  GROUP BY
    place,
    kind
), rare AS (
  SELECT
    COUNT(DISTINCT person) AS people
  FROM events
  JOIN combinations
    USING (place, kind)
  WHERE
    bins <= GREATEST($k - 1, (SELECT MIN(people) FROM rarest))
  GROUP BY
    place,
    kind
)
SELECT
  (SELECT COUNT(*) FROM combinations) AS combinations,
  MIN(people) AS fewest,
  COUNT(*) FILTER (WHERE people < $k) AS too_rare,
  $rows
FROM rare
