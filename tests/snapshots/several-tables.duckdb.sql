-- the labels of visits.ward
CREATE TEMPORARY TABLE kanon_hierarchy_ward AS
WITH present AS (
  SELECT
    source.ward AS value
  FROM visits AS source
  UNION
  SELECT
    CAST(NULL AS TEXT) AS value
)
SELECT
  value,
  COALESCE(RPAD(LEFT(value, 5), 6, '*'), '*') AS level_1
FROM present;

-- the rows of patients with the person of each, and their labels
CREATE TEMPORARY VIEW kanon_rows_4 AS
SELECT
  patients.patient_id AS kanon_person,
  '*' AS "patients.sex",
  patients.patient_id AS "patients.patient_id"
FROM patients AS patients
WHERE
  NOT patients.patient_id IS NULL;

-- the rows of visits with the person of each, and their labels
CREATE TEMPORARY VIEW kanon_rows_5 AS
SELECT
  patients.patient_id AS kanon_person,
  "visits.ward".level_1 AS "visits.ward",
  visits.visit_id AS "visits.visit_id",
  visits.patient_id AS "visits.patient_id"
FROM visits AS visits
JOIN patients AS patients
  ON visits.patient_id = patients.patient_id
JOIN kanon_hierarchy_ward AS "visits.ward"
  ON visits.ward IS NOT DISTINCT FROM "visits.ward".value
WHERE
  NOT patients.patient_id IS NULL;

-- the rows of results with the person of each, and their labels
CREATE TEMPORARY VIEW kanon_rows_6 AS
SELECT
  patients.patient_id AS kanon_person,
  results.test AS "results.test",
  "visits.ward".level_1 AS "visits.ward",
  results.visit_id AS "results.visit_id"
FROM results AS results
JOIN visits AS visits
  ON results.visit_id = visits.visit_id
JOIN patients AS patients
  ON visits.patient_id = patients.patient_id
JOIN kanon_hierarchy_ward AS "visits.ward"
  ON visits.ward IS NOT DISTINCT FROM "visits.ward".value
WHERE
  NOT patients.patient_id IS NULL;

-- the people who are released
CREATE TEMPORARY TABLE kanon_people AS
SELECT
  kanon_person,
  class
FROM (
  SELECT
    kanon_person,
    DENSE_RANK() OVER (ORDER BY "patients.sex") AS class,
    COUNT(*) OVER (PARTITION BY "patients.sex") AS members
  FROM kanon_rows_4
) AS people
WHERE
  members >= 3;

-- the kinds of events of visits
CREATE TEMPORARY TABLE kanon_kinds AS
SELECT
  "visits.ward",
  0 + ROW_NUMBER() OVER (ORDER BY "visits.ward") AS event
FROM (
  SELECT DISTINCT
    "visits.ward"
  FROM kanon_rows_5
) AS kinds;

-- the kinds of events of results
CREATE TEMPORARY TABLE kanon_kinds_2 AS
SELECT
  "results.test",
  "visits.ward",
  1099511627776 + ROW_NUMBER() OVER (ORDER BY "results.test", "visits.ward") AS event
FROM (
  SELECT DISTINCT
    "results.test",
    "visits.ward"
  FROM kanon_rows_6
) AS kinds;

-- which kinds of events each person has
CREATE TEMPORARY TABLE kanon_events AS
SELECT DISTINCT
  released_people.kanon_person,
  released_people.class,
  kinds.event AS event,
  CAST(NULL AS BIGINT) AS through
FROM kanon_rows_5 AS rows_of_events
JOIN kanon_people AS released_people
  ON released_people.kanon_person = rows_of_events.kanon_person
JOIN kanon_kinds AS kinds
  ON rows_of_events."visits.ward" IS NOT DISTINCT FROM kinds."visits.ward"
UNION ALL
SELECT DISTINCT
  released_people.kanon_person,
  released_people.class,
  kinds.event AS event,
  through_kinds.event AS through
FROM kanon_rows_6 AS rows_of_events
JOIN kanon_people AS released_people
  ON released_people.kanon_person = rows_of_events.kanon_person
JOIN kanon_kinds_2 AS kinds
  ON rows_of_events."results.test" IS NOT DISTINCT FROM kinds."results.test"
  AND rows_of_events."visits.ward" IS NOT DISTINCT FROM kinds."visits.ward"
