/* Who is in no class that is too small, by none of several subsets of the quasi-identifiers. There is a GROUP BY for
   each subset, whose columns are $values; a class of fewer than $k members is too small. */
WITH found AS (
  SELECT
    position
  FROM left_over
  JOIN (
    SELECT
      $values
    FROM coded
    GROUP BY
      $values
    HAVING
      CAST(SUM(n) AS BIGINT) < $k
  ) AS classes
    USING (value_0)
)
SELECT
  *
FROM left_over
WHERE
  NOT position IN (
    SELECT
      position
    FROM found
  )
