/* The rows of a batch that satisfy the models by themselves become rows of the release. */
INSERT INTO release BY NAME
SELECT
  $columns
FROM batch
