-- 1. What the script needs
IF CAST(DATABASEPROPERTYEX(DB_NAME(), 'Collation') AS NVARCHAR(128)) NOT LIKE '%[_]BIN%' THROW 50000, 'Classes are counted by = : the database needs a binary collation (..._BIN2).', 1;

-- 2. Hierarchies: each value with its label at every level
WITH [present] AS (
  SELECT
    [source].[age] AS [value]
  FROM [patients] AS [source]
  UNION
  SELECT
    CAST(NULL AS BIGINT) AS [value]
), [numbers] AS (
  SELECT
    [value] AS [value],
    CAST([value] AS NUMERIC(18, 0)) AS [number]
  FROM [present]
), [lower_bounds] AS (
  SELECT
    [value] AS [value],
    [number] AS [number],
    CAST([number] - (
      [number] % 10 + 10
    ) % 10 AS NUMERIC(18, 0)) AS [lower_1],
    CAST([number] - (
      [number] % 20 + 20
    ) % 20 AS NUMERIC(18, 0)) AS [lower_2]
  FROM [numbers]
), [intervals] AS (
  SELECT
    *,
    CAST([lower_1] + 10 AS NUMERIC(18, 0)) AS [upper_1],
    CAST([lower_2] + 20 AS NUMERIC(18, 0)) AS [upper_2]
  FROM [lower_bounds]
)
SELECT
  [value],
  CASE
    WHEN [number] IS NULL
    THEN '*'
    WHEN [number] >= 90
    THEN '>=90'
    ELSE CAST(CAST([lower_1] AS NUMERIC(38, 0)) AS NVARCHAR(MAX)) + '-' + CAST(CAST(LEAST([upper_1], 90) - 1 AS NUMERIC(38, 0)) AS NVARCHAR(MAX))
  END AS [level_1],
  CASE
    WHEN [number] IS NULL
    THEN '*'
    WHEN [number] >= 90
    THEN '>=90'
    ELSE CAST(CAST([lower_2] AS NUMERIC(38, 0)) AS NVARCHAR(MAX)) + '-' + CAST(CAST(LEAST([upper_2], 90) - 1 AS NUMERIC(38, 0)) AS NVARCHAR(MAX))
  END AS [level_2]
INTO [kanon_hierarchy_age]
FROM [intervals];

WITH [present] AS (
  SELECT
    [source].[zip] AS [value]
  FROM [patients] AS [source]
  UNION
  SELECT
    CAST(NULL AS NVARCHAR(MAX)) AS [value]
)
SELECT
  [value],
  COALESCE(LEFT(LEFT([value], 2) + REPLICATE('*', 5), 5), '*') AS [level_2]
INTO [kanon_hierarchy_zip]
FROM [present];

-- 3. Step by step: the combinations of values whose class is large enough
WITH [combined] AS (
  SELECT
    [source].[age] AS [age],
    [source].[sex] AS [sex],
    [source].[zip] AS [zip],
    COUNT(*) AS [n],
    [source].[disease] AS [disease]
  FROM [patients] AS [source]
  GROUP BY
    [source].[age],
    [source].[sex],
    [source].[zip],
    [source].[disease]
)
SELECT
  [combined].[age],
  [combined].[sex],
  [combined].[zip],
  [kanon_hierarchy_age].[level_1] AS [age_level_1],
  [kanon_hierarchy_age].[level_2] AS [age_level_2],
  [kanon_hierarchy_zip].[level_2] AS [zip_level_2],
  [combined].[n],
  [combined].[disease],
  CAST(NULL AS INTEGER) AS [step]
INTO [kanon_combinations]
FROM [combined]
JOIN [kanon_hierarchy_age]
  ON [combined].[age] IS NOT DISTINCT FROM [kanon_hierarchy_age].[value]
JOIN [kanon_hierarchy_zip]
  ON [combined].[zip] IS NOT DISTINCT FROM [kanon_hierarchy_zip].[value];

