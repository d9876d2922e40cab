/* The releases that are remembered, in the order in which they were made. */
SELECT
  id,
  made_at,
  source_schema,
  source_name,
  kind,
  target_schema,
  target_name,
  rows_in,
  rows_out,
  policy,
  levels,
  hierarchies,
  fingerprint,
  source_fingerprint
FROM kanon.releases
ORDER BY id
