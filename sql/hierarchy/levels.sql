/* The lookup relation of a rule: each value with its labels. Rules about numbers make it an exact number first, with one
   unit less where that was rounded up; intervals have their bounds beside it. A rule leaves out the steps that it does
   not need. */
WITH present AS (
  SELECT value
  FROM lookup
), numbers AS (
  SELECT
    value,
    $number AS number
  FROM present
), floored AS (
  SELECT
    value,
    $floored AS number
  FROM numbers
), lower_bounds AS (
  SELECT
    value,
    number,
    $lower
  FROM floored
), intervals AS (
  SELECT
    *,
    $upper
  FROM lower_bounds
)
SELECT
  value,
  $labels
FROM intervals