JOIN kanon_kinds AS through_kinds
  ON rows_of_events."visits.ward" IS NOT DISTINCT FROM through_kinds."visits.ward";

-- what fewer than 3 people of a class have of 1 known event
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    kanon_person,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.kanon_person,
    counted.event AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event) AS people
  FROM counted
)
SELECT DISTINCT
  kanon_person,
  event
FROM combinations
WHERE
  people < 3;

-- leave out what is too rare
DELETE FROM kanon_events AS events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare AS too_rare
    WHERE
      too_rare.kanon_person = events.kanon_person AND too_rare.event = events.event
  );

-- drop the list of it
DROP TABLE IF EXISTS kanon_too_rare;

-- what fewer than 3 people of a class have of 2 known events
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    kanon_person,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.kanon_person,
    LEAST([counted.people, counted.event], [another_2.people, another_2.event])[2] AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event, another_2.event) AS people
  FROM counted
  JOIN counted AS another_2
    ON another_2.kanon_person = counted.kanon_person AND another_2.event > counted.event
)
SELECT DISTINCT
  kanon_person,
  event
FROM combinations
WHERE
  people < 3;

-- leave out what is too rare
DELETE FROM kanon_events AS events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare AS too_rare
    WHERE
      too_rare.kanon_person = events.kanon_person AND too_rare.event = events.event
  );

-- drop the list of it
DROP TABLE IF EXISTS kanon_too_rare;

-- leave out what goes through it
DELETE FROM kanon_events AS events
WHERE
  NOT through IS NULL
  AND NOT EXISTS(
    SELECT
      1
    FROM kanon_events AS whole
    WHERE
      whole.kanon_person = events.kanon_person AND whole.event = events.through
  );

-- what fewer than 3 people of a class have of 1 known event
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    kanon_person,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.kanon_person,
    counted.event AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event) AS people
  FROM counted
)
SELECT DISTINCT
  kanon_person,
  event
FROM combinations
WHERE
  people < 3;

-- leave out what is too rare
DELETE FROM kanon_events AS events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare AS too_rare
    WHERE
      too_rare.kanon_person = events.kanon_person AND too_rare.event = events.event
  );

-- drop the list of it
DROP TABLE IF EXISTS kanon_too_rare;

-- what fewer than 3 people of a class have of 2 known events
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    kanon_person,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.kanon_person,
    LEAST([counted.people, counted.event], [another_2.people, another_2.event])[2] AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event, another_2.event) AS people
  FROM counted
  JOIN counted AS another_2
    ON another_2.kanon_person = counted.kanon_person AND another_2.event > counted.event
)
SELECT DISTINCT
  kanon_person,
  event
FROM combinations
WHERE
  people < 3;

-- leave out what is too rare
DELETE FROM kanon_events AS events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare AS too_rare
    WHERE
      too_rare.kanon_person = events.kanon_person AND too_rare.event = events.event
  );

-- drop the list of it
DROP TABLE IF EXISTS kanon_too_rare;

-- leave out what goes through it
DELETE FROM kanon_events AS events
WHERE
  NOT through IS NULL
  AND NOT EXISTS(
    SELECT
      1
    FROM kanon_events AS whole
    WHERE
      whole.kanon_person = events.kanon_person AND whole.event = events.through
  );

-- what fewer than 3 people of a class have of 1 known event
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    kanon_person,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.kanon_person,
    counted.event AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event) AS people
  FROM counted
)
SELECT DISTINCT
  kanon_person,
  event
FROM combinations
WHERE
  people < 3;

-- leave out what is too rare
DELETE FROM kanon_events AS events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare AS too_rare
    WHERE
      too_rare.kanon_person = events.kanon_person AND too_rare.event = events.event
  );

-- drop the list of it
DROP TABLE IF EXISTS kanon_too_rare;

-- leave out what goes through it
DELETE FROM kanon_events AS events
WHERE
  NOT through IS NULL
  AND NOT EXISTS(
    SELECT
      1
    FROM kanon_events AS whole
    WHERE
      whole.kanon_person = events.kanon_person AND whole.event = events.through
  );

-- what fewer than 3 people of a class have of 2 known events
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    kanon_person,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.kanon_person,
    LEAST([counted.people, counted.event], [another_2.people, another_2.event])[2] AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event, another_2.event) AS people
  FROM counted
  JOIN counted AS another_2
    ON another_2.kanon_person = counted.kanon_person AND another_2.event > counted.event
)
SELECT DISTINCT
  kanon_person,
  event
