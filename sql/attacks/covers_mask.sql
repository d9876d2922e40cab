/* The classes of each block that cover each place by the labels of a column, as bits of words: those of a label are added
   where a span begins and taken away after its end. */
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
