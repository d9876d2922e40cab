/* How many values columns of a table of PostgreSQL have, as the last ANALYZE estimated it; one more for NULL. */
SELECT
  known.attname AS name,
  CAST(CEIL(MAX(
    CASE WHEN known.n_distinct < 0 THEN -known.n_distinct * classes.reltuples ELSE known.n_distinct END
  )) AS BIGINT) + 1 AS n
FROM pg_catalog.pg_stats AS known
JOIN pg_catalog.pg_namespace AS namespaces ON namespaces.nspname = known.schemaname
JOIN pg_catalog.pg_class AS classes ON classes.relnamespace = namespaces.oid AND classes.relname = known.tablename
WHERE known.schemaname = $schema
  AND known.tablename = $name
  AND known.n_distinct <> 0
  AND classes.reltuples >= 0
GROUP BY known.attname