WITH [shares_1] AS (
  SELECT
    [disease] AS [value],
    CAST(SUM([n]) AS FLOAT) / SUM(SUM([n])) OVER () AS [share],
    COUNT(*) OVER () AS [values]
  FROM [kanon_combinations]
  GROUP BY
    [disease]
), [counted] AS (
  SELECT
    [age_level_2] AS [age_level_2],
    [sex] AS [sex],
    [zip] AS [zip],
    [disease] AS [value],
    CAST(SUM([n]) AS BIGINT) AS [n]
  FROM [kanon_combinations]
  WHERE
    [step] IS NULL
  GROUP BY
    [age_level_2],
    [sex],
    [zip],
    [disease]
)
UPDATE [kanon_combinations] SET [step] = 1
WHERE
  [step] IS NULL
  AND EXISTS(
    SELECT
      1
    FROM (
      SELECT
        [age_level_2] AS [age_level_2],
        [sex] AS [sex],
        [zip] AS [zip]
      FROM (
        SELECT
          [age_level_2] AS [age_level_2],
          [sex] AS [sex],
          [zip] AS [zip],
          CAST(SUM([n]) AS BIGINT) AS [n],
          SUM([n]) AS [measure_0],
          COUNT(*) AS [measure_1]
        FROM [counted]
        GROUP BY
          [age_level_2],
          [sex],
          [zip]
      ) AS [classes]
      WHERE
        [measure_0] >= 5 AND [measure_1] >= 2
    ) AS [large]
    WHERE
      [large].[age_level_2] IS NOT DISTINCT FROM [kanon_combinations].[age_level_2]
      AND [large].[sex] IS NOT DISTINCT FROM [kanon_combinations].[sex]
      AND [large].[zip] IS NOT DISTINCT FROM [kanon_combinations].[zip]
  );

WITH [shares_1] AS (
  SELECT
    [disease] AS [value],
    CAST(SUM([n]) AS FLOAT) / SUM(SUM([n])) OVER () AS [share],
    COUNT(*) OVER () AS [values]
  FROM [kanon_combinations]
  GROUP BY
    [disease]
), [counted] AS (
  SELECT
    [age_level_1] AS [age_level_1],
    [sex] AS [sex],
    [zip_level_2] AS [zip_level_2],
    [disease] AS [value],
    CAST(SUM([n]) AS BIGINT) AS [n]
  FROM [kanon_combinations]
  WHERE
    [step] IS NULL
  GROUP BY
    [age_level_1],
    [sex],
    [zip_level_2],
    [disease]
)
UPDATE [kanon_combinations] SET [step] = 2
WHERE
  [step] IS NULL
  AND EXISTS(
    SELECT
      1
    FROM (
      SELECT
        [age_level_1] AS [age_level_1],
        [sex] AS [sex],
        [zip_level_2] AS [zip_level_2]
      FROM (
        SELECT
          [age_level_1] AS [age_level_1],
          [sex] AS [sex],
          [zip_level_2] AS [zip_level_2],
          CAST(SUM([n]) AS BIGINT) AS [n],
          SUM([n]) AS [measure_0],
          COUNT(*) AS [measure_1]
        FROM [counted]
        GROUP BY
          [age_level_1],
          [sex],
          [zip_level_2]
      ) AS [classes]
      WHERE
        [measure_0] >= 5 AND [measure_1] >= 2
    ) AS [large]
    WHERE
      [large].[age_level_1] IS NOT DISTINCT FROM [kanon_combinations].[age_level_1]
      AND [large].[sex] IS NOT DISTINCT FROM [kanon_combinations].[sex]
      AND [large].[zip_level_2] IS NOT DISTINCT FROM [kanon_combinations].[zip_level_2]
  );

