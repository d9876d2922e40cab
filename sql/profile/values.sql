/* Figures of the distinct values of a column, as text without outer spaces, and of their rows. */
SELECT
  $aggregates
FROM (
  SELECT
    TRIM(CAST(value AS TEXT)) AS "text",
    n
  FROM (
    SELECT
      $value AS value,
      COUNT(*) AS n
    FROM source
    GROUP BY $value
  ) AS present
) AS texts
