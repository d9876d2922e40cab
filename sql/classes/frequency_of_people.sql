/* The frequency set if members of a class are people.
   pairs    rows of each person in each tuple: the one grouping of the source
   movers   people whose rows have several tuples, numbered: no identifier leaves this statement
   Then all others, counted in their tuple (a row without a person counts for no one), and the movers with a row for
   each of their tuples. */
WITH coded AS (
  SELECT
    $coded
  FROM source
  LEFT JOIN hierarchy
    ON $is_value
), pairs AS (
  SELECT
    $keys,
    entity,
    $rows AS n
  FROM coded
  GROUP BY
    $keys,
    entity
), movers AS (
  SELECT
    entity,
    ROW_NUMBER() OVER (ORDER BY entity NULLS FIRST) AS number
  FROM pairs
  WHERE
    NOT entity IS NULL
  GROUP BY
    entity
  HAVING
    COUNT(*) > 1
)
SELECT
  $keys,
  CAST(SUM(n) AS BIGINT) AS n,
  COUNT(entity) AS persons,
  CAST(NULL AS BIGINT) AS entity
FROM pairs
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM movers
    WHERE
      movers.entity = pairs.entity
  )
GROUP BY
  $keys
UNION ALL
SELECT
  $keys,
  n,
  0 AS persons,
  number AS entity
FROM pairs
JOIN movers
  ON pairs.entity = movers.entity
