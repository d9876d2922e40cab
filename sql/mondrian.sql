/* Mondrian by tables: the statements of a round. search/mondrian/parts.py numbers the parts. */

/* no_cuts: An empty relation of cuts. */
SELECT
  CAST(0 AS INTEGER) AS part,
  CAST(0 AS INTEGER) AS column_number,
  CAST(0 AS INTEGER) AS from_place,
  CAST(0 AS INTEGER) AS to_place,
  CAST(0 AS BIGINT) AS position,
  CAST(0 AS INTEGER) AS inside,
  CAST(0 AS INTEGER) AS outside
WHERE
  FALSE
;

/* histogram: The rows of each part at each place of its chosen column. */
SELECT
  tuples.part,
  $place AS place,
  CAST(SUM(tuples.n) AS BIGINT) AS n,
  CAST(0 AS BIGINT) AS below
FROM kanon_tuples AS tuples
JOIN kanon_chosen AS chosen
  ON chosen.part = tuples.part
GROUP BY
  tuples.part,
  $place
;

/* binned: The rows of each part that is cut at its median, by bin: one of several equal ranges of its places. */
SELECT
  tuples.part,
  CAST(FLOOR(($place - chosen.low) * $bins / CAST(chosen.high - chosen.low + 1 AS DOUBLE)) AS INTEGER) AS bin,
  CAST(SUM(tuples.n) AS BIGINT) AS n
FROM kanon_tuples AS tuples
JOIN kanon_chosen AS chosen
  ON chosen.part = tuples.part
WHERE
  chosen.null_place IS NULL
GROUP BY
  tuples.part,
  bin
;

/* bins: For each part, the places of the bin with its median, and of the bin before, because the last place of a part
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
;

/* binned_histogram: The rows at each place of the bins with the median; for parts that are cut at their NULLs, the rows
   of the NULLs. */
SELECT
  tuples.part,
  $place AS place,
  CAST(SUM(tuples.n) AS BIGINT) AS n,
  bins.below
FROM kanon_tuples AS tuples
JOIN kanon_bins AS bins
  ON bins.part = tuples.part
WHERE
  $place BETWEEN bins.from_place AND bins.to_place
GROUP BY
  tuples.part,
  $place,
  bins.below
UNION ALL
SELECT
  tuples.part,
  $place AS place,
  CAST(SUM(tuples.n) AS BIGINT) AS n,
  CAST(0 AS BIGINT) AS below
FROM kanon_tuples AS tuples
JOIN kanon_chosen AS chosen
  ON chosen.part = tuples.part
WHERE
  $place = chosen.null_place
GROUP BY
  tuples.part,
  $place
;

/* cuts: Where each part is cut in the column that was chosen for it: at its NULLs, or at its median. Low are the places
   from from_place to to_place; the low side keeps the median, unless that is the highest place of the part. */
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
;

