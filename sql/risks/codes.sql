/* The combinations of quasi-identifiers with small numbers in the place of values, which group faster than texts.
   $codes are the numbers; NULL has one like any other value. There is a step and a join for each column. */
WITH own_values AS (
  SELECT
    $value AS original,
    CAST(ROW_NUMBER() OVER () AS INTEGER) AS code
  FROM tuples
  GROUP BY
    $value
)
SELECT
  $codes,
  tuples.n AS n
FROM tuples
LEFT JOIN own_values
  ON $is_value
