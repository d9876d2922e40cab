/* For each part, the bin that its median is in; the one before it, because the last place of a part is never the cut; and
   the rows below both. */
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
    ROW_NUMBER() OVER (PARTITION BY counted.part ORDER BY counted.bin DESC) AS from_above
  FROM counted
  JOIN kanon_chosen AS chosen
    ON chosen.part = counted.part
  WHERE
    2 * (counted.up_to - counted.n) < chosen.total
)
SELECT
  part,
  bin,
  COALESCE(bin_before, bin) AS bin_before,
  CAST(up_to - n - COALESCE(n_before, 0) AS BIGINT) AS below
FROM halves
WHERE
  from_above = 1
