/* The frequency set where members of a class are people of whom nearly all have several tuples: rows of each person in
   each tuple. entity is a number. */
WITH coded AS (
  SELECT
    $coded
  FROM source
  LEFT JOIN hierarchy
    ON $is_value
)
SELECT
  $keys,
  $rows AS n,
  CAST(0 AS BIGINT) AS persons,
  entity
FROM coded
GROUP BY
  $keys,
  entity
