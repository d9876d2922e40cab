/* Count the small cells of a table of counts, column by column. */
SELECT
  $small
FROM source
