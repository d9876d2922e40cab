/* A time zone by its name as DuckDB writes it, that of the session, and whether both are the same one. Names of one zone
   have one abbreviation. No row: there is no such zone. */
WITH own AS (
  SELECT CURRENT_SETTING('TimeZone') AS name
)
SELECT
  zones.name,
  own.name AS of_session,
  zones.name = own.name OR EXISTS (
    SELECT 1
    FROM pg_timezone_names() AS others
    WHERE others.name = own.name AND others.abbrev = zones.abbrev
  ) AS is_same
FROM pg_timezone_names() AS zones
CROSS JOIN own
WHERE LOWER(zones.name) = LOWER($zone)
