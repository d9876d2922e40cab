/* Where each part is cut in the column that was chosen for it: at its NULLs, or at its median. Low are the places from
   from_place to to_place; the low side keeps the median, unless that is the highest place of the part. */
WITH counted AS (
  SELECT
    part,
    place,
    n,
    below + SUM(n) OVER (PARTITION BY part ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS up_to
  FROM kanon_histogram
), sides AS (
  SELECT
    chosen.part,
    chosen.column_number,
    chosen.null_place,
    chosen.total,
    CASE
      WHEN chosen.null_place IS NULL
      THEN MAX(counted.place) FILTER(WHERE 2 * (counted.up_to - counted.n) < chosen.total AND counted.up_to < chosen.total)
      ELSE chosen.null_place
    END AS to_place,
    CASE
      WHEN chosen.null_place IS NULL
      THEN MAX(counted.up_to) FILTER(WHERE 2 * (counted.up_to - counted.n) < chosen.total AND counted.up_to < chosen.total)
      ELSE SUM(counted.n) FILTER(WHERE counted.place = chosen.null_place)
    END AS low_rows
  FROM counted
  JOIN kanon_chosen AS chosen
    ON chosen.part = counted.part
  WHERE
    chosen.level IS NULL OR NOT chosen.null_place IS NULL
  GROUP BY
    chosen.part,
    chosen.column_number,
    chosen.null_place,
    chosen.total
)
SELECT
  part,
  column_number,
  NOT null_place IS NULL AS at_null,
  COALESCE(null_place, 0) AS from_place,
  to_place,
  CAST(NULL AS BIGINT) AS position,
  low_rows >= $k AND total - low_rows >= $k AS allowed
FROM sides
