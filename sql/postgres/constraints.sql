/* The keys and foreign keys of the tables of a PostgreSQL database, as catalog/constraints has those of DuckDB. */
SELECT
  namespaces.nspname,
  classes.relname,
  CASE constraints.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' ELSE 'FOREIGN KEY' END AS kind,
  ARRAY_AGG(CAST(attributes.attname AS TEXT) ORDER BY ARRAY_POSITION(constraints.conkey, attributes.attnum)) AS columns,
  referred_namespaces.nspname AS referred_schema,
  referred_classes.relname AS referred_table,
  ARRAY_AGG(
    CAST(referred_attributes.attname AS TEXT) ORDER BY ARRAY_POSITION(constraints.conkey, attributes.attnum)
  ) AS referred_columns
FROM pg_catalog.pg_constraint AS constraints
JOIN pg_catalog.pg_class AS classes ON classes.oid = constraints.conrelid
JOIN pg_catalog.pg_namespace AS namespaces ON namespaces.oid = classes.relnamespace
JOIN pg_catalog.pg_attribute AS attributes
  ON attributes.attrelid = constraints.conrelid AND attributes.attnum = ANY(constraints.conkey)
LEFT JOIN pg_catalog.pg_class AS referred_classes ON referred_classes.oid = constraints.confrelid
LEFT JOIN pg_catalog.pg_namespace AS referred_namespaces ON referred_namespaces.oid = referred_classes.relnamespace
LEFT JOIN pg_catalog.pg_attribute AS referred_attributes
  ON referred_attributes.attrelid = constraints.confrelid
  AND ARRAY_POSITION(constraints.confkey, referred_attributes.attnum)
    = ARRAY_POSITION(constraints.conkey, attributes.attnum)
WHERE constraints.contype IN ('p', 'u', 'f')
GROUP BY constraints.oid, constraints.contype, namespaces.nspname, classes.relname, referred_namespaces.nspname,
  referred_classes.relname
ORDER BY namespaces.nspname, classes.relname, constraints.oid
