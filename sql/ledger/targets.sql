/* The tables and views that were made as releases, and the table that each was made from. */
SELECT DISTINCT
  source_schema,
  source_name,
  target_schema,
  target_name
FROM kanon.releases
WHERE kind <> 'file'
