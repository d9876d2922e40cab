/* Linkability: of each side, how many people were looked up, for how many both picks are the same row of the release,
   and for how many two rows drawn from all of it are. */
SELECT
  targets.is_control,
  COUNT(*),
  COUNT(*) FILTER (WHERE first_picked.record = second_picked.record),
  COUNT(*) FILTER (
    WHERE
      MD5_NUMBER_LOWER($seed || ' first ' || CAST(targets.record AS TEXT)) % $rows
      = MD5_NUMBER_LOWER($seed || ' second ' || CAST(targets.record AS TEXT)) % $rows
  )
FROM targets
LEFT JOIN first_picked
  ON first_picked.tuple = targets.record
LEFT JOIN second_picked
  ON second_picked.tuple = targets.record
WHERE
  targets.rank <= $at_most
GROUP BY
  targets.is_control
