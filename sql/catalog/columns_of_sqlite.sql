/* The columns of a table of an SQLite database, with the types that they were declared with. */
SELECT name, type FROM PRAGMA_TABLE_INFO($table) ORDER BY cid
