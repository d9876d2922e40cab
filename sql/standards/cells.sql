/* Of a table of counts: how many of its cells are small, column by column. */
SELECT
  $small
FROM source
