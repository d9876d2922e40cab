-- facts of every place
CREATE TEMPORARY TABLE kanon_ends AS
SELECT
  0 AS nothing,
  (
    SELECT
      ARRAY_AGG(number ORDER BY place)
    FROM kanon_places_age
    WHERE
      place > 0
  ) AS number_of_1,
  (
    SELECT
      ARRAY_AGG(node_1 ORDER BY place)
    FROM kanon_places_zip
    WHERE
      place > 0
  ) AS node_1_of_3,
  (
    SELECT
      ARRAY_AGG(leaves_1 ORDER BY place)
    FROM kanon_places_zip
    WHERE
      place > 0
  ) AS leaves_1_of_3,
  (
    SELECT
      ARRAY_AGG(node_2 ORDER BY place)
    FROM kanon_places_zip
    WHERE
      place > 0
  ) AS node_2_of_3,
  (
    SELECT
      ARRAY_AGG(leaves_2 ORDER BY place)
    FROM kanon_places_zip
    WHERE
      place > 0
  ) AS leaves_2_of_3;

-- the column in which each part spans most
CREATE TEMPORARY TABLE kanon_chosen AS
WITH spans AS (
  SELECT
    part,
    CAST(SUM(n) AS BIGINT) AS total,
    MIN(place_1) AS low_1,
    MAX(place_1) AS high_1,
    MIN(place_2) AS low_2,
    MAX(place_2) AS high_2,
    MIN(place_3) AS low_3,
    MAX(place_3) AS high_3
  FROM kanon_tuples
  GROUP BY
    part
  HAVING
    SUM(n) >= 20
), widths AS (
  SELECT
    spans.part,
    total,
    spans.low_1,
    spans.high_1,
    CASE
      WHEN tried_1 = 2 OR spans.low_1 = spans.high_1
      THEN 0.0
      ELSE CASE
        WHEN LIST_EXTRACT(ends.number_of_1, spans.low_1) IS NULL
        OR LIST_EXTRACT(ends.number_of_1, spans.high_1) IS NULL
        THEN 1.0
        ELSE GREATEST(
          (
            LIST_EXTRACT(ends.number_of_1, spans.high_1) / 2 - LIST_EXTRACT(ends.number_of_1, spans.low_1) / 2
          ) / 38.5,
          1e-12
        )
      END
    END AS width_1,
    spans.low_2,
    spans.high_2,
    CASE WHEN tried_2 = 2 OR spans.low_2 = spans.high_2 THEN 0.0 ELSE 1.0 END AS width_2,
    spans.low_3,
    spans.high_3,
    CASE
      WHEN tried_3 = 2 OR spans.low_3 = spans.high_3
      THEN 0.0
      ELSE CASE
        WHEN LIST_EXTRACT(ends.node_1_of_3, spans.low_3) = LIST_EXTRACT(ends.node_1_of_3, spans.high_3)
        THEN CAST(LIST_EXTRACT(ends.leaves_1_of_3, spans.low_3) AS DOUBLE) / 7.0
        WHEN LIST_EXTRACT(ends.node_2_of_3, spans.low_3) = LIST_EXTRACT(ends.node_2_of_3, spans.high_3)
        THEN CAST(LIST_EXTRACT(ends.leaves_2_of_3, spans.low_3) AS DOUBLE) / 7.0
        ELSE 1.0
      END
    END AS width_3
  FROM spans
  JOIN kanon_tried AS tried
    ON spans.part = tried.part
  CROSS JOIN kanon_ends AS ends
), ranked AS (
  SELECT
    *,
    GREATEST(width_1, width_2, width_3) AS widest
  FROM widths
), chosen AS (
  SELECT
    *,
    CASE
      WHEN width_1 = widest
      THEN 1
      WHEN width_2 = widest
      THEN 2
      WHEN width_3 = widest
      THEN 3
    END AS column_number
  FROM ranked
  WHERE
    widest > 0
)
SELECT
  part,
  total,
  column_number,
  CASE column_number WHEN 1 THEN low_1 WHEN 2 THEN low_2 WHEN 3 THEN low_3 END AS low,
  CASE column_number WHEN 1 THEN high_1 WHEN 2 THEN high_2 WHEN 3 THEN high_3 END AS high,
  CAST(NULL AS INT) AS null_place,
  CAST(NULL AS INT) AS level
FROM chosen;

-- rows of kanon_chosen
SELECT
  COUNT(*)
FROM kanon_chosen;

-- rows of kanon_tried
SELECT
  COUNT(*)
FROM kanon_tried;

-- rows at each place of the chosen column
CREATE TEMPORARY TABLE kanon_histogram AS
SELECT
  tuples.part,
  CASE column_number
    WHEN 1
    THEN tuples.place_1
    WHEN 2
    THEN tuples.place_2
    WHEN 3
    THEN tuples.place_3
  END AS place,
  CAST(SUM(tuples.n) AS BIGINT) AS n,
  CAST(0 AS BIGINT) AS below
