/* The possible meanings of the labels of a published table (see measures/released_labels.py): labels has each label
   of a column once, with a number and the rows of the release that have it. */

/* readings: Each level of the hierarchy that has a label, and its code there. Values are also written as the original
   writes them. */
WITH spellings AS (
  SELECT
    number,
    released,
    label AS spelled,
    FALSE AS as_value
  FROM labels
  UNION ALL
  SELECT
    number,
    released,
    $as_original AS spelled,
    TRUE AS as_value
  FROM labels
  WHERE
    $is_value
), written AS (
  SELECT
    0 AS level,
    value AS label,
    code
  FROM lookup
)
SELECT
  spellings.number,
  spellings.released,
  written.level,
  $codes
FROM spellings
JOIN written
  ON written.label IS NOT DISTINCT FROM spellings.spelled AND (NOT spellings.as_value OR written.level = 0)
;

/* possible: The possible meanings of each label, and whether the original has enough rows under it. */
SELECT
  readings.number,
  readings.released,
  facts.at_root OR facts.n >= readings.released AS enough,
  facts.level,
  facts.n,
  facts.leaves,
  facts.at_root,
  facts.lower,
  facts.upper,
  $codes
FROM readings
JOIN facts
  ON facts.level = readings.level AND $same_codes
;

/* add_sets_and_ranges: The same for labels that were read as sets or as ranges, which have no code. */
SELECT
  unread.number,
  unread.released,
  cells.n >= unread.released AS enough,
  cells.level,
  cells.n,
  cells.leaves,
  cells.at_root,
  cells.lower,
  cells.upper
FROM (
  SELECT DISTINCT
    part,
    number
  FROM read
) AS numbers
JOIN cells
  ON cells.part = numbers.part
JOIN unread
  ON unread.number = numbers.number
;

/* standing: How many labels there are, and how many have a meaning. */
SELECT
  (
    SELECT
      COUNT(*)
    FROM labels
  ),
  COUNT(*)
FROM (
  SELECT
    number
  FROM possible
  GROUP BY
    number
  HAVING
    SUM(n) >= MAX(released) OR COUNT(*) FILTER(WHERE at_root) > 0
) AS standing
;

/* levels: How many labels can be on each level, and how many of them are below the root. */
SELECT
  level,
  COUNT(DISTINCT number),
  COUNT(*) FILTER(WHERE NOT at_root)
FROM possible
WHERE
  enough
GROUP BY
  level
ORDER BY
  level
;

/* meanings: One meaning for each label: of those on a level, or of all, the one with the most leaves. */
SELECT
  labels.label,
  ranked.level,
  ranked.n,
  ranked.leaves,
  ranked.at_root,
  ranked.lower,
  ranked.upper,
  $codes
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY number ORDER BY enough DESC, $is_value DESC, at_root DESC, leaves DESC, level) AS rank
  FROM possible
  WHERE
    $is_on_level
) AS ranked
JOIN labels
  ON labels.number = ranked.number
WHERE
  ranked.rank = 1
;

/* values: The values of the original under each label, on each level that may have it. */
WITH prefixes AS MATERIALIZED (
  SELECT
    levels.level,
    $prefixes,
    places.place,
    places.n
  FROM places
  JOIN levels
    ON TRUE
  WHERE
    places.n > 0
)
SELECT DISTINCT
  readings.number AS label,
  readings.released,
  readings.level,
  prefixes.place,
  prefixes.n
FROM readings
JOIN prefixes
  ON prefixes.level = readings.level AND $same_codes
;

/* enough: The labels of each level that have no more rows in the release than the original has under them there. */
SELECT
  level,
  label
FROM readings
GROUP BY
  level,
  label
HAVING
  SUM(n) >= MAX(released)
;

/* range_spans: The places of the ends of ranges, and of the NULL beside them. */
SELECT
  number AS label,
  low,
  high
FROM (
  SELECT
    part,
    number,
    MIN(place_1) FILTER(WHERE $is_in_span) AS low,
    MAX(place_1) AS high
  FROM read
  GROUP BY
    part,
    number
) AS spans
UNION ALL
SELECT
  number AS label,
  place_1 AS low,
  place_1 AS high
FROM read
WHERE
  place_1 = $null_place
;

/* set_spans: The places of the members of sets. */
SELECT
  number AS label,
  place_1 AS low,
  place_1 AS high
FROM read
;
