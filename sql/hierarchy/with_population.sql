/* The values of a table and of the population that it is a part of. */
SELECT
  $source
FROM source
UNION ALL
SELECT
  $population
FROM population
