/* Of each person, the days that all of their dates are moved by: 1 to $days, forwards or backwards, by a keyed hash of
   what names the person. */
WITH people AS (
  SELECT DISTINCT $person AS value
  FROM source
), numbers AS (
  SELECT value, CAST('0x' || LEFT($hash, 15) AS BIGINT) % (2 * $days) AS number
  FROM people
)
SELECT
  value,
  CAST(CASE WHEN number < $days THEN number - $days ELSE number - $days + 1 END AS INTEGER) AS days
FROM numbers
