/* Where each part is cut in half in the column that was chosen for it: rows that have the median go to either side. A cut
   at NULLs parts no equal values. */
WITH counted AS (
  SELECT
    part,
    place,
    n,
    below + SUM(n) OVER (PARTITION BY part ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS up_to
  FROM kanon_histogram
), medians AS (
  SELECT
    chosen.part,
    chosen.column_number,
    chosen.null_place,
    chosen.total,
    MAX(counted.place) FILTER(WHERE 2 * (counted.up_to - counted.n) < chosen.total) AS median,
    MAX(counted.up_to - counted.n) FILTER(WHERE 2 * (counted.up_to - counted.n) < chosen.total) AS below,
    SUM(counted.n) FILTER(WHERE counted.place = chosen.null_place) AS nulls
  FROM counted
  JOIN kanon_chosen AS chosen
    ON chosen.part = counted.part
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
  COALESCE(null_place, median) AS to_place,
  CASE WHEN null_place IS NULL THEN FLOOR(total / 2.0) - below END AS from_median,
  COALESCE(nulls, FLOOR(total / 2.0)) >= $k AND total - COALESCE(nulls, FLOOR(total / 2.0)) >= $k AS allowed
FROM medians
