/* The generated columns of a table, each as a query that has its expression. */
SELECT FORMAT('SELECT %s AS %I', generation_expression, column_name)
FROM information_schema.columns
WHERE table_schema = $schema
  AND table_name = $name
  AND is_generated = 'ALWAYS'
