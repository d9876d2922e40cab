-- 1. Step by step: the combinations of values whose class is large enough
CREATE TABLE `kanon_combinations` AS
WITH `combined` AS (
  SELECT
    `source`.`age`,
    `source`.`sex`,
    `source`.`zip`,
    COUNT(*) AS `n`,
    `source`.`disease` AS `disease`
  FROM `patients` AS `source`
  GROUP BY
    `source`.`age`,
    `source`.`sex`,
    `source`.`zip`,
    `source`.`disease`
)
SELECT
  `combined`.`age`,
  `combined`.`sex`,
  `combined`.`zip`,
  `combined`.`n`,
  `combined`.`disease`,
  CAST(NULL AS INT) AS `step`
FROM `combined`;

CREATE OR REPLACE TABLE `kanon_combinations` AS
SELECT
  `kanon_combinations`.`age`,
  `kanon_combinations`.`sex`,
  `kanon_combinations`.`zip`,
  `kanon_combinations`.`n`,
  `kanon_combinations`.`disease`,
  CASE
    WHEN `kanon_combinations`.`step` IS NULL AND `large`.`found` = 1
    THEN 1
    ELSE `kanon_combinations`.`step`
  END AS `step`
FROM `kanon_combinations`
LEFT JOIN (
  WITH `shares_1` AS (
    SELECT
      `disease` AS `value`,
      CAST(SUM(`n`) AS DOUBLE) / SUM(SUM(`n`)) OVER () AS `share`,
      COUNT(*) OVER () AS `values`
    FROM `kanon_combinations`
    GROUP BY
      `disease`
  ), `counted` AS (
    SELECT
      `sex`,
      `zip`,
      `disease` AS `value`,
      CAST(SUM(`n`) AS BIGINT) AS `n`
    FROM `kanon_combinations`
    WHERE
      `step` IS NULL
    GROUP BY
      `sex`,
      `zip`,
      `disease`
  )
  SELECT
    `sex`,
    `zip`,
    1 AS `found`
  FROM (
    SELECT
      `sex`,
      `zip`,
      CAST(SUM(`n`) AS BIGINT) AS `n`,
      SUM(`n`) AS `measure_0`,
      COUNT(*) AS `measure_1`
    FROM `counted`
    GROUP BY
      `sex`,
      `zip`
  ) AS `classes`
  WHERE
    `measure_0` >= 8 AND `measure_1` >= 2
) AS `large`
  ON `large`.`sex` IS NOT DISTINCT FROM `kanon_combinations`.`sex`
  AND `large`.`zip` IS NOT DISTINCT FROM `kanon_combinations`.`zip`;

-- 2. The release: generalize, leave out classes that are too small, mix the rows
CREATE TABLE `released` AS
WITH `generalized` AS (
  SELECT
    '*' AS `age`,
    `source`.`sex` AS `sex`,
    `source`.`zip` AS `zip`,
    `source`.`disease`
  FROM `patients` AS `source`
  JOIN `kanon_combinations`
    ON `source`.`age` IS NOT DISTINCT FROM `kanon_combinations`.`age`
    AND `source`.`sex` IS NOT DISTINCT FROM `kanon_combinations`.`sex`
    AND `source`.`zip` IS NOT DISTINCT FROM `kanon_combinations`.`zip`
    AND `source`.`disease` IS NOT DISTINCT FROM `kanon_combinations`.`disease`
  WHERE
    NOT `kanon_combinations`.`step` IS NULL
)
SELECT
  `generalized`.`age`,
  `generalized`.`sex`,
  `generalized`.`zip`,
  `generalized`.`disease`
FROM `generalized`
ORDER BY
  XXHASH64(
    `generalized`.`age`,
    `generalized`.`sex`,
    `generalized`.`zip`,
    `generalized`.`disease`,
    1
  );

-- 3. Check the release on its own rows
WITH `shares_1` AS (
  SELECT
    `disease` AS `value`,
    CAST(COUNT(*) AS DOUBLE) / SUM(COUNT(*)) OVER () AS `share`,
    COUNT(*) OVER () AS `values`
  FROM `patients`
  GROUP BY
    `disease`
), `counted` AS (
  SELECT
    `age` AS `age`,
    `sex` AS `sex`,
    `zip` AS `zip`,
    `disease` AS `value`,
    COUNT(*) AS `n`
  FROM `released`
  GROUP BY
    `age`,
    `sex`,
    `zip`,
    `disease`
), `classes` AS (
  SELECT
    `age`,
    `sex`,
    `zip`,
    CAST(SUM(`n`) AS BIGINT) AS `n`,
    SUM(`n`) AS `measure_0`,
    COUNT(*) AS `measure_1`
  FROM `counted`
  GROUP BY
    `age`,
    `sex`,
    `zip`
)
SELECT
  COUNT(*) AS `classes`,
  SUM(`n`) AS `rows_in_classes`,
  MIN(`n`) AS `smallest_class`,
  COUNT(CASE WHEN `measure_0` < 8 OR `measure_1` < 2 THEN 1 END) AS `classes_failing`,
  SUM(CASE WHEN `measure_0` < 8 OR `measure_1` < 2 THEN `n` END) AS `rows_failing`,
  MIN(`measure_0`) AS `worst_0`,
  COUNT(CASE WHEN `measure_0` < 8 THEN 1 END) AS `failing_0`,
  SUM(CASE WHEN `measure_0` < 8 THEN `n` END) AS `rows_failing_0`,
  MIN(`measure_1`) AS `worst_1`,
  COUNT(CASE WHEN `measure_1` < 2 THEN 1 END) AS `failing_1`,
  SUM(CASE WHEN `measure_1` < 2 THEN `n` END) AS `rows_failing_1`
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

-- 4. Remove the tables that were made on the way
DROP TABLE IF EXISTS `kanon_combinations`;
