/* Forget one release that was remembered a moment ago: another run may have taken the same number meanwhile. */
DELETE FROM kanon.releases
WHERE id = $id
  AND made_at = CAST($made_at AS TIMESTAMP)
  AND target_name = $target_name
  AND fingerprint = $fingerprint
