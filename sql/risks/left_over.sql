/* Who is in no class that is too small, by none of several subsets of the quasi-identifiers. There is a GROUP BY for
   each subset, whose columns are $values; a class has $k members, or is too small. */
WITH found AS (
  SELECT
    left_over.position
  FROM left_over
  JOIN (
    SELECT
      $values
    FROM (
      SELECT
        CAST(SUM(n) AS BIGINT) AS members,
        $values
      FROM coded
      GROUP BY
        $values
    ) AS sizes
    WHERE
      members < $k
  ) AS classes
    ON $same_class
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
