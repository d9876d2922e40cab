/* How many bytes of a database file are in use. */
SELECT block_size * used_blocks FROM pragma_database_size() WHERE database_name = CURRENT_DATABASE()
