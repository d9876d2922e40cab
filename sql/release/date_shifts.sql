/* For each person, the days by which all of their dates are shifted: 1 to $days, forwards or backwards, by a keyed hash
   of the person's name. */
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
