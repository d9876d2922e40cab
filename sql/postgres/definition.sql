/* The query of a view of PostgreSQL. */
SELECT pg_catalog.pg_get_viewdef(classes.oid)
FROM pg_catalog.pg_class AS classes
JOIN pg_catalog.pg_namespace AS namespaces ON namespaces.oid = classes.relnamespace
WHERE namespaces.nspname = $schema AND classes.relname = $name AND classes.relkind IN ('v', 'm')
