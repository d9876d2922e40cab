/* The rows of the lookup relation of a hierarchy whose values occur in released rows. Of the rows of a person that are
   of one kind, all are released or none: a row is released if a remaining row belongs to its person, and $is_kind. */
SELECT
  lookup.*
FROM lookup
WHERE
  EXISTS(
    SELECT
      1
    FROM rows_with_values
    JOIN rows_of_table
      ON $is_person
    JOIN needed
      ON $is_needed
    WHERE
      $is_kind AND $has_value
  )
