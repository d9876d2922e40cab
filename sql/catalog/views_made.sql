/* Temporary views, which are dropped by another statement than tables. */
SELECT view_name FROM duckdb_views() WHERE database_name = 'temp'
