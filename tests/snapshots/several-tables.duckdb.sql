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

-- are statements profiled?
SELECT
  CURRENT_SETTING('enable_profiling');

-- the rows of patients with their labels
CREATE TEMPORARY VIEW kanon_rows AS
SELECT
  patients.patient_id AS kanon_person,
  '*' AS "patients.sex"
FROM patients AS patients
WHERE
  NOT patients.patient_id IS NULL;

-- the people, with their pseudonyms, and the classes of those released. A pseudonym is SHA-256 of $kanon_person_key and the value (NIST SP 800-56C, one step). $kanon_person_key is not shown: bind the bytes 00 00 00 01, followed by HMAC-SHA256 of ["patients", "people"] by your key
CREATE TEMPORARY TABLE kanon_everyone AS
SELECT
  rows_of_people.kanon_person,
  CAST((
    CAST(CAST(UNHEX(
      LEFT(SHA256($kanon_person_key || ENCODE(CAST(rows_of_people.kanon_person AS TEXT))), 32)
    ) AS UUID) AS UINT128) | 1133385249711283953991680
  ) - 528913116531932511862784 AS UUID) AS pseudonym,
  classes.class,
  rows_of_people."patients.sex"
FROM kanon_rows AS rows_of_people
LEFT JOIN (
  SELECT
    "patients.sex",
    ROW_NUMBER() OVER () AS class
  FROM kanon_rows AS rows_of_people
  GROUP BY
    "patients.sex"
  HAVING
    COUNT(*) >= 3
) AS classes
  ON rows_of_people."patients.sex" IS NOT DISTINCT FROM classes."patients.sex";

-- a number for each of them
CREATE TEMPORARY VIEW kanon_people AS
SELECT
  "rowid" AS number,
  *
FROM kanon_everyone;

-- people in the tables
SELECT
  COUNT(*)
FROM kanon_people;

-- the rows of visits with the person of each, and their labels
CREATE TEMPORARY VIEW kanon_rows_2 AS
SELECT
  kanon_referred.number,
  kanon_referred.class,
  CAST(NULL AS BIGINT) AS through,
  kanon_referred.pseudonym AS "visits.patient_id",
  visits.visit_id AS "visits.visit_id",
  "visits.ward".level_1 AS "visits.ward"
FROM visits AS visits
JOIN kanon_people AS kanon_referred
  ON visits.patient_id = kanon_referred.kanon_person
JOIN kanon_hierarchy_ward AS "visits.ward"
  ON visits.ward IS NOT DISTINCT FROM "visits.ward".value;

-- the kinds of events of visits
CREATE TEMPORARY TABLE kanon_kinds AS
SELECT
  "visits.ward",
  through,
  0 + ROW_NUMBER() OVER (ORDER BY "visits.ward", through) AS event
FROM (
  SELECT DISTINCT
    "visits.ward",
    through
  FROM kanon_rows_2
) AS kinds;

-- the rows of visits with their kinds, and pseudonyms of visit_id. A pseudonym is SHA-256 of $kanon_key_of_table_2 and the value (NIST SP 800-56C, one step). $kanon_key_of_table_2 is not shown: bind the bytes 00 00 00 01, followed by HMAC-SHA256 of ["visits", "rows"] by your key
CREATE TEMPORARY TABLE kanon_left AS
SELECT
  rows_of_events.number,
  rows_of_events.class,
  rows_of_events.through,
  rows_of_events."visits.visit_id",
  rows_of_events."visits.patient_id",
  kinds.event,
  CAST((
    CAST(CAST(UNHEX(
      LEFT(
        SHA256($kanon_key_of_table_2 || ENCODE(CAST(rows_of_events."visits.visit_id" AS TEXT))),
        32
      )
    ) AS UUID) AS UINT128) | 1133385249711283953991680
  ) - 528913116531932511862784 AS UUID) AS pseudonym
FROM kanon_rows_2 AS rows_of_events
JOIN kanon_kinds AS kinds
  ON rows_of_events."visits.ward" IS NOT DISTINCT FROM kinds."visits.ward"
  AND rows_of_events.through IS NOT DISTINCT FROM kinds.through;

-- rows of visits of people
SELECT
  COUNT(*)
FROM kanon_left;

-- the rows of results with their kinds
CREATE TEMPORARY TABLE kanon_left_2 AS
SELECT
  rows_of_events.number,
  rows_of_events.class,
  rows_of_events.through,
  rows_of_events."results.visit_id",
  kinds.event
