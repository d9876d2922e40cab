/* The bin of each place that has rows: the place itself, or, where there are more than $most of them, one of $most
   ranges of places with about as many rows each. */
WITH present AS (
  SELECT
    place,
    number,
    n,
    up_to - n AS before,
    COUNT(*) OVER () AS different,
    SUM(n) OVER () AS every_row
  FROM places
  WHERE
    n > 0
)
SELECT
  place,
  number,
  n,
  CASE
    WHEN different <= $most
    THEN ROW_NUMBER() OVER (ORDER BY place)
    ELSE CAST(FLOOR($most * before / every_row) AS BIGINT) + 1
  END AS bin
FROM present