FROM combinations
WHERE
  people < 3;

-- leave out what is too rare
DELETE FROM kanon_events AS events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare AS too_rare
    WHERE
      too_rare.kanon_person = events.kanon_person AND too_rare.event = events.event
  );

-- drop the list of it
DROP TABLE IF EXISTS kanon_too_rare;

-- leave out what goes through it
DELETE FROM kanon_events AS events
WHERE
  NOT through IS NULL
  AND NOT EXISTS(
    SELECT
      1
    FROM kanon_events AS whole
    WHERE
      whole.kanon_person = events.kanon_person AND whole.event = events.through
  );

-- what fewer than 3 people of a class have of 1 known event
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    kanon_person,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.kanon_person,
    counted.event AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event) AS people
  FROM counted
)
SELECT DISTINCT
  kanon_person,
  event
FROM combinations
WHERE
  people < 3;

-- leave out what is too rare
DELETE FROM kanon_events AS events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare AS too_rare
    WHERE
      too_rare.kanon_person = events.kanon_person AND too_rare.event = events.event
  );

-- drop the list of it
DROP TABLE IF EXISTS kanon_too_rare;

-- what fewer than 3 people of a class have of 2 known events
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    kanon_person,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.kanon_person,
    LEAST([counted.people, counted.event], [another_2.people, another_2.event])[2] AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event, another_2.event) AS people
  FROM counted
  JOIN counted AS another_2
    ON another_2.kanon_person = counted.kanon_person AND another_2.event > counted.event
)
SELECT DISTINCT
  kanon_person,
  event
FROM combinations
WHERE
  people < 3;

-- leave out what is too rare
DELETE FROM kanon_events AS events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare AS too_rare
    WHERE
      too_rare.kanon_person = events.kanon_person AND too_rare.event = events.event
  );

-- drop the list of it
DROP TABLE IF EXISTS kanon_too_rare;

-- For patients: Pseudonyms: HMAC-SHA256 of each value. The key is not shown: bind it, padded to 64 bytes, as $kanon_inner_key (each byte XOR 0x36) and $kanon_outer_key (each byte XOR 0x5C)
CREATE TEMPORARY TABLE kanon_pseudonyms AS
SELECT
  value,
  LEFT(
    SHA256(
      $kanon_outer_key || UNHEX(
        SHA256($kanon_inner_key || ENCODE('["patients", "people"]' || CAST(value AS TEXT)))
      )
    ),
    32
  ) AS pseudonym
FROM (
  SELECT
    kanon_person AS value
  FROM kanon_people
) AS found;

-- For visits: Pseudonyms: HMAC-SHA256 of each value. The key is not shown: bind it, padded to 64 bytes, as $kanon_inner_key (each byte XOR 0x36) and $kanon_outer_key (each byte XOR 0x5C)
CREATE TEMPORARY TABLE kanon_pseudonyms_2 AS
SELECT
  value,
  LEFT(
    SHA256(
      $kanon_outer_key || UNHEX(SHA256($kanon_inner_key || ENCODE('["visits", "rows"]' || CAST(value AS TEXT))))
    ),
    32
  ) AS pseudonym
FROM (
  SELECT DISTINCT
    "visits.visit_id" AS value
  FROM kanon_rows_5
  WHERE
    NOT "visits.visit_id" IS NULL
) AS found;

-- schema released
CREATE SCHEMA IF NOT EXISTS released;

-- make the released patients
CREATE TABLE released.patients AS
SELECT
  pseudonyms_1.pseudonym AS patient_id,
  rows_of_table."patients.sex" AS sex
FROM kanon_rows_4 AS rows_of_table
JOIN kanon_people AS people
  ON people.kanon_person = rows_of_table.kanon_person
JOIN kanon_pseudonyms AS pseudonyms_1
  ON pseudonyms_1.value = rows_of_table."patients.patient_id"
ORDER BY
  HASH(pseudonyms_1.pseudonym, rows_of_table."patients.sex", 1);

-- make the released visits
CREATE TABLE released.visits AS
SELECT
  pseudonyms_1.pseudonym AS visit_id,
  pseudonyms_2.pseudonym AS patient_id,
  rows_of_table."visits.ward" AS ward
