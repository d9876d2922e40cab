/* The values that labels of a release cover: measures/released_labels.py makes spans of places, and
   risks/attacks/candidates.py matches tuples and classes by them. */

/* wider: How many labels cover more on any level than on those that were read; and on how many levels some label, other
   than one that covers everything, covers less than on those. */
WITH by_level AS (
  SELECT
    readings.label,
    readings.level,
    COUNT(covers.place) AS kept,
    COUNT(*) - COUNT(covers.place) AS added
  FROM readings
  LEFT JOIN covers
    ON covers.label = readings.label AND covers.place = readings.place
  GROUP BY
    readings.label,
    readings.level
), covered AS (
  SELECT
    label,
    COUNT(*) AS places
  FROM covers
  GROUP BY
    label
), everything AS (
  SELECT
    COUNT(DISTINCT place) AS places
  FROM readings
)
SELECT
  COUNT(DISTINCT by_level.label) FILTER (WHERE by_level.added > 0),
  COUNT(*) FILTER (WHERE by_level.kept < covered.places AND covered.places < everything.places)
FROM by_level
INNER JOIN covered
  ON covered.label = by_level.label
CROSS JOIN everything
;

/* spans: The values that each label covers, as spans of places with rows, from one rank to another; adjacent spans of a
   label are merged. found_spans are from place to place, whether these have rows or not. */
WITH counted AS (
  SELECT
    place,
    COUNT(*) FILTER (WHERE n > 0) OVER (ORDER BY place) AS up_to,
    COUNT(*) FILTER (WHERE n > 0) OVER (ORDER BY place) + CASE WHEN n > 0 THEN 0 ELSE 1 END AS from_here
  FROM places
), ranked AS (
  SELECT
    found_spans.label,
    one.from_here AS low,
    other.up_to AS high
  FROM found_spans
  INNER JOIN counted AS one
    ON one.place = found_spans.low
  INNER JOIN counted AS other
    ON other.place = found_spans.high
  WHERE
    one.from_here <= other.up_to
), begun AS (
  SELECT
    label,
    low,
    high,
    CASE
      WHEN low <= 1 + MAX(high) OVER (PARTITION BY label ORDER BY low, high ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
      THEN 0
      ELSE 1
    END AS begins
  FROM ranked
), numbered AS (
  SELECT
    label,
    low,
    high,
    SUM(begins) OVER (PARTITION BY label ORDER BY low, high ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS span
  FROM begun
)
SELECT
  label,
  MIN(low) AS low,
  MAX(high) AS high
FROM numbered
GROUP BY
  label,
  span
;

/* ranks: The places that have rows, numbered in their order. */
SELECT
  place,
  ROW_NUMBER() OVER (ORDER BY place) AS rank
FROM places
WHERE
  n > 0
;

/* most: The largest number of labels of a value: one more from the start of a span, one less after its end. */
SELECT
  MAX(labels)
FROM (
  SELECT
    SUM(SUM(step)) OVER (ORDER BY rank) AS labels
  FROM (
    SELECT
      low AS rank,
      1 AS step
    FROM spans
    UNION ALL
    SELECT
      high + 1,
      -1
    FROM spans
  ) AS steps
  GROUP BY
    rank
) AS counted
;

/* places: The places that labels cover, by their spans. */
SELECT
  covered.label,
  ranks.place
FROM (
  SELECT
    label,
    UNNEST(RANGE(low, high + 1)) AS rank
  FROM spans
) AS covered
INNER JOIN ranks
  ON ranks.rank = covered.rank
;

/* spread: How many pairs of a tuple and a class the labels of a column allow. */
WITH here AS (
  SELECT
    $place AS place,
    COUNT(*) AS n
  FROM looked_up
  GROUP BY
    1
), counted AS (
  SELECT
    ranks.rank,
    COALESCE(here.n, 0) AS n,
    SUM(COALESCE(here.n, 0)) OVER (ORDER BY ranks.rank) AS up_to
  FROM ranks
  LEFT JOIN here
    ON here.place = ranks.place
), there AS (
  SELECT
    $label AS label,
    COUNT(*) AS n
  FROM worded
  GROUP BY
    1
)
SELECT
  CAST(COALESCE(SUM(there.n * (other.up_to - one.up_to + one.n)), 0) AS HUGEINT)
FROM spans
INNER JOIN there
  ON there.label = spans.label
INNER JOIN counted AS one
  ON one.rank = spans.low
INNER JOIN counted AS other
  ON other.rank = spans.high
;

/* mask: The classes of each block that cover each place by the labels of a column, as bits of words: those of a label
   are added at the start of a span and removed after its end. */
WITH of_labels AS (
  SELECT
    $label AS label,
    $block AS block,
    word,
    SUM(bit) AS bits
  FROM worded
  GROUP BY
    1,
    2,
    3
), steps AS (
  SELECT
    of_labels.block,
    of_labels.word,
    spans.low AS rank,
    of_labels.bits
  FROM spans
  INNER JOIN of_labels
    ON of_labels.label = spans.label
  UNION ALL
  SELECT
    of_labels.block,
    of_labels.word,
    spans.high + 1,
    -of_labels.bits
  FROM spans
  INNER JOIN of_labels
    ON of_labels.label = spans.label
), changed AS (
  SELECT
    block,
    word,
    rank,
    SUM(bits) AS bits
  FROM steps
  GROUP BY
    block,
    word,
    rank
), from_each AS (
  SELECT
    block,
    word,
    rank,
    LEAD(rank) OVER (PARTITION BY block, word ORDER BY rank) AS next_rank,
    CAST(SUM(bits) OVER (PARTITION BY block, word ORDER BY rank) AS BIGINT) AS bits
  FROM changed
)
SELECT
  ranks.place,
  covered.block,
  covered.word,
  covered.bits
FROM (
  SELECT
    block,
    word,
    bits,
    UNNEST(RANGE(rank, next_rank)) AS rank
  FROM from_each
  WHERE
    bits <> 0
) AS covered
INNER JOIN ranks
  ON ranks.rank = covered.rank
;
