/* What was appended to releases: one row for each batch. No value of a table is in it. */
CREATE TABLE IF NOT EXISTS kanon.appended (
  made_at TIMESTAMP,
  release_schema TEXT,
  release_name TEXT,
  lock TEXT,
  rows_new BIGINT,
  rows_appended BIGINT,
  rows_waiting BIGINT,
  batch TEXT,
  fingerprint TEXT
)
