/* The types with a list of values that somebody made: each is a list of raw values. */
SELECT schema_name, type_name, labels
FROM duckdb_types()
WHERE database_name = CURRENT_DATABASE() AND NOT internal AND labels IS NOT NULL
ORDER BY schema_name, type_name
