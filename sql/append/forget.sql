/* Forget what was appended to a release that was replaced. */
DELETE FROM kanon.appended
WHERE
  release_schema = $release_schema AND release_name = $release_name
