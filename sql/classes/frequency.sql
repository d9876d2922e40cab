/* The frequency set: how many rows of the table have each tuple of codes. The one scan before a release is made.
   $keys are the codes of the columns side by side, and sensitive values; one join to a hierarchy for each column. */
WITH coded AS (
  SELECT
    $coded
  FROM source
  LEFT JOIN hierarchy
    ON $is_value
)
SELECT
  $keys,
  $rows AS n
FROM coded
GROUP BY
  $keys
