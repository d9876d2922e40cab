/* A full-domain release.
   generalized   every row of the source with its labels: one join for each column between its values and its root
   too_small     suppression: the classes that fail a model. For models of sensitive values, see suppression.sql
   Then the rows of all other classes, in a random order. generalized is read twice, the first time only a few of its
   columns: MATERIALIZED is slower. */
WITH generalized AS NOT MATERIALIZED (
  SELECT
    $generalized
  FROM source
  JOIN hierarchy
    ON $is_value
), too_small AS (
  SELECT
    $labels
  FROM generalized
  GROUP BY
    $labels
  HAVING
    $fails
)
SELECT
  $published
FROM generalized
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM too_small
    WHERE
      $same_class
  )
ORDER BY
  $order
