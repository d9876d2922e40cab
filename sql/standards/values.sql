/* Of the different values of a column as texts: how many are of each sort, as they are (text) or with marks for what is
   in them (marked). */
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