WITH [shares_1] AS (
  SELECT
    [disease] AS [value],
    CAST(SUM([n]) AS FLOAT) / SUM(SUM([n])) OVER () AS [share],
    COUNT(*) OVER () AS [values]
  FROM [kanon_combinations]
  GROUP BY
    [disease]
), [counted] AS (
  SELECT
    [sex] AS [sex],
    [zip] AS [zip],
    [disease] AS [value],
    CAST(SUM([n]) AS BIGINT) AS [n]
  FROM [kanon_combinations]
  WHERE
    [step] IS NULL
  GROUP BY
    [sex],
    [zip],
    [disease]
)
UPDATE [kanon_combinations] SET [step] = 3
WHERE
  [step] IS NULL
  AND EXISTS(
    SELECT
      1
    FROM (
      SELECT
        [sex] AS [sex],
        [zip] AS [zip]
      FROM (
        SELECT
          [sex] AS [sex],
          [zip] AS [zip],
          CAST(SUM([n]) AS BIGINT) AS [n],
          SUM([n]) AS [measure_0],
          COUNT(*) AS [measure_1]
        FROM [counted]
        GROUP BY
          [sex],
          [zip]
      ) AS [classes]
      WHERE
        [measure_0] >= 5 AND [measure_1] >= 2
    ) AS [large]
    WHERE
      [large].[sex] IS NOT DISTINCT FROM [kanon_combinations].[sex]
      AND [large].[zip] IS NOT DISTINCT FROM [kanon_combinations].[zip]
  );

WITH [shares_1] AS (
  SELECT
    [disease] AS [value],
    CAST(SUM([n]) AS FLOAT) / SUM(SUM([n])) OVER () AS [share],
    COUNT(*) OVER () AS [values]
  FROM [kanon_combinations]
  GROUP BY
    [disease]
), [counted] AS (
  SELECT
    [age_level_2] AS [age_level_2],
    [sex] AS [sex],
    [zip_level_2] AS [zip_level_2],
    [disease] AS [value],
    CAST(SUM([n]) AS BIGINT) AS [n]
  FROM [kanon_combinations]
  WHERE
    [step] IS NULL
  GROUP BY
    [age_level_2],
    [sex],
    [zip_level_2],
    [disease]
)
UPDATE [kanon_combinations] SET [step] = 4
WHERE
  [step] IS NULL
  AND EXISTS(
    SELECT
      1
    FROM (
      SELECT
        [age_level_2] AS [age_level_2],
        [sex] AS [sex],
        [zip_level_2] AS [zip_level_2]
      FROM (
        SELECT
          [age_level_2] AS [age_level_2],
          [sex] AS [sex],
          [zip_level_2] AS [zip_level_2],
          CAST(SUM([n]) AS BIGINT) AS [n],
          SUM([n]) AS [measure_0],
          COUNT(*) AS [measure_1]
        FROM [counted]
        GROUP BY
          [age_level_2],
          [sex],
          [zip_level_2]
      ) AS [classes]
      WHERE
        [measure_0] >= 5 AND [measure_1] >= 2
    ) AS [large]
    WHERE
      [large].[age_level_2] IS NOT DISTINCT FROM [kanon_combinations].[age_level_2]
      AND [large].[sex] IS NOT DISTINCT FROM [kanon_combinations].[sex]
      AND [large].[zip_level_2] IS NOT DISTINCT FROM [kanon_combinations].[zip_level_2]
  );

-- 4. The release: generalize, leave out classes that are too small, mix the rows
WITH [generalized] AS (
  SELECT
    CASE
      WHEN [kanon_combinations].[step] IN (2)
      THEN [kanon_combinations].[age_level_1]
      WHEN [kanon_combinations].[step] IN (1, 4)
      THEN [kanon_combinations].[age_level_2]
      ELSE '*'
    END AS [age],
    [source].[sex] AS [sex],
    CASE
      WHEN [kanon_combinations].[step] IN (1, 3)
      THEN CAST([source].[zip] AS NVARCHAR(MAX))
      ELSE [kanon_combinations].[zip_level_2]
    END AS [zip],
    [source].[disease] AS [disease]
  FROM [patients] AS [source]
  JOIN [kanon_combinations]
    ON [source].[age] IS NOT DISTINCT FROM [kanon_combinations].[age]
    AND [source].[sex] IS NOT DISTINCT FROM [kanon_combinations].[sex]
    AND [source].[zip] IS NOT DISTINCT FROM [kanon_combinations].[zip]
    AND [source].[disease] IS NOT DISTINCT FROM [kanon_combinations].[disease]
  WHERE
    NOT [kanon_combinations].[step] IS NULL
)
SELECT
  [generalized].[age],
  [generalized].[sex],
  [generalized].[zip],
  [generalized].[disease]
