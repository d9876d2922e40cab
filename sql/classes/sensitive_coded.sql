/* The frequency set with codes instead of sensitive values: one join for each sensitive column. */
SELECT
  $others,
  $codes
FROM staged
JOIN shares
  ON $is_value
