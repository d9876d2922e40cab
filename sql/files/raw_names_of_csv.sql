/* The header line of a CSV file as it stands there: DuckDB renames what it cannot tell apart. */
SELECT * FROM read_csv($path, header = false, all_varchar = true, delim = $delimiter, skip = $skip) LIMIT 1
