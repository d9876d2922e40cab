/* The ledger, kanon.releases: release/ledger/store.py makes, reads and writes it. */

/* entries: The releases that are remembered, in the order in which they were made. */
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

/* schema: Where everything of kanon's own is kept. */
CREATE SCHEMA IF NOT EXISTS kanon
;

/* create: The ledger: one row for each release that was made from a table of this database. No value of a table is in
   it. */
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

/* record: Remember a release. */
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

/* take_back: Forget one release that was remembered a moment ago: another run may have taken the same number
   meanwhile. */
DELETE FROM kanon.releases
WHERE id = $id
  AND made_at = CAST($made_at AS TIMESTAMP)
  AND target_name = $target_name
  AND fingerprint = $fingerprint
;

/* forget: Forget a release. */
DELETE FROM kanon.releases
WHERE id = $id
;

/* targets: The tables and views that were made as releases, and the table that each was made from. */
SELECT DISTINCT
  source_schema,
  source_name,
  target_schema,
  target_name
FROM kanon.releases
WHERE kind <> 'file'
;