INTO [released]
FROM [generalized]
ORDER BY
  HASHBYTES(
    'SHA2_256',
    CONCAT_WS(
      '|',
      [generalized].[age],
      [generalized].[sex],
      [generalized].[zip],
      [generalized].[disease],
      1
    )
  );

-- 5. Check the release on its own rows
WITH [shares_1] AS (
  SELECT
    [disease] AS [value],
    CAST(COUNT(*) AS FLOAT) / SUM(COUNT(*)) OVER () AS [share],
    COUNT(*) OVER () AS [values]
  FROM [patients]
  GROUP BY
    [disease]
), [counted] AS (
  SELECT
    [age] AS [age],
    [sex] AS [sex],
    [zip] AS [zip],
    [disease] AS [value],
    COUNT(*) AS [n]
  FROM [released]
  GROUP BY
    [age],
    [sex],
    [zip],
    [disease]
), [classes] AS (
  SELECT
    [age] AS [age],
    [sex] AS [sex],
    [zip] AS [zip],
    CAST(SUM([n]) AS BIGINT) AS [n],
    SUM([n]) AS [measure_0],
    COUNT(*) AS [measure_1]
  FROM [counted]
  GROUP BY
    [age],
    [sex],
    [zip]
)
SELECT
  COUNT(*) AS [classes],
  SUM([n]) AS [rows_in_classes],
  MIN([n]) AS [smallest_class],
  COUNT(CASE WHEN [measure_0] < 5 OR [measure_1] < 2 THEN 1 END) AS [classes_failing],
  SUM(CASE WHEN [measure_0] < 5 OR [measure_1] < 2 THEN [n] END) AS [rows_failing],
  MIN([measure_0]) AS [worst_0],
  COUNT(CASE WHEN [measure_0] < 5 THEN 1 END) AS [failing_0],
  SUM(CASE WHEN [measure_0] < 5 THEN [n] END) AS [rows_failing_0],
  MIN([measure_1]) AS [worst_1],
  COUNT(CASE WHEN [measure_1] < 2 THEN 1 END) AS [failing_1],
  SUM(CASE WHEN [measure_1] < 2 THEN [n] END) AS [rows_failing_1]
FROM [classes];

SELECT
  'age' AS [column_name],
  COUNT(*) AS [foreign_labels]
FROM (
  SELECT DISTINCT
    [age] AS [label]
  FROM [released]
) AS [published]
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        [kanon_hierarchy_age].[level_1] AS [label]
      FROM [kanon_hierarchy_age]
      UNION ALL
      SELECT
        [kanon_hierarchy_age].[level_2] AS [label]
      FROM [kanon_hierarchy_age]
      UNION ALL
      SELECT
        '*' AS [label]
    ) AS [known]
    WHERE
      [known].[label] IS NOT DISTINCT FROM [published].[label]
  )
UNION ALL
SELECT
  'zip' AS [column_name],
  COUNT(*) AS [foreign_labels]
FROM (
  SELECT DISTINCT
    [zip] AS [label]
  FROM [released]
) AS [published]
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM (
      SELECT
        CAST([kanon_hierarchy_zip].[value] AS NVARCHAR(MAX)) AS [label]
      FROM [kanon_hierarchy_zip]
      UNION ALL
      SELECT
        [kanon_hierarchy_zip].[level_2] AS [label]
      FROM [kanon_hierarchy_zip]
    ) AS [known]
    WHERE
      [known].[label] IS NOT DISTINCT FROM [published].[label]
  );

-- 6. Remove the tables that were made on the way
DROP TABLE IF EXISTS [kanon_hierarchy_age];

DROP TABLE IF EXISTS [kanon_hierarchy_zip];

DROP TABLE IF EXISTS [kanon_combinations];
