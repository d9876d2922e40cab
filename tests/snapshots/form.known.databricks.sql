-- 1. The classes that have k by some of the columns, in the rows of today: run it on these rows only
CREATE TABLE `kanon_kept` AS
SELECT
  CAST(`lines`.`age` AS STRING) AS `age`,
  CAST(`lines`.`sex` AS STRING) AS `sex`,
  CAST(`lines`.`zip` AS STRING) AS `zip`
FROM VALUES
  ('*', 'F', '10000'),
  ('*', 'F', '10022'),
  ('*', 'F', '10041'),
  ('*', 'M', '10011'),
  ('*', 'M', '10030'),
  ('*', 'M', '10052') AS `lines`(`age`, `sex`, `zip`);

-- 2. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE `released` AS
WITH `generalized` AS (
  SELECT
    '*' AS `age`,
    `source`.`sex`,
    `source`.`zip`,
    `source`.`disease`
  FROM `patients` AS `source`
), `too_small` AS (
  SELECT DISTINCT
    `age`,
    `sex`,
    `zip`
  FROM `generalized`
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM `kanon_kept` AS `kept`
      WHERE
        `kept`.`age` IS NOT DISTINCT FROM `generalized`.`age`
        AND `kept`.`sex` IS NOT DISTINCT FROM `generalized`.`sex`
        AND `kept`.`zip` IS NOT DISTINCT FROM `generalized`.`zip`
    )
)
SELECT
  `generalized`.`age`,
  `generalized`.`sex`,
  `generalized`.`zip`,
  `generalized`.`disease`
FROM `generalized`
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM `too_small`
    WHERE
      `too_small`.`age` IS NOT DISTINCT FROM `generalized`.`age`
      AND `too_small`.`sex` IS NOT DISTINCT FROM `generalized`.`sex`
      AND `too_small`.`zip` IS NOT DISTINCT FROM `generalized`.`zip`
  )
ORDER BY
  XXHASH64(
    `generalized`.`age`,
    `generalized`.`sex`,
    `generalized`.`zip`,
    `generalized`.`disease`,
    1
  );

-- 3. Check the release on its own rows
WITH `classes` AS (
  SELECT
    COUNT(*) AS `n`
  FROM `released`
  GROUP BY
    `age`,
    `sex`,
    `zip`
)
SELECT
  COUNT(*) AS `classes`,
  SUM(`n`) AS `rows_in_classes`,
  MIN(`n`) AS `smallest_class`
FROM `classes`;

SELECT
  'age' AS `column_name`,
  COUNT(*) AS `foreign_labels`
FROM (
  SELECT DISTINCT
    `age` AS `label`
  FROM `released`
) AS `published`
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        '*' AS `label`
    ) AS `known`
    WHERE
      `known`.`label` IS NOT DISTINCT FROM `published`.`label`
  );

WITH `classes` AS (
  SELECT
    COUNT(*) AS `members`
  FROM `released`
  GROUP BY
    `age`,
    `sex`
  UNION ALL
  SELECT
    COUNT(*) AS `members`
  FROM `released`
  GROUP BY
    `age`,
    `zip`
  UNION ALL
  SELECT
    COUNT(*) AS `members`
  FROM `released`
  GROUP BY
    `sex`,
    `zip`
)
SELECT
  COUNT(*) AS `classes`,
  MIN(`members`) AS `smallest_class`,
  COUNT(CASE WHEN `members` < 5 THEN 1 END) AS `classes_failing`
FROM `classes`;

-- 4. Remove the tables that were made on the way
DROP TABLE IF EXISTS `kanon_kept`;
