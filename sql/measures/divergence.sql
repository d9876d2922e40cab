/* The divergence, in bits, of the distribution that a reader can rebuild from a release from that of the table. The
   rows of each class are spread evenly over its box: the combinations of values that its labels cover. The last
   statement is for parts. */

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

/* patterns: The distinct masks of boxes, always in the same order. */
SELECT DISTINCT
  $masks
FROM densities
ORDER BY
  $masks
;

/* covered: Each tuple with its rows, and with the density of every box over it that has one of these patterns of
   masks. Materialized: otherwise the planner may join every tuple with every box before it compares keys. */
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

/* of_parts: The same if each tuple is only in the box of its part. */
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