/* halves: Where each part is cut in half in its chosen column: rows equal to the median can go to either side, those up
   to position inside. A cut at NULLs separates no equal values. */
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
), halves AS (
  SELECT
    part,
    column_number,
    NOT null_place IS NULL AS at_null,
    COALESCE(null_place, 0) AS from_place,
    COALESCE(null_place, median) AS to_place,
    CASE WHEN null_place IS NULL THEN FLOOR(total / 2.0) - below END AS from_median,
    COALESCE(nulls, FLOOR(total / 2.0)) >= $k AND total - COALESCE(nulls, FLOOR(total / 2.0)) >= $k AS allowed
  FROM medians
), equal AS (
  SELECT
    halves.part,
    halves.from_median,
    tuples.start,
    tuples.n,
    SUM(tuples.n) OVER (PARTITION BY halves.part ORDER BY tuples.start ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS up_to
  FROM kanon_tuples AS tuples
  JOIN halves
    ON halves.part = tuples.part
  WHERE
    $place = halves.to_place AND NOT halves.from_median IS NULL
), full_half AS (
  SELECT
    part,
    CAST(start + from_median - (up_to - n) AS BIGINT) AS position
  FROM equal
  WHERE
    up_to - n < from_median AND from_median <= up_to
)
SELECT
  halves.part,
  halves.column_number,
  halves.at_null,
  halves.from_place,
  halves.to_place,
  halves.allowed,
  CASE WHEN NOT halves.from_median IS NULL THEN COALESCE(full_half.position, 0) END AS position
FROM halves
LEFT JOIN full_half
  ON full_half.part = halves.part
;

/* children: Each child of a part's label that has enough rows is a separate side; the others form one side together. If
   that is too small, the smallest of the large ones joins it. */
WITH ranked AS (
  SELECT
    *,
    SUM(CASE WHEN n < $k THEN n ELSE 0 END) OVER (PARTITION BY part) AS small,
    ROW_NUMBER() OVER (PARTITION BY part ORDER BY n < $k, n, from_place) AS rank
  FROM kanon_children
), owned AS (
  SELECT
    *,
    n >= $k AND NOT (rank = 1 AND small BETWEEN 1 AND $k - 1) AS own
  FROM ranked
), counted AS (
  SELECT
    *,
    SUM(CASE WHEN own THEN 1 ELSE 0 END) OVER (PARTITION BY part) AS owns,
    SUM(CASE WHEN own THEN 0 ELSE 1 END) OVER (PARTITION BY part) AS others,
    ROW_NUMBER() OVER (PARTITION BY part ORDER BY NOT own, from_place) AS place_in_order
  FROM owned
)
SELECT
  part,
  column_number,
  FALSE AS at_null,
  from_place,
  to_place,
  CAST(NULL AS BIGINT) AS position,
  owns > 1 OR (owns = 1 AND others > 0) AS allowed
FROM counted
WHERE
  CASE
    WHEN owns > 1 OR (owns = 1 AND others > 0)
    THEN own AND (others > 0 OR place_in_order < owns)
    ELSE place_in_order = 1
  END
;

/* fills: How the sensitive values of a part could be distributed so that one of its sides fails a model. For each side
   and each of the $wanted most frequent values of the part (the lead), the side is filled with the lead first, then
   with the other values, most frequent first. there is the number of rows of the part with a value, n the number that
   the side gets. */
WITH of_parts AS (
  SELECT
    part,
    value,
    SUM(n) AS n
  FROM kanon_values
  GROUP BY
    part,
    value
), ranked AS (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY part ORDER BY n DESC, value) AS rank
  FROM of_parts
), sizes AS (
  SELECT
    part,
    side,
    SUM(n) AS size
  FROM kanon_values
  GROUP BY
    part,
    side
), led AS (
  SELECT
    sizes.part,
    sizes.side,
    leads.rank AS lead,
    ranked.value,
    ranked.n,
    sizes.size,
    SUM(ranked.n) OVER (
      PARTITION BY sizes.part, sizes.side, leads.rank
      ORDER BY CASE WHEN ranked.rank = leads.rank THEN 0 ELSE ranked.rank END
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS up_to
  FROM sizes
  JOIN ranked
    ON ranked.part = sizes.part
  JOIN ranked AS leads
    ON leads.part = sizes.part
  WHERE
    leads.rank <= $wanted
)
SELECT
  part,
  side,
  lead,
  value,
  CAST(n AS BIGINT) AS there,
  CAST(LEAST(n, GREATEST(0, size - (up_to - n))) AS BIGINT) AS n
FROM led
;

/* possible: For each part, whether one of its sides could fail a model, and whether each of its people could then have
   at least $wanted values: by the leads with which their own side fails, or by the values that a failing other side
   leaves to theirs. */
WITH left_over AS (
  SELECT
    part,
    side,
    lead,
    COUNT(*) FILTER(WHERE there > n) AS others
  FROM kanon_fills
  GROUP BY
    part,
    side,
    lead
), sides AS (
  SELECT
    judged.part,
    judged.side,
    COUNT(*) FILTER(WHERE judged.fails) AS own,
    COALESCE(MAX(left_over.others) FILTER(WHERE judged.fails), 0) AS others
  FROM kanon_judged AS judged
  JOIN left_over
    ON left_over.part = judged.part
    AND left_over.side = judged.side
    AND left_over.lead = judged.lead
  GROUP BY
    judged.part,
    judged.side
), people AS (
  SELECT
    sides.part,
    sides.own,
    GREATEST(sides.own, COALESCE(MAX(other.others), 0)) AS possible
  FROM sides
  LEFT JOIN sides AS other
    ON other.part = sides.part
    AND other.side <> sides.side
  GROUP BY
    sides.part,
    sides.side,
    sides.own
)
SELECT
  part,
  MAX(own) > 0 AS can_fail,
  MIN(possible) >= $wanted AS open
FROM people
GROUP BY
  part
;

/* sides: The cuts of a round, both sides with numbers of their own. Where a part has several cuts, each is made in what
   the one before it left outside, which is its link; rest is what the last one leaves. */
WITH numbered AS (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY allowed ORDER BY part, from_place) AS number
  FROM kanon_round
), sides AS (
  SELECT
    part,
    column_number,
    at_null,
    from_place,
    to_place,
    position,
    allowed,
    CASE WHEN allowed THEN CAST($next + 2 * (number - 1) AS INTEGER) END AS inside,
    CASE WHEN allowed THEN CAST($next + 2 * (number - 1) + 1 AS INTEGER) END AS outside
  FROM numbered
)
SELECT
  *,
  COALESCE(LAG(outside) OVER (PARTITION BY part ORDER BY from_place), part) AS link,
  MAX(outside) OVER (PARTITION BY part) AS rest
