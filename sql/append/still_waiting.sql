/* The rows of a batch that are not published: their class does not satisfy the models without rows of later batches. */
WITH published AS (
  SELECT
    1 AS kanon_row
)
SELECT
  $columns
FROM batch
WHERE
  NOT kanon_row IN (
    SELECT
      kanon_row
    FROM published
  )
