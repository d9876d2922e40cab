/* Functions and operators that may be called in place of those of PostgreSQL: by the same name, for types of PostgreSQL.

PostgreSQL prefers what fits the types of the arguments best, whatever schema it is in. What fits equally well is that of
pg_catalog, and what an extension brings is for types of its own.
*/
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
