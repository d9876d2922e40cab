/* The cuts of a round, both sides with numbers of their own. Where a part has several cuts, each is made in what the one
   before it left outside, which is its link; rest is what the last one leaves. */
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
