/* Does the column of people of a release tell more of them apart than its original, in all or in one class? */
SELECT
  (SELECT COUNT(DISTINCT person) FROM members) > (SELECT COUNT(DISTINCT person) FROM persons)
  OR EXISTS(
    SELECT
      1
    FROM by_release
    JOIN by_original
      ON by_original.class = by_release.class
    WHERE
      by_release.at_most > by_original.at_most
  ) AS more_people
