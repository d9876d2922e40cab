/* Count the rows and the members of classes (rows, or distinct people) with each label of a column.
   $labels are the label of a level and those above it. Only labels that enough members share are shown. */
SELECT
  $labels,
  $rows AS n,
  $members AS members
FROM source
LEFT JOIN hierarchy
  ON $is_value
GROUP BY
  $labels
