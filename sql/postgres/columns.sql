/*
Columns of a relation of PostgreSQL: their type and what is behind a domain, the category of the type ('E' is an ENUM),
its modifier (digits of a NUMERIC), and whether equal texts may be written differently under the collation.
*/
SELECT
  attributes.attname,
  pg_catalog.FORMAT_TYPE(CASE WHEN types.typtype = 'd' THEN types.typbasetype ELSE types.oid END, NULL) AS type_name,
  CAST(COALESCE(bases.typcategory, types.typcategory) AS TEXT) AS category,
  CASE WHEN types.typtype = 'd' THEN types.typtypmod ELSE attributes.atttypmod END AS modifier,
  COALESCE(collations.collisdeterministic, TRUE) AS deterministic
FROM pg_catalog.pg_attribute AS attributes
JOIN pg_catalog.pg_class AS classes ON classes.oid = attributes.attrelid
JOIN pg_catalog.pg_namespace AS namespaces ON namespaces.oid = classes.relnamespace
JOIN pg_catalog.pg_type AS types ON types.oid = attributes.atttypid
LEFT JOIN pg_catalog.pg_type AS bases ON bases.oid = types.typbasetype
LEFT JOIN pg_catalog.pg_collation AS collations ON collations.oid = attributes.attcollation
WHERE (namespaces.nspname = $schema OR ($schema = 'pg_temp' AND namespaces.oid = pg_catalog.PG_MY_TEMP_SCHEMA()))
  AND classes.relname = $name
  AND attributes.attnum > 0
  AND NOT attributes.attisdropped
ORDER BY attributes.attnum
