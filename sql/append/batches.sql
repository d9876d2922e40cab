/* The batches that were appended to a release, in their order. */
SELECT
  lock,
  rows_new,
  batch,
  fingerprint
FROM kanon.appended
WHERE
  release_schema = $release_schema AND release_name = $release_name
ORDER BY
  rowid
