/* The catalog of PostgreSQL, in its own SQL: engine/postgres/warehouse.py runs these there. */

/* relations: Tables and views of a PostgreSQL database, without system ones; whether they are partitions of another
   table of their schema, which includes their rows; and their comments. */
SELECT
  namespaces.nspname,
  classes.relname,
  CASE classes.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END AS kind,
  classes.relispartition AND EXISTS (
    SELECT
    FROM pg_catalog.pg_inherits AS inherits
    JOIN pg_catalog.pg_class AS whole ON whole.oid = inherits.inhparent
    WHERE inherits.inhrelid = classes.oid AND whole.relnamespace = classes.relnamespace
  ) AS is_partition,
  pg_catalog.obj_description(classes.oid, 'pg_class') AS comment
FROM pg_catalog.pg_class AS classes
JOIN pg_catalog.pg_namespace AS namespaces ON namespaces.oid = classes.relnamespace
WHERE classes.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND namespaces.nspname NOT IN ('pg_catalog', 'information_schema')
  AND namespaces.nspname NOT LIKE 'pg\_toast%'
  AND namespaces.nspname NOT LIKE 'pg\_temp%'
ORDER BY namespaces.nspname, classes.relname
;

/* schemas: Schemas of a PostgreSQL database, without system ones. */
SELECT nspname
FROM pg_catalog.pg_namespace
WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\_%'
ORDER BY nspname
;

/* constraints: The keys and foreign keys of the tables of a PostgreSQL database, like catalog/constraints for DuckDB.
   */
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
;

/* columns: Columns of a relation of PostgreSQL: their type and the base type of a domain, the category of the type ('E'
   is an ENUM), its modifier (digits of a NUMERIC), and whether equal texts may be written differently under the
   collation. */
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
;

/* definition: The query of a view of PostgreSQL. */
SELECT pg_catalog.pg_get_viewdef(classes.oid)
FROM pg_catalog.pg_class AS classes
JOIN pg_catalog.pg_namespace AS namespaces ON namespaces.oid = classes.relnamespace
WHERE namespaces.nspname = $schema AND classes.relname = $name AND classes.relkind IN ('v', 'm')
;

/* generated: The generated columns of a table. */
SELECT column_name
FROM information_schema.columns
WHERE table_schema = $schema
  AND table_name = $name
  AND is_generated = 'ALWAYS'
;

/* values: The number of values of columns of a PostgreSQL table, as the last ANALYZE estimated it; one more for NULL.
   */
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
;

/* shadowing: Functions and operators that may be called instead of PostgreSQL's: with the same name, for types of
   PostgreSQL. PostgreSQL prefers the best match for the argument types, in any schema. For equal matches it prefers
   pg_catalog. Functions of extensions are for types of their own. */
WITH called AS (
  SELECT
    functions.oid,
    functions.proname AS name,
    CAST(functions.proargtypes AS TEXT) AS types,
    functions.pronamespace AS place,
    EXISTS(
      SELECT 1
      FROM pg_catalog.pg_type AS types
      JOIN pg_catalog.pg_namespace AS places ON places.oid = types.typnamespace
      WHERE types.oid = ANY(functions.proargtypes) AND places.nspname <> 'pg_catalog'
    ) AS of_own_types
  FROM pg_catalog.pg_proc AS functions
  UNION ALL
  SELECT
    operators.oid,
    operators.oprname,
    pg_catalog.format('%s %s', operators.oprleft, operators.oprright),
    operators.oprnamespace,
    EXISTS(
      SELECT 1
      FROM pg_catalog.pg_type AS types
      JOIN pg_catalog.pg_namespace AS places ON places.oid = types.typnamespace
      WHERE types.oid IN (operators.oprleft, operators.oprright) AND places.nspname <> 'pg_catalog'
    )
  FROM pg_catalog.pg_operator AS operators
)
SELECT DISTINCT own.name
FROM called AS own
JOIN pg_catalog.pg_namespace AS places ON places.oid = own.place
JOIN called AS builtin ON builtin.name = own.name
JOIN pg_catalog.pg_namespace AS system ON system.oid = builtin.place AND system.nspname = 'pg_catalog'
WHERE places.nspname <> 'pg_catalog'
  AND places.nspname = ANY(pg_catalog.current_schemas(FALSE))
  AND NOT own.of_own_types
  AND NOT EXISTS(SELECT 1 FROM pg_catalog.pg_depend AS parts WHERE parts.objid = own.oid AND parts.deptype = 'e')
  AND NOT EXISTS(
    SELECT 1
    FROM called AS same
    JOIN pg_catalog.pg_namespace AS there ON there.oid = same.place AND there.nspname = 'pg_catalog'
    WHERE same.name = own.name AND same.types = own.types
  )
;
