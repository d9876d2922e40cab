/* How many others are alike for certain: those of the group, and where it can be in several classes, those of the smallest
   pair of them. What stands apart may be counted twice where one person has several rows: then the larger number holds. */
WITH first_counts AS (
  SELECT
    found,
    COUNT(*) AS choices
  FROM first_choices
  GROUP BY
    found
), second_counts AS (
  SELECT
    found,
    COUNT(*) AS choices
  FROM second_choices
  GROUP BY
    found
), least AS (
  SELECT
    unsure.first,
    unsure.second,
    COUNT(*) AS choices,
    MIN(sure.size) AS size
  FROM groups AS unsure
  INNER JOIN first_choices
    ON first_choices.found = unsure.first
  INNER JOIN sure
    ON sure.first = first_choices.class
  INNER JOIN second_choices
    ON second_choices.found = unsure.second AND second_choices.class = sure.second
  WHERE
    unsure.first < 0 OR unsure.second < 0
  GROUP BY
    unsure.first,
    unsure.second
)
SELECT
  groups.first,
  groups.second,
  CASE
    WHEN groups.first >= 0 AND groups.second >= 0
    THEN groups.size
    WHEN least.choices IS NULL OR least.choices < first_counts.choices * second_counts.choices
    THEN groups.size
    WHEN $apart
    THEN groups.size + least.size
    ELSE GREATEST(groups.size, least.size)
  END AS size
FROM groups
INNER JOIN first_counts
  ON first_counts.found = groups.first
INNER JOIN second_counts
  ON second_counts.found = groups.second
LEFT JOIN least
  ON least.first = groups.first AND least.second = groups.second
