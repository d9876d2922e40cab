/* Remember a batch. */
INSERT INTO kanon.appended
SELECT
  CAST($made_at AS TIMESTAMP),
  $release_schema,
  $release_name,
  $lock,
  $rows_new,
  $rows_appended,
  $rows_waiting,
  $batch,
  $fingerprint
