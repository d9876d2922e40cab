/* The bin of each place that has rows: the place itself or, if there are more than $most of them, a range of
   places. A value with at least 1/$most of all rows has a bin of its own; the others have up to $most bins
   together, with about as many rows each. */
WITH present AS (
  SELECT
    place,
    number,
    n,
    COUNT(*) OVER () AS different,
    n * $most >= SUM(n) OVER () AS is_frequent
  FROM places
  WHERE
    n > 0
), sliced AS (
  SELECT
    place,
    number,
    n,
    different,
    COUNT(*) FILTER (WHERE is_frequent) OVER (ORDER BY place) AS frequent_before,
    CASE
      WHEN is_frequent
      THEN -1
      ELSE FLOOR(
        $most * (SUM(n) FILTER (WHERE NOT is_frequent) OVER (ORDER BY place) - n)
        / SUM(n) FILTER (WHERE NOT is_frequent) OVER ()
      )
    END AS slice
  FROM present
)
SELECT
  place,
  number,
  n,
  CASE
    WHEN different <= $most
    THEN ROW_NUMBER() OVER (ORDER BY place)
    ELSE DENSE_RANK() OVER (ORDER BY frequent_before, slice)
  END AS bin
FROM sliced
