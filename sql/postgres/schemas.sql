/* Schemas of a PostgreSQL database, but for those of the system. */
SELECT nspname
FROM pg_catalog.pg_namespace
WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\_%'
ORDER BY nspname
