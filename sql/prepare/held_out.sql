/* The rows of a table in their order, each with the place of its person in a drawn order that values and seed alone
   decide. A person is a key; of those that the column of people takes for equal, however they are written, one is the
   key of all. Rows without a key, and rows of which each is one, are told apart by how many equal ones came before. */
WITH keyed AS (
  SELECT
    $columns,
    ROW_NUMBER() OVER () AS kanon_position,
    CASE WHEN $of_people THEN ARG_MIN($key, MD5($key)) OVER (PARTITION BY $person) ELSE $key END AS kanon_key
  FROM original
), copied AS (
  SELECT
    $columns,
    kanon_position,
    CASE
      WHEN $of_people AND NOT kanon_key IS NULL
      THEN kanon_key
      ELSE COALESCE(kanon_key, '') || ' ' || CAST(
        ROW_NUMBER() OVER (PARTITION BY COALESCE(kanon_key, '') ORDER BY kanon_position) AS TEXT
      )
    END AS kanon_key
  FROM keyed
)
SELECT
  $columns,
  DENSE_RANK() OVER (ORDER BY MD5($seed || ' ' || kanon_key), kanon_key) AS kanon_place
FROM copied
ORDER BY
  kanon_position