FROM kanon_rows_5 AS rows_of_table
JOIN kanon_people AS people
  ON people.kanon_person = rows_of_table.kanon_person
JOIN kanon_kinds AS kinds
  ON rows_of_table."visits.ward" IS NOT DISTINCT FROM kinds."visits.ward"
JOIN kanon_events AS events
  ON events.kanon_person = rows_of_table.kanon_person AND events.event = kinds.event
JOIN kanon_pseudonyms_2 AS pseudonyms_1
  ON pseudonyms_1.value = rows_of_table."visits.visit_id"
JOIN kanon_pseudonyms AS pseudonyms_2
  ON pseudonyms_2.value = rows_of_table."visits.patient_id"
ORDER BY
  HASH(pseudonyms_1.pseudonym, pseudonyms_2.pseudonym, rows_of_table."visits.ward", 1);

-- make the released results
CREATE TABLE released.results AS
SELECT
  pseudonyms_1.pseudonym AS visit_id,
  rows_of_table."results.test" AS test
FROM kanon_rows_6 AS rows_of_table
JOIN kanon_people AS people
  ON people.kanon_person = rows_of_table.kanon_person
JOIN kanon_kinds_2 AS kinds
  ON rows_of_table."results.test" IS NOT DISTINCT FROM kinds."results.test"
  AND rows_of_table."visits.ward" IS NOT DISTINCT FROM kinds."visits.ward"
JOIN kanon_events AS events
  ON events.kanon_person = rows_of_table.kanon_person AND events.event = kinds.event
JOIN kanon_pseudonyms_2 AS pseudonyms_1
  ON pseudonyms_1.value = rows_of_table."results.visit_id"
ORDER BY
  HASH(pseudonyms_1.pseudonym, rows_of_table."results.test", 1);

-- rows of the released patients
SELECT
  COUNT(*)
FROM released.patients AS patients;

-- rows of the released visits
SELECT
  COUNT(*)
FROM released.visits AS visits;

-- rows of the released results
SELECT
  COUNT(*)
FROM released.results AS results;

-- people who share what is published of them
/* How many people of a release share what is published of a person and of any $m of her events, at least; and how many
   combinations fewer than $k people share. people and events are read from the released tables, whose keys join them. */
WITH people AS (
  SELECT
    patients.patient_id AS person,
    CAST(TO_JSON(CAST([CAST(patients.sex AS TEXT)] AS TEXT[])) AS TEXT) AS class
  FROM released.patients AS patients
), combinations AS (
  SELECT
    COUNT(DISTINCT people.person) AS people
  FROM people
  GROUP BY
    people.class
)
SELECT
  COUNT(*) AS combinations,
  MIN(people) AS fewest,
  COUNT(*) FILTER(WHERE
    people < 3) AS too_rare
FROM combinations;

-- people who share what is published of them and of 1 event
/* How many people of a release share what is published of a person and of any $m of her events, at least; and how many
   combinations fewer than $k people share. people and events are read from the released tables, whose keys join them. */
WITH people AS (
  SELECT
    patients.patient_id AS person,
    CAST(TO_JSON(CAST([CAST(patients.sex AS TEXT)] AS TEXT[])) AS TEXT) AS class
  FROM released.patients AS patients
), events AS (
  SELECT DISTINCT
    visits.patient_id AS person,
    CAST(TO_JSON(CAST(['visits', CAST(visits.ward AS TEXT)] AS TEXT[])) AS TEXT) AS event
  FROM released.visits AS visits
  UNION ALL
  SELECT DISTINCT
    visits.patient_id AS person,
    CAST(TO_JSON(
      CAST(['results', CAST(results.test AS TEXT), CAST(visits.ward AS TEXT)] AS TEXT[])
    ) AS TEXT) AS event
  FROM released.results AS results
  JOIN released.visits AS visits
    ON results.visit_id = visits.visit_id
), combinations AS (
  SELECT
    COUNT(DISTINCT people.person) AS people
  FROM people
  JOIN events AS events_1
    ON events_1.person = people.person
  GROUP BY
    people.class,
    events_1.event
)
SELECT
  COUNT(*) AS combinations,
  MIN(people) AS fewest,
  COUNT(*) FILTER(WHERE
    people < 3) AS too_rare
FROM combinations;

