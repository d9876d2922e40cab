/* Each child of a part's label that has enough rows is a side of its own; the others are one side together. If they are
   too few, the smallest of the large ones joins them. */
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
