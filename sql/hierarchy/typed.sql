/* The values of a file, $texts, as values of the type of the column: of each its place among them, from 1; its rank in
   the order of the typed values, the same for equal ones, NULL for what cannot be read as the type; and whether it is a
   number or a date, maybe beyond what the type can hold. */
SELECT
  place,
  CASE WHEN NOT typed IS NULL THEN DENSE_RANK() OVER (ORDER BY typed) END AS rank,
  NOT wider IS NULL AS is_of_kind
FROM (
  SELECT
    place,
    $typed AS typed,
    $wider AS wider
  FROM (
    SELECT
      UNNEST(texts) AS "text",
      GENERATE_SUBSCRIPTS(texts, 1) AS place
    FROM (
      SELECT CAST($texts AS TEXT[]) AS texts
    ) AS whole
  ) AS given
) AS values_of_file
