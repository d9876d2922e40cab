/* How DuckDB profiles the statements of this connection; NULL if it does not. A profile shows the values that are bound. */
SELECT CURRENT_SETTING('enable_profiling')