FROM kanon_rows_3 AS rows_of_events
JOIN kanon_kinds_2 AS kinds
  ON rows_of_events."results.test" IS NOT DISTINCT FROM kinds."results.test"
  AND rows_of_events.through IS NOT DISTINCT FROM kinds.through;

-- kinds of visits that fewer than 3 people of a class have
CREATE TEMPORARY TABLE kanon_too_rare_2 AS
SELECT
  rows_of_events.class,
  rows_of_events.event
FROM kanon_left AS rows_of_events
JOIN (
  SELECT
    class,
    event
  FROM kanon_left AS rows_of_events
  WHERE
    NOT class IS NULL
  GROUP BY
    class,
    event
  HAVING
    BIT_COUNT(BIT_OR(CAST(1 AS BIGINT) << (
      number % 62
    ))) < 3
) AS few
  ON few.class = rows_of_events.class
  AND rows_of_events.event IS NOT DISTINCT FROM few.event
GROUP BY
  rows_of_events.class,
  rows_of_events.event
HAVING
  COUNT(DISTINCT rows_of_events.number) < 3;

-- leave the rows of visits out of people who are not released
DELETE FROM kanon_left AS rows_of_events
WHERE
  class IS NULL;

-- leave out rare events of visits
DELETE FROM kanon_left AS rows_of_events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare_2 AS too_rare
    WHERE
      too_rare.class = rows_of_events.class
      AND rows_of_events.event IS NOT DISTINCT FROM too_rare.event
  );

-- drop the list of it
DROP TABLE IF EXISTS kanon_too_rare_2;

-- which kinds of events each person has
CREATE TEMPORARY TABLE kanon_events AS
SELECT DISTINCT
  number,
  class,
  event,
  through
FROM kanon_left
UNION ALL
SELECT DISTINCT
  number,
  class,
  event,
  through
FROM kanon_left_2;

-- what fewer than 3 people of a class have of 1 known event
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    number,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.number,
    counted.event AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event) AS people
  FROM counted
)
SELECT DISTINCT
  number,
  event
FROM combinations
WHERE
  people < 3;

-- leave out rare people
DELETE FROM kanon_events AS events
WHERE
  EXISTS(
    SELECT
      1
    FROM kanon_too_rare AS too_rare
    WHERE
      too_rare.number = events.number AND too_rare.event = events.event
  );

-- what fewer than 3 people of a class have of 2 known events
CREATE TEMPORARY TABLE kanon_too_rare AS
WITH counted AS (
  SELECT
    number,
    class,
    event,
    COUNT(*) OVER (PARTITION BY class, event) AS people
  FROM kanon_events
), combinations AS (
  SELECT
    counted.number,
    LEAST([counted.people, counted.event], [another_2.people, another_2.event])[2] AS event,
    COUNT(*) OVER (PARTITION BY counted.class, counted.event, another_2.event) AS people
  FROM counted
  JOIN counted AS another_2
    ON another_2.number = counted.number AND another_2.event > counted.event
)
SELECT DISTINCT
  number,
  event
FROM combinations
WHERE
  people < 3;

-- leave out what goes through it
DELETE FROM kanon_events AS events
WHERE
  NOT through IS NULL
  AND NOT EXISTS(
    SELECT
      1
    FROM kanon_events AS whole
    WHERE
      whole.number = events.number AND whole.event = events.through
  );

-- leave the rows of visits out that are too rare
DELETE FROM kanon_left AS rows_of_events
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM kanon_events AS events
    WHERE
      events.number = rows_of_events.number AND events.event = rows_of_events.event
  );

-- schema released
CREATE SCHEMA IF NOT EXISTS released;

-- make the released patients
CREATE TABLE released.patients AS
SELECT
  rows_of_table.pseudonym AS patient_id,
  rows_of_table."patients.sex" AS sex
FROM (
  SELECT
    *
  FROM kanon_people
  WHERE
    NOT class IS NULL
) AS rows_of_table
ORDER BY
  HASH(rows_of_table.pseudonym, rows_of_table."patients.sex", 1);

-- rows of the released patients
SELECT
  COUNT(*)
FROM released.patients AS patients;

-- people who share their published values
/* The fewest people of a release who share the published values of a person and of any $m of their events; and how many
   combinations fewer than $k people share. people and events are read from the released tables, joined by keys. */
