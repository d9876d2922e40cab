/* The frequency set of a node, made from that of a node below it: its keys are masked. */
SELECT
  $masked,
  CAST(SUM(n) AS BIGINT) AS n,
  $counts
FROM kanon_frequency
GROUP BY
  $masked,
  $values
