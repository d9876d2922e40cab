/* Queries that the workbench runs on a table in a warehouse: engine/warehouse/warehouse.py. */

/* rows: Some columns of each row. */
SELECT $values
FROM source
;

/* tuples: The distinct tuples of some columns with their counts: one scan and one grouping. */
SELECT
  $values,
  COUNT(*) AS kanon_n
FROM source
GROUP BY $values
;

/* people: The same, with a number instead of each person's name. NULL has none. */
SELECT
  $others,
  tuples.kanon_n,
  CASE WHEN NOT tuples.person IS NULL THEN DENSE_RANK() OVER (ORDER BY tuples.person NULLS LAST) END AS person
FROM tuples
;

/* values: The values of each column alone with their counts, in one scan. A row has a value of one column, and NULL in
   all others. */
SELECT
  $values,
  COUNT(*) AS kanon_n
FROM source
GROUP BY GROUPING SETS ($each)
;
