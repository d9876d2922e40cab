/* The cells of a marginal of three columns: the number of rows of the original in each, and of the release if the
   rows of each label are spread over the values that it covers. Columns are spread one after the other: no step has
   more rows than combinations of labels and bins of three columns. */
WITH by_labels AS (
  SELECT
    $label_1 AS label_1,
    $label_2 AS label_2,
    $label_3 AS label_3,
    SUM(n) AS n
  FROM release_tuples
  GROUP BY
    ALL
), first_spread AS (
  SELECT
    spread_1.bin AS bin_1,
    by_labels.label_2,
    by_labels.label_3,
    SUM(by_labels.n * spread_1.share) AS n
  FROM by_labels
  JOIN spread_1
    ON spread_1.label = by_labels.label_1
  GROUP BY
    spread_1.bin,
    by_labels.label_2,
    by_labels.label_3
), second_spread AS (
  SELECT
    first_spread.bin_1,
    spread_2.bin AS bin_2,
    first_spread.label_3,
    SUM(first_spread.n * spread_2.share) AS n
  FROM first_spread
  JOIN spread_2
    ON spread_2.label = first_spread.label_2
  GROUP BY
    first_spread.bin_1,
    spread_2.bin,
    first_spread.label_3
), released_cells AS (
  SELECT
    second_spread.bin_1,
    second_spread.bin_2,
    spread_3.bin AS bin_3,
    SUM(second_spread.n * spread_3.share) AS n
  FROM second_spread
  JOIN spread_3
    ON spread_3.label = second_spread.label_3
  GROUP BY
    second_spread.bin_1,
    second_spread.bin_2,
    spread_3.bin
), original_cells AS (
  SELECT
    $bin_1 AS bin_1,
    $bin_2 AS bin_2,
    $bin_3 AS bin_3,
    CAST(SUM(n) AS DOUBLE) AS n
  FROM original_tuples
  GROUP BY
    ALL
)
SELECT
  COALESCE(original_cells.bin_1, released_cells.bin_1) AS bin_1,
  COALESCE(original_cells.bin_2, released_cells.bin_2) AS bin_2,
  COALESCE(original_cells.bin_3, released_cells.bin_3) AS bin_3,
  COALESCE(original_cells.n, 0) AS original,
  COALESCE(released_cells.n, 0) AS released
FROM original_cells
FULL JOIN released_cells
  ON released_cells.bin_1 = original_cells.bin_1
  AND released_cells.bin_2 = original_cells.bin_2
  AND released_cells.bin_3 = original_cells.bin_3
