/* Labels built from the values of a part, and reading such labels back (see measures/sets_and_ranges.py). */

/* spans: The first and last place of each part. For numbers these leave out NULL, which is separate. */
SELECT
  part,
  MIN(place_1) FILTER(WHERE $is_in_span) AS low,
  MAX(place_1) AS high,
  $has_null AS has_null
FROM tuples
GROUP BY
  part
;

/* sets: The same, with the values of each part. */
SELECT
  members.part,
  MIN(members.place) AS low,
  MAX(members.place) AS high,
  FALSE AS has_null,
  CAST(SUM(places.n) AS BIGINT) AS n,
  COUNT(*) AS leaves,
  STRING_AGG($member, ', ' ORDER BY places.value NULLS FIRST) AS members,
  MIN($text) AS single
FROM (
  SELECT DISTINCT
    part,
    place_1 AS place
  FROM tuples
) AS members
JOIN places
  ON places.place = members.place
GROUP BY
  members.part
;

/* means: The mean of each part: rows are counted by value first, and the products added in the order of the values.
   Sums of DOUBLE depend on their order, and tuples are split by sensitive values too: their order would reveal who
   has which. */
SELECT
  part,
  $middle AS middle
FROM (
  SELECT
    counted.part,
    SUM(places.number * counted.n ORDER BY counted.place) FILTER(WHERE NOT places.number IS NULL)
    / NULLIF(SUM(counted.n) FILTER(WHERE NOT places.number IS NULL), 0) AS mean
  FROM (
    SELECT
      part,
      place_1 AS place,
      CAST(SUM(n) AS BIGINT) AS n
    FROM tuples
    GROUP BY
      part,
      place_1
  ) AS counted
  JOIN places
    ON places.place = counted.place
  GROUP BY
    counted.part
) AS means
;

/* medians: The lower median of each part: the smallest value that at least half of the rows do not exceed. */
SELECT
  least.part,
  places.value AS middle
FROM (
  SELECT
    part,
    MIN(place) AS place
  FROM (
    SELECT
      part,
      place_1 AS place,
      SUM(n) OVER (PARTITION BY part ORDER BY place_1 ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS up_to,
      SUM(n) OVER (PARTITION BY part) AS total
    FROM tuples
    WHERE
      place_1 > 0
  ) AS counted
  WHERE
    2 * up_to >= total
  GROUP BY
    part
) AS least
JOIN places
  ON places.place = least.place
;

/* cells: The published cell of each part: its label, and the values and rows under it. */
WITH spans AS (
  SELECT
    part,
    place_1 AS low,
    place_1 AS high,
    FALSE AS has_null
  FROM tuples
)
SELECT
  spans.part,
  $label AS label,
  $level AS level,
  CAST($rows AS BIGINT) AS n,
  CAST($leaves AS BIGINT) AS leaves,
  $at_root AS at_root,
  $lower AS lower,
  $upper AS upper,
  spans.low,
  spans.high,
  spans.has_null,
  $bounds
FROM spans
LEFT JOIN places AS ends
  ON $is_end
;

/* ranges: The places of labels that are ranges: of the two ends, once for each position of the separator, and of
   the NULL beside them. */
WITH marked AS (
  SELECT
    number,
    label,
    $may_have_null AND label LIKE '{\N, %}' AS beside
  FROM unread
), bodies AS (
  SELECT
    number,
    beside,
    CASE WHEN beside THEN SUBSTRING(label, 6, LENGTH(label) - 6) ELSE label END AS body
  FROM marked
), splits AS (
  SELECT
    number,
    beside,
    body,
    UNNEST(RANGE(2, LENGTH(body) - LENGTH($separator) + 1)) AS start
  FROM bodies
  WHERE
    body LIKE '[%]'
), ends AS (
  SELECT
    number,
    beside,
    SUBSTRING(body, 2, start - 2) AS low,
    SUBSTRING(body, start + LENGTH($separator), LENGTH(body) - (start + LENGTH($separator))) AS high
  FROM splits
  WHERE
    SUBSTRING(body, start, LENGTH($separator)) = $separator
  UNION ALL
  SELECT
    number,
    beside,
    body AS low,
    body AS high
  FROM bodies
  WHERE
    beside
), spans AS (
  SELECT
    ROW_NUMBER() OVER () AS part,
    ends.number,
    [low_end.place, high_end.place, CASE WHEN ends.beside THEN $null_place ELSE low_end.place END] AS places
  FROM ends
  JOIN places AS low_end
    ON $is_low
  JOIN places AS high_end
    ON $is_high
  WHERE
    low_end.place <= high_end.place
)
SELECT
  part,
  number,
  UNNEST(places) AS place_1
FROM spans
;

/* members: The places of labels that are sets: all members, if each of them is a value. A comma inside a member has
   a backslash before it, so a comma without one is a separator. The joined members must give the text, else it was
   not a set. Members carry only the number of their label: its text may be as long as all of them together. */
WITH sets AS (
  SELECT
    number,
    SUBSTRING(label, 2, LENGTH(label) - 2) AS body
  FROM unread
  WHERE
    label LIKE '{%}'
), lists AS (
  SELECT
    number,
    body,
    REGEXP_EXTRACT_ALL(body || ', ', '((?:[^\\,]|\\[\\,N])*), ', 1) AS members
  FROM sets
), listed AS (
  SELECT
    number,
    LENGTH(members) AS size,
    UNNEST(members) AS written
  FROM lists
  WHERE
    ARRAY_TO_STRING(members, ', ') = body
), found AS (
  SELECT
    listed.number,
    listed.size,
    places.place,
    COUNT(*) OVER (PARTITION BY listed.number) AS found
  FROM listed
  JOIN places
    ON listed.written = $member
)
SELECT
  number AS part,
  number,
  place AS place_1
FROM found
WHERE
  found = size
;
