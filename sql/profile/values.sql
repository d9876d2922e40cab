/* The figures of the distinct values of a column, as text without spaces around it, and of their rows. */
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
