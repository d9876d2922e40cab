/* Which kinds of events each person has, each kind with a number. */
WITH kanon_known_kinds AS (
  SELECT
    event,
    ROW_NUMBER() OVER () AS number
  FROM (
    SELECT DISTINCT
      event
    FROM events
  ) AS one_each
)
SELECT DISTINCT
  known_people.person,
  known_people.class,
  kanon_known_kinds.number AS event
FROM events
JOIN known_people
  ON known_people.person = events.person
JOIN kanon_known_kinds
  ON kanon_known_kinds.event = events.event
