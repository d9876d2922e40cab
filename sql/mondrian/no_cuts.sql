/* An empty relation of cuts. */
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
