-- 1. What the script needs
IF CAST(DATABASEPROPERTYEX(DB_NAME(), 'Collation') AS NVARCHAR(128)) NOT LIKE '%[_]BIN%' THROW 50000, 'Classes are counted by = : the database needs a binary collation (..._BIN2).', 1;

-- 2. Step by step: the combinations of values whose class is large enough
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
  [combined].[n],
  [combined].[disease],
  CAST(NULL AS INTEGER) AS [step]
INTO [kanon_combinations]
FROM [combined];

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
UPDATE [kanon_combinations] SET [step] = 1
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
        [measure_0] >= 8 AND [measure_1] >= 2
    ) AS [large]
    WHERE
      [large].[sex] IS NOT DISTINCT FROM [kanon_combinations].[sex]
      AND [large].[zip] IS NOT DISTINCT FROM [kanon_combinations].[zip]
  );

-- 3. The release: generalize, leave out classes that are too small, mix the rows
WITH [generalized] AS (
  SELECT
    '*' AS [age],
    [source].[sex] AS [sex],
    [source].[zip] AS [zip],
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

-- 4. Check the release on its own rows
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
  COUNT(CASE WHEN [measure_0] < 8 OR [measure_1] < 2 THEN 1 END) AS [classes_failing],
  SUM(CASE WHEN [measure_0] < 8 OR [measure_1] < 2 THEN [n] END) AS [rows_failing],
  MIN([measure_0]) AS [worst_0],
  COUNT(CASE WHEN [measure_0] < 8 THEN 1 END) AS [failing_0],
  SUM(CASE WHEN [measure_0] < 8 THEN [n] END) AS [rows_failing_0],
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
        '*' AS [label]
    ) AS [known]
    WHERE
      [known].[label] IS NOT DISTINCT FROM [published].[label]
  );

-- 5. Remove the tables that were made on the way
DROP TABLE IF EXISTS [kanon_combinations];
