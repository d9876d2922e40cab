/* Tables and views of a PostgreSQL database, but for those of the system; and which are partitions of another table. */
SELECT
  namespaces.nspname,
  classes.relname,
  CASE classes.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END AS kind,
  classes.relispartition AS is_partition
FROM pg_catalog.pg_class AS classes
JOIN pg_catalog.pg_namespace AS namespaces ON namespaces.oid = classes.relnamespace
WHERE classes.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND namespaces.nspname NOT IN ('pg_catalog', 'information_schema')
  AND namespaces.nspname NOT LIKE 'pg\_toast%'
  AND namespaces.nspname NOT LIKE 'pg\_temp%'
ORDER BY namespaces.nspname, classes.relname
