/* For each part, the places of the bin that its median is in, and of the one before it, because the last place of a part
   is never the cut; and the rows below both. */
WITH counted AS (
  SELECT
    part,
    bin,
    n,
    SUM(n) OVER (PARTITION BY part ORDER BY bin ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS up_to,
    LAG(bin) OVER (PARTITION BY part ORDER BY bin) AS bin_before,
    LAG(n) OVER (PARTITION BY part ORDER BY bin) AS n_before
  FROM kanon_binned
), halves AS (
  SELECT
    counted.*,
    chosen.column_number,
    chosen.low,
    chosen.high - chosen.low + 1 AS width,
    ROW_NUMBER() OVER (PARTITION BY counted.part ORDER BY counted.bin DESC) AS from_above
  FROM counted
  JOIN kanon_chosen AS chosen
    ON chosen.part = counted.part
  WHERE
    2 * (counted.up_to - counted.n) < chosen.total
)
SELECT
  part,
  column_number,
  low + CAST(CEIL(COALESCE(bin_before, bin) * width / CAST($bins AS DOUBLE)) AS INTEGER) AS from_place,
  low + CAST(CEIL((bin + 1) * width / CAST($bins AS DOUBLE)) AS INTEGER) - 1 AS to_place,
  CAST(up_to - n - COALESCE(n_before, 0) AS BIGINT) AS below
FROM halves
WHERE
  from_above = 1
