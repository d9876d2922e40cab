/* kanon apply: the rows of a batch, and kanon.appended, the record of appended batches in release/append/store.py. */

/* batch: The rows that may be published now: new ones, and those that wait for others of their class; each with a
   number. */
WITH together AS (
  SELECT
    1 AS n
)
SELECT
  $columns,
  ROW_NUMBER() OVER () AS kanon_row
FROM together
;

/* insert: Insert the rows of a batch that satisfy the models by themselves into the release. */
INSERT INTO release BY NAME
SELECT
  $columns
FROM batch
;

/* still_waiting: The rows of a batch that are not published: their class does not satisfy the models without rows of
   later batches. */
WITH published AS (
  SELECT
    1 AS kanon_row
)
SELECT
  $columns
FROM batch
WHERE
  NOT kanon_row IN (
    SELECT
      kanon_row
    FROM published
  )
;

/* batches: The batches that were appended to a release, in order. */
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
;

/* forget: Delete the batches of a release that was replaced. */
DELETE FROM kanon.appended
WHERE
  release_schema = $release_schema AND release_name = $release_name
;

/* create: The batches appended to releases, one row each. It contains no value of a table. */
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
;

/* record: Record a batch. */
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
;
