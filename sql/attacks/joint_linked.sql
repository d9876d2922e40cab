/* How many rows have one value left, or fewer than $least, in a column that one release has alone, when its rows are joined
   with those of the other release; of those whose class alone leaves more. */
WITH both_classes AS (
  SELECT
    first,
    second,
    SUM(n) AS n
  FROM alike
  WHERE
    first <> 0 AND second <> 0
  GROUP BY
    first,
    second
), of_class AS (
  SELECT
    class,
    COUNT(DISTINCT value) AS different
  FROM valued
  GROUP BY
    class
), joined AS (
  SELECT DISTINCT
    valued.class AS own_class,
    linked.class AS other_class,
    valued.value
  FROM valued
  JOIN linked
    ON linked.link = valued.link
), left_over AS (
  SELECT
    both_classes.first,
    both_classes.second,
    MIN(both_classes.n) AS n,
    COUNT(DISTINCT joined.value) AS different,
    MIN(of_class.different) AS different_alone
  FROM both_classes
  JOIN first_choices
    ON first_choices.found = both_classes.first
  JOIN second_choices
    ON second_choices.found = both_classes.second
  JOIN joined
    ON joined.own_class = $own_class AND joined.other_class = $other_class
  JOIN of_class
    ON of_class.class = joined.own_class
  GROUP BY
    both_classes.first,
    both_classes.second
)
SELECT
  COALESCE(SUM(n) FILTER (WHERE different = 1 AND different_alone > 1), 0) AS certain,
  COALESCE(SUM(n) FILTER (WHERE different > 1 AND different < $least AND different_alone >= $least), 0) AS few
FROM left_over
