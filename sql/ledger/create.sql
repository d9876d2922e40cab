/* The ledger: one row for each release that was made from a table of this database. No value of a table is in it. */
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