WITH people AS (
  SELECT
    patients.patient_id AS person,
    ENCODE(CAST(TO_JSON(CAST([CAST(patients.sex AS TEXT)] AS TEXT[])) AS TEXT)) AS class
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

-- people who share their published values and of 1 event
WITH kanon_known_1 AS (
  SELECT
    patients.patient_id AS key,
    patients.patient_id AS person,
    kanon_alike.kind AS kind
  FROM released.patients AS patients
  JOIN (
    SELECT
      CAST(ROW_NUMBER() OVER () AS INT128) AS kind,
      COUNT(*) OVER () AS kinds,
      ENCODE(CAST(patients.sex AS TEXT)) AS text_1
    FROM released.patients AS patients
    GROUP BY
      ENCODE(CAST(patients.sex AS TEXT))
  ) AS kanon_alike
    ON ENCODE(CAST(patients.sex AS TEXT)) IS NOT DISTINCT FROM kanon_alike.text_1
), kanon_known_2 AS (
  SELECT
    visits.visit_id AS key,
    kanon_referred.person AS person,
    kanon_referred.kind * kanon_alike.kinds + kanon_alike.kind AS kind
  FROM released.visits AS visits
  JOIN kanon_known_1 AS kanon_referred
    ON visits.patient_id = kanon_referred.key
  JOIN (
    SELECT
      CAST(ROW_NUMBER() OVER () AS INT128) AS kind,
      COUNT(*) OVER () AS kinds,
      ENCODE(CAST(visits.ward AS TEXT)) AS text_1
    FROM released.visits AS visits
    GROUP BY
      ENCODE(CAST(visits.ward AS TEXT))
  ) AS kanon_alike
    ON ENCODE(CAST(visits.ward AS TEXT)) IS NOT DISTINCT FROM kanon_alike.text_1
), kanon_known_3 AS (
  SELECT
    kanon_referred.person AS person,
    kanon_referred.kind * kanon_alike.kinds + kanon_alike.kind AS kind
  FROM released.results AS results
  JOIN kanon_known_2 AS kanon_referred
    ON results.visit_id = kanon_referred.key
  JOIN (
    SELECT
      CAST(ROW_NUMBER() OVER () AS INT128) AS kind,
      COUNT(*) OVER () AS kinds,
      ENCODE(CAST(results.test AS TEXT)) AS text_1
    FROM released.results AS results
    GROUP BY
      ENCODE(CAST(results.test AS TEXT))
  ) AS kanon_alike
    ON ENCODE(CAST(results.test AS TEXT)) IS NOT DISTINCT FROM kanon_alike.text_1
), events AS MATERIALIZED (
  SELECT
    0 AS place,
    kind,
    person
  FROM kanon_known_2
  UNION ALL
  SELECT
    1 AS place,
    kind,
    person
  FROM kanon_known_3
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
    bins = (
      SELECT
        MIN(bins)
      FROM combinations
    )
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
    bins <= GREATEST(3 - 1, (
      SELECT
        MIN(people)
      FROM rarest
    ))
  GROUP BY
    place,
    kind
)
SELECT
  (
    SELECT
      COUNT(*)
    FROM combinations
  ) AS combinations,
  MIN(people) AS fewest,
  COUNT(*) FILTER(WHERE
    people < 3) AS too_rare,
  (
    SELECT
      SUM(n)
    FROM combinations
    WHERE
      place = 0
  ),
  (
    SELECT
      SUM(n)
    FROM combinations
    WHERE
      place = 1
  )
FROM rare;

-- people who share their published values and of 2 events
/* The fewest people of a release who share the published values of a person and of any $m of their events; and how many
   combinations fewer than $k people share. people and events are read from the released tables, joined by keys. */
WITH people AS (
  SELECT
    patients.patient_id AS person,
    ENCODE(CAST(TO_JSON(CAST([CAST(patients.sex AS TEXT)] AS TEXT[])) AS TEXT)) AS class
  FROM released.patients AS patients
), events AS (
  SELECT DISTINCT
    visits.patient_id AS person,
    ENCODE(CAST(TO_JSON(CAST(['visits', CAST(visits.ward AS TEXT)] AS TEXT[])) AS TEXT)) AS event
  FROM released.visits AS visits
  UNION ALL
  SELECT DISTINCT
    visits.patient_id AS person,
    ENCODE(
      CAST(TO_JSON(
        CAST(['results', CAST(results.test AS TEXT), CAST(visits.ward AS TEXT)] AS TEXT[])
      ) AS TEXT)
    ) AS event
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

-- keys of the released patients that repeat
SELECT
  COUNT(*) - COUNT(DISTINCT patient_id)
FROM released.patients AS patients;

-- keys of the released patients that are no pseudonyms
SELECT
  COUNT(*)
FROM released.patients AS patients
WHERE
  NOT (
    COALESCE(
      CAST(TRY_CAST(patient_id AS UUID) AS UINT128) & 1133385249711283953991680 = 604472133179351442128896,
      FALSE
    )
  );

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
