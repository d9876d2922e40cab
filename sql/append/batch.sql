/* The rows that may be published now: new ones, and those that wait for others of their class; each with a number. */
WITH together AS (
  SELECT
    1 AS n
)
SELECT
  $columns,
  ROW_NUMBER() OVER () AS kanon_row
FROM together