-- people who share what is published of them and of 2 events
/* How many people of a release share what is published of a person and of any $m of her events, at least; and how many
   combinations fewer than $k people share. people and events are read from the released tables, whose keys join them. */
WITH people AS (
  SELECT
    patients.patient_id AS person,
    CAST(TO_JSON(CAST([CAST(patients.sex AS TEXT)] AS TEXT[])) AS TEXT) AS class
  FROM released.patients AS patients
), events AS (
  SELECT DISTINCT
    visits.patient_id AS person,
    CAST(TO_JSON(CAST(['visits', CAST(visits.ward AS TEXT)] AS TEXT[])) AS TEXT) AS event
  FROM released.visits AS visits
  UNION ALL
  SELECT DISTINCT
    visits.patient_id AS person,
    CAST(TO_JSON(
      CAST(['results', CAST(results.test AS TEXT), CAST(visits.ward AS TEXT)] AS TEXT[])
    ) AS TEXT) AS event
  FROM released.results AS results
  JOIN released.visits AS visits
    ON results.visit_id = visits.visit_id
), combinations AS (
  SELECT
    COUNT(DISTINCT people.person) AS people
  FROM people
  JOIN events AS events_1
    ON events_1.person = people.person
  JOIN events AS events_2
    ON events_2.person = people.person AND events_2.event > events_1.event
  GROUP BY
    people.class,
    events_1.event,
    events_2.event
)
SELECT
  COUNT(*) AS combinations,
  MIN(people) AS fewest,
  COUNT(*) FILTER(WHERE
    people < 3) AS too_rare
FROM combinations;

-- rows of the released visits that lead to no row
SELECT
  COUNT(*)
FROM released.visits AS own
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM released.patients AS referred
    WHERE
      referred.patient_id = own.patient_id
  );

-- rows of the released results that lead to no row
SELECT
  COUNT(*)
FROM released.results AS own
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM released.visits AS referred
    WHERE
      referred.visit_id = own.visit_id
  );

-- keys of the released patients that are no pseudonyms
SELECT
  COUNT(*)
FROM released.patients AS patients
WHERE
  patient_id IS NULL
  OR NOT (
    REGEXP_FULL_MATCH(CAST(patient_id AS TEXT), '[0-9a-f]{32}')
  );

-- keys of the released visits that are no pseudonyms
SELECT
  COUNT(*)
FROM released.visits AS visits
WHERE
  patient_id IS NULL
  OR NOT (
    REGEXP_FULL_MATCH(CAST(patient_id AS TEXT), '[0-9a-f]{32}')
  );

-- keys of the released visits that are no pseudonyms
SELECT
  COUNT(*)
FROM released.visits AS visits
WHERE
  visit_id IS NULL
  OR NOT (
    REGEXP_FULL_MATCH(CAST(visit_id AS TEXT), '[0-9a-f]{32}')
  );

-- keys of the released results that are no pseudonyms
SELECT
  COUNT(*)
FROM released.results AS results
WHERE
  visit_id IS NULL
  OR NOT (
    REGEXP_FULL_MATCH(CAST(visit_id AS TEXT), '[0-9a-f]{32}')
  );

-- keys of the released patients that repeat
SELECT
  COUNT(*) - COUNT(DISTINCT patient_id)
FROM released.patients AS patients;

-- keys of the released visits that repeat
SELECT
  COUNT(*) - COUNT(DISTINCT visit_id)
FROM released.visits AS visits;

-- labels of patients.sex
SELECT
  'sex' AS column_name,
  COUNT(*) FILTER(WHERE
    NOT EXISTS(
      SELECT
        1
      FROM (
        SELECT
          '*' AS label
      ) AS known
      WHERE
        known.label IS NOT DISTINCT FROM published.label
    )) AS foreign_labels
FROM (
  SELECT DISTINCT
    sex AS label
  FROM released.patients AS patients
) AS published;

-- labels of visits.ward
SELECT
  'ward' AS column_name,
  COUNT(*) FILTER(WHERE
    NOT EXISTS(
      SELECT
        1
      FROM kanon_hierarchy_ward AS known
      WHERE
        known.level_1 IS NOT DISTINCT FROM published.label
    )) AS foreign_labels
FROM (
  SELECT DISTINCT
    ward AS label
  FROM released.visits AS visits
) AS published;
