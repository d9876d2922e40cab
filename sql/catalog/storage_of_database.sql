/* How the file of the database is written: the version of its format, and the size of its blocks. */
SELECT databases.tags['storage_version'], sizes.block_size
FROM duckdb_databases() AS databases
JOIN pragma_database_size() AS sizes ON sizes.database_name = databases.database_name
WHERE databases.database_name = CURRENT_DATABASE()