FROM sides
;

/* cut: The tuples after each part was cut in two. */
SELECT
  CASE
    WHEN NOT sides.allowed
    THEN tuples.part
    WHEN $place BETWEEN sides.from_place AND sides.to_place
    THEN sides.inside
    ELSE sides.outside
  END AS part,
  $columns
FROM kanon_tuples AS tuples
JOIN kanon_sides AS sides
  ON sides.part = tuples.part
;

/* halved: The tuples after a cut in halves: one at the median may be in both, with some of its rows in each. */
WITH sided AS (
  SELECT
    tuples.part,
    $places,
    tuples.n,
    tuples.start,
    tuples.start + tuples.n AS until,
    sides.allowed,
    sides.inside,
    sides.outside,
    sides.position,
    $place BETWEEN sides.from_place AND sides.to_place AS is_inside,
    NOT sides.position IS NULL AND $place = sides.to_place AS at_median
  FROM kanon_tuples AS tuples
  JOIN kanon_sides AS sides
    ON sides.part = tuples.part
)
SELECT
  part,
  $places,
  n,
  start
FROM sided
WHERE
  NOT allowed
UNION ALL
SELECT
  inside AS part,
  $places,
  CASE WHEN at_median THEN LEAST(until, position) ELSE until END - start AS n,
  start
FROM sided
WHERE
  allowed AND is_inside AND (NOT at_median OR start < position)
UNION ALL
SELECT
  outside AS part,
  $places,
  until - CASE WHEN at_median THEN GREATEST(start, position) ELSE start END AS n,
  CASE WHEN at_median THEN GREATEST(start, position) ELSE start END AS start
FROM sided
WHERE
  allowed AND (NOT is_inside OR (at_median AND until > position))
;

/* parted: The tuples after cuts at nodes. A part may have several cuts; tuples in none of them are its rest. */
WITH rests AS (
  SELECT DISTINCT
    part,
    allowed,
    rest
  FROM kanon_sides
)
SELECT
  CASE WHEN NOT rests.allowed THEN tuples.part ELSE COALESCE(sides.inside, rests.rest) END AS part,
  $columns
FROM kanon_tuples AS tuples
JOIN rests
  ON rests.part = tuples.part
LEFT JOIN kanon_sides AS sides
  ON sides.allowed AND sides.part = tuples.part AND $place BETWEEN sides.from_place AND sides.to_place
;

/* cuts_made: The cuts made in a round. */
SELECT
  link AS part,
  column_number,
  from_place,
  to_place,
  position,
  inside,
  outside
FROM kanon_sides
WHERE
  allowed
;
