-- 1. The classes that have k by some of the columns, in the rows of today: run it on these rows only
CREATE TEMPORARY TABLE `kanon_kept` AS
SELECT
  CAST(`lines`.`age` AS STRING) AS `age`,
  CAST(`lines`.`sex` AS STRING) AS `sex`,
  CAST(`lines`.`zip` AS STRING) AS `zip`
FROM UNNEST([
  STRUCT('*' AS `age`, 'F' AS `sex`, '10000' AS `zip`),
  STRUCT('*' AS `age`, 'F' AS `sex`, '10022' AS `zip`),
  STRUCT('*' AS `age`, 'F' AS `sex`, '10041' AS `zip`),
  STRUCT('*' AS `age`, 'M' AS `sex`, '10011' AS `zip`),
  STRUCT('*' AS `age`, 'M' AS `sex`, '10030' AS `zip`),
  STRUCT('*' AS `age`, 'M' AS `sex`, '10052' AS `zip`)
]) AS `lines`;

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
        COALESCE(`kept`.`age`, '') = COALESCE(`generalized`.`age`, '')
        AND `kept`.`age` IS NOT DISTINCT FROM `generalized`.`age`
        AND COALESCE(`kept`.`sex`, '') = COALESCE(`generalized`.`sex`, '')
        AND `kept`.`sex` IS NOT DISTINCT FROM `generalized`.`sex`
        AND COALESCE(`kept`.`zip`, '') = COALESCE(`generalized`.`zip`, '')
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
      COALESCE(`too_small`.`age`, '') = COALESCE(`generalized`.`age`, '')
      AND `too_small`.`age` IS NOT DISTINCT FROM `generalized`.`age`
      AND COALESCE(`too_small`.`sex`, '') = COALESCE(`generalized`.`sex`, '')
      AND `too_small`.`sex` IS NOT DISTINCT FROM `generalized`.`sex`
      AND COALESCE(`too_small`.`zip`, '') = COALESCE(`generalized`.`zip`, '')
      AND `too_small`.`zip` IS NOT DISTINCT FROM `generalized`.`zip`
  )
ORDER BY
  FARM_FINGERPRINT(
    TO_JSON_STRING(
      STRUCT(
        `generalized`.`age`,
        `generalized`.`sex`,
        `generalized`.`zip`,
        `generalized`.`disease`,
        1
      )
    )
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
      COALESCE(`known`.`label`, '') = COALESCE(`published`.`label`, '')
      AND `known`.`label` IS NOT DISTINCT FROM `published`.`label`
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
