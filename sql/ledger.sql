/* The ledger, kanon.releases: release/ledger/store.py creates, reads and writes it. */

/* entries: The recorded releases, in the order in which they were made. */
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
;

/* schema: The schema of kanon's own tables. */
CREATE SCHEMA IF NOT EXISTS kanon
;

/* create: The ledger: one row for each release of a table of this database. It contains no value of a table. */
CREATE TABLE IF NOT EXISTS kanon.releases (
  id BIGINT,
  made_at TIMESTAMP,
  source_schema TEXT,
  source_name TEXT,
  kind TEXT,
  target_schema TEXT,
  target_name TEXT,
  rows_in BIGINT,
  rows_out BIGINT,
  policy TEXT,
  levels TEXT,
  hierarchies TEXT,
  fingerprint TEXT,
  source_fingerprint TEXT
)
;

/* record: Record a release. */
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
;

/* take_back: Delete a release that was just recorded: another run may have used the same number in the meantime. */
DELETE FROM kanon.releases
WHERE id = $id
  AND made_at = CAST($made_at AS TIMESTAMP)
  AND target_name = $target_name
  AND fingerprint = $fingerprint
;

/* forget: Delete a release. */
DELETE FROM kanon.releases
WHERE id = $id
;

/* targets: The tables and views that are releases, and the table that each was made from. */
SELECT DISTINCT
  source_schema,
  source_name,
  target_schema,
  target_name
FROM kanon.releases
WHERE kind <> 'file'
;
