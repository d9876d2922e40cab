/* The comment on a table of PostgreSQL. */
SELECT descriptions.description
FROM pg_catalog.pg_description AS descriptions
JOIN pg_catalog.pg_class AS classes ON classes.oid = descriptions.objoid
JOIN pg_catalog.pg_namespace AS namespaces ON namespaces.oid = classes.relnamespace
WHERE namespaces.nspname = $schema
  AND classes.relname = $name
  AND descriptions.objsubid = 0
  AND descriptions.classoid = classes.tableoid