FROM kanon_tuples AS tuples
JOIN kanon_chosen AS chosen
  ON chosen.part = tuples.part
GROUP BY
  tuples.part,
  CASE column_number
    WHEN 1
    THEN tuples.place_1
    WHEN 2
    THEN tuples.place_2
    WHEN 3
    THEN tuples.place_3
  END;

-- the median, and the rows on both sides
CREATE TEMPORARY TABLE kanon_round AS
/* Where each part is cut in the column that was chosen for it: at its NULLs, or at its median. Low are the places
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
      THEN MAX(counted.place) FILTER(WHERE
        2 * (
          counted.up_to - counted.n
        ) < chosen.total
        AND counted.up_to < chosen.total)
      ELSE chosen.null_place
    END AS to_place,
    CASE
      WHEN chosen.null_place IS NULL
      THEN MAX(counted.up_to) FILTER(WHERE
        2 * (
          counted.up_to - counted.n
        ) < chosen.total
        AND counted.up_to < chosen.total)
      ELSE SUM(counted.n) FILTER(WHERE
        counted.place = chosen.null_place)
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
  low_rows >= 10 AND total - low_rows >= 10 AS allowed
FROM sides;

-- numbers of the new parts
CREATE TEMPORARY TABLE kanon_sides AS
/* The cuts of a round, both sides with numbers of their own. Where a part has several cuts, each is made in what
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
    CASE WHEN allowed THEN CAST(2 + 2 * (
      number - 1
    ) AS INT) END AS inside,
    CASE WHEN allowed THEN CAST(2 + 2 * (
      number - 1
    ) + 1 AS INT) END AS outside
  FROM numbered
)
SELECT
  *,
  COALESCE(LAG(outside) OVER (PARTITION BY part ORDER BY from_place), part) AS link,
  MAX(outside) OVER (PARTITION BY part) AS rest
FROM sides;

-- rows of kanon_sides
SELECT
  COUNT(*)
FROM kanon_sides;

-- is a transaction open?
SELECT
  TXID_CURRENT();

-- cut in two
CREATE TEMPORARY TABLE kanon_next AS
SELECT
  CASE
    WHEN NOT sides.allowed
    THEN tuples.part
    WHEN CASE column_number
      WHEN 1
      THEN tuples.place_1
      WHEN 2
      THEN tuples.place_2
      WHEN 3
      THEN tuples.place_3
    END BETWEEN sides.from_place AND sides.to_place
    THEN sides.inside
    ELSE sides.outside
  END AS part,
  place_1,
  place_2,
  place_3,
  n
FROM kanon_tuples AS tuples
JOIN kanon_sides AS sides
  ON sides.part = tuples.part;

-- kanon_tuples is what it is now
ALTER TABLE kanon_next
RENAME TO kanon_tuples;

-- cuts that failed
CREATE TEMPORARY TABLE kanon_next AS
SELECT DISTINCT
  kanon_sides.part,
  CASE
    WHEN kanon_sides.column_number = 1
    THEN GREATEST(
      CASE WHEN kanon_sides.at_null THEN CAST(1 AS TINYINT) ELSE CAST(2 AS TINYINT) END,
      kanon_tried.tried_1
    )
    ELSE kanon_tried.tried_1
  END AS tried_1,
  CASE
    WHEN kanon_sides.column_number = 2
    THEN GREATEST(
      CASE WHEN kanon_sides.at_null THEN CAST(1 AS TINYINT) ELSE CAST(2 AS TINYINT) END,
      kanon_tried.tried_2
    )
    ELSE kanon_tried.tried_2
  END AS tried_2,
  CASE
    WHEN kanon_sides.column_number = 3
    THEN GREATEST(
      CASE WHEN kanon_sides.at_null THEN CAST(1 AS TINYINT) ELSE CAST(2 AS TINYINT) END,
      kanon_tried.tried_3
    )
    ELSE kanon_tried.tried_3
  END AS tried_3
FROM kanon_sides
JOIN kanon_tried
  ON kanon_sides.part = kanon_tried.part
WHERE
  NOT kanon_sides.allowed
UNION ALL
SELECT DISTINCT
  inside AS part,
  CAST(0 AS TINYINT) AS tried_1,
  CAST(0 AS TINYINT) AS tried_2,
  CAST(0 AS TINYINT) AS tried_3
FROM kanon_sides
WHERE
  allowed
UNION ALL
SELECT DISTINCT
  rest AS part,
  CAST(0 AS TINYINT) AS tried_1,
  CAST(0 AS TINYINT) AS tried_2,
  CAST(0 AS TINYINT) AS tried_3
FROM kanon_sides
WHERE
  allowed;

-- kanon_tried is what it is now
ALTER TABLE kanon_next
RENAME TO kanon_tried;

-- cuts that were made
INSERT INTO kanon_cuts_made
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
  allowed;

-- numbers in use
SELECT
  COALESCE(MAX(outside), 0)
FROM kanon_sides;
