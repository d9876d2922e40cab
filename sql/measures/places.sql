/* The values of a hierarchy in their order, each with its place (see measures/labels.py). */

/* made: $under and $above are for columns that are ordered by their tree: the rows and values under each label. */
WITH leaves AS (
  SELECT
    lookup.value,
    $levels,
    $codes,
    leaf.n,
    leaf.lower AS number
  FROM lookup
  JOIN leaf
    ON leaf.level = 0 AND $same_codes
), counted AS (
  SELECT
    *,
    $under
  FROM leaves
), placed AS (
  SELECT
    *,
    CAST($place AS INT) AS place
  FROM counted
)
SELECT
  *,
  CAST(SUM(n) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS BIGINT) AS up_to,
  $above
FROM placed
;

/* facts: The place of NULL, the number of distinct values in the table, the values that are infinite or not a
   number, and the first and the last place with a number. */
SELECT
  $number,
  MAX(place) FILTER(WHERE n > 0 AND value IS NULL),
  COUNT(*) FILTER(WHERE n > 0),
  COUNT(*) FILTER(WHERE number IS NULL AND NOT value IS NULL),
  MIN(place) FILTER(WHERE NOT number IS NULL),
  MAX(place) FILTER(WHERE NOT number IS NULL)
FROM places
;
