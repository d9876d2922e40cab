/* Forget a release. */
DELETE FROM kanon.releases
WHERE id = $id
