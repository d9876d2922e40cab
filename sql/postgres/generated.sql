/* The generated columns of a table. */
SELECT column_name
FROM information_schema.columns
WHERE table_schema = $schema
  AND table_name = $name
  AND is_generated = 'ALWAYS'
