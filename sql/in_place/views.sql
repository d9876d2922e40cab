/* All views of the database, with what they are defined as, their comment, and those of their columns. */
SELECT
  views.schema_name,
  views.view_name,
  views.sql,
  views.comment,
  (
    SELECT LIST({'name': columns.column_name, 'comment': columns.comment} ORDER BY columns.column_index)
    FROM duckdb_columns() AS columns
    WHERE columns.database_name = views.database_name
      AND columns.schema_name = views.schema_name
      AND columns.table_name = views.view_name
      AND columns.comment IS NOT NULL
  ) AS comments
FROM duckdb_views() AS views
WHERE views.database_name = CURRENT_DATABASE() AND NOT views.internal AND NOT views.temporary
ORDER BY views.schema_name, views.view_name
