/* How far the distribution that a reader can rebuild from a release is from that of the table, in bits: the rows of each
   class are spread evenly over the combinations of values that its labels cover, which are its box. The last statement
   is for parts. */

/* densities: Rows for each combination of values, box by box. A tuple is in a box if its masked keys are those of the box. */
SELECT
  $masks,
  $keys,
  SUM(n / volume) AS density
FROM boxes
GROUP BY
  $masks,
  $keys
;

/* patterns: The different masks of boxes, in the same order every time. */
SELECT DISTINCT
  $masks
FROM densities
ORDER BY
  $masks
;

/* covered: Each tuple with its rows, and with the density of every box over it that has one of these patterns of masks.
   Materialized: else the planner may join every tuple with every box before it compares keys. */
WITH tuples AS (
  SELECT
    $keys,
    CAST(SUM(n) AS BIGINT) AS n
  FROM kanon_frequency
  GROUP BY
    $keys
), pairs AS MATERIALIZED (
  SELECT
    $keys,
    n,
    $masks,
    $masked_keys
  FROM tuples
  CROSS JOIN patterns
)
SELECT
  $keys_of_pairs,
  pairs.n,
  densities.density
FROM pairs
JOIN densities
  ON $is_in_box
;

/* of_tuples: The mean over all rows of log2 (rows of the tuple / density there), and how many rows there are. */
SELECT
  SUM(n * (LN(CAST(n AS DOUBLE) / density) / LN(2.0))) / CAST($rows AS DOUBLE),
  SUM(n)
FROM (
  SELECT
    n,
    SUM(density) AS density
  FROM covered
  GROUP BY
    $keys,
    n
) AS rebuilt
;

/* of_parts: The same where each tuple is in the box of its part alone. */
SELECT
  SUM(counted.n * (LN(CAST(counted.n * boxes.volume / boxes.n AS DOUBLE)) / LN(2.0))) / CAST($rows AS DOUBLE)
FROM (
  SELECT
    part,
    CAST(SUM(n) AS BIGINT) AS n
  FROM tuples
  GROUP BY
    part,
    $places
) AS counted
JOIN boxes
  ON boxes.part = counted.part
;
