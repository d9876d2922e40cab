/* The tables and views of a database, except the ledger, each with TRUE if kanon demo made it. */
SELECT name, COALESCE(comment = $mark, FALSE) AS made_by_demo
FROM (
  SELECT database_name, schema_name, table_name AS name, comment FROM duckdb_tables()
  WHERE NOT internal AND NOT (schema_name = 'kanon' AND table_name = 'releases')
  UNION ALL
  SELECT database_name, schema_name, view_name AS name, comment FROM duckdb_views() WHERE NOT internal
) AS relations
WHERE database_name = current_database()
ORDER BY schema_name, name
