/* Count the distinct values of a column of each sort, as unchanged texts (text) or with marks in place of the kinds
   inside (marked). */
SELECT
  $counts
FROM (
  SELECT
    text,
    $marked AS marked
  FROM (
    SELECT DISTINCT
      CAST($value AS VARCHAR) AS text
    FROM source
    WHERE
      NOT $value IS NULL
  ) AS present
) AS texts
