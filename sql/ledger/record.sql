/* Remember a release. */
INSERT INTO kanon.releases
SELECT
  $id,
  CAST($made_at AS TIMESTAMP),
  $source_schema,
  $source_name,
  $kind,
  $target_schema,
  $target_name,
  $rows_in,
  $rows_out,
  $policy,
  $levels,
  $hierarchies,
  $fingerprint,
  $source_fingerprint
