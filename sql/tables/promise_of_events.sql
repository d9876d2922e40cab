/* How many people of a release share what is published of them and of any one event, at least; and how many
   combinations of both fewer than $k people share. Events are numbered by these combinations, anew in each table; those
   of no person are not counted.

   Counting people takes long, and few combinations need it. HASH puts people into 62 places, of which a combination
   takes no more than it has people. So no combination that takes more places than the rarest one has people is rarer:
   those that take fewest are counted first, and then whatever takes no more places than any of these has people. */
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
    BIT_COUNT(BIT_OR(CAST(1 AS BIGINT) << CAST(HASH(person) % 62 AS INT))) AS taken
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
    taken = (SELECT MIN(taken) FROM combinations)
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
    taken <= GREATEST($k - 1, (SELECT MIN(people) FROM rarest))
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
