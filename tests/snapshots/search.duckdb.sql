-- Step open


-- macros of the database
SELECT
  own.function_name
FROM system.main.DUCKDB_FUNCTIONS() AS own
WHERE
  NOT own.internal
  AND system.main.list_contains(system.main.current_schemas(TRUE), own.schema_name)
  AND (
    own.database_name IN (system.main.current_database(), 'temp')
    OR system.main.contains(system.main.current_setting('search_path'), own.database_name)
  );

-- find the table
SELECT
  database_name,
  schema_name,
  name,
  CASE
    WHEN database_name = 'temp'
    THEN 2
    WHEN schema_name = CURRENT_SCHEMA() AND database_name = CURRENT_DATABASE()
    THEN 1
    ELSE 0
  END AS nearness,
  kind,
  database_name = CURRENT_DATABASE() AS is_here
FROM (
  SELECT
    'TABLE' AS kind,
    database_name,
    schema_name,
    table_name AS name
  FROM DUCKDB_TABLES()
  WHERE
    NOT internal
  UNION ALL
  SELECT
    'VIEW' AS kind,
    database_name,
    schema_name,
    view_name AS name
  FROM DUCKDB_VIEWS()
  WHERE
    NOT internal
) AS relations
WHERE
  schema_name <> 'kanon'
ORDER BY
  database_name,
  schema_name,
  name;

-- columns of the table
DESCRIBE SELECT
  *
FROM patients;

-- which texts have digits?
SELECT
  BOOL_AND(
    CAST(REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.sex,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[0-9]'
    )
    OR NULLIF(
      REGEXP_REPLACE(
        source.sex,
        '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
        '',
        'g'
      ),
      ''
    ) IN (
      'NA',
      'N/A',
      'n/a',
      'na',
      'NaN',
      'nan',
      'NULL',
      'null',
      'None',
      'none',
      '-',
      '--',
      '?',
      '.',
      'unknown',
      'Unknown',
      'missing',
      'unbekannt',
      'Unbekannt',
      'k. A.',
      'k.A.',
      'keine Angabe',
      'inconnu',
      'Inconnu',
      'n.d.',
      'nd',
      'NR',
      'non renseigné',
      '不详',
      '未知',
      '无',
      '缺失'
    ) AS BOOLEAN)
  ),
  BOOL_OR(
    CAST(REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.sex,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[0-9]'
    ) AS BOOLEAN)
  ),
  BOOL_AND(
    CAST(REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.sex,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '^([1-9][0-9]{5}(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx])$'
    ) AS BOOLEAN)
  ),
  BOOL_AND(
    CAST(REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.zip,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[0-9]'
    )
    OR NULLIF(
      REGEXP_REPLACE(
        source.zip,
        '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
        '',
        'g'
      ),
      ''
    ) IN (
      'NA',
      'N/A',
      'n/a',
      'na',
      'NaN',
      'nan',
      'NULL',
      'null',
      'None',
      'none',
      '-',
      '--',
      '?',
      '.',
      'unknown',
      'Unknown',
      'missing',
      'unbekannt',
      'Unbekannt',
      'k. A.',
      'k.A.',
      'keine Angabe',
      'inconnu',
      'Inconnu',
      'n.d.',
      'nd',
      'NR',
      'non renseigné',
      '不详',
      '未知',
      '无',
      '缺失'
    ) AS BOOLEAN)
  ),
  BOOL_OR(
    CAST(REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.zip,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '[0-9]'
    ) AS BOOLEAN)
  ),
  BOOL_AND(
    CAST(REGEXP_MATCHES(
      NULLIF(
        REGEXP_REPLACE(
          source.zip,
          '^[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+|[ \t\n\f\r\x{00A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}]+\z',
          '',
          'g'
        ),
        ''
      ),
      '^([1-9][0-9]{5}(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx])$'
    ) AS BOOLEAN)
  )
FROM (
  SELECT
    *
  FROM patients
  LIMIT 5000
) AS source;

-- how text is compared
SELECT
  CURRENT_SETTING('default_collation');

-- names in use
/* Names that a new temporary table must not take: those of every table and view in sight. */
SELECT
  table_name
FROM DUCKDB_TABLES()
UNION
SELECT
  view_name
FROM DUCKDB_VIEWS();

-- collations of the columns
CREATE TEMPORARY TABLE kanon_columns AS
SELECT
  sex,
  zip
FROM patients
LIMIT 0;

-- Step hierarchies


-- extremes of the columns that get a hierarchy built
SELECT
  MIN(TRY_CAST(source.age AS DECIMAL(38, 0))),
  MAX(TRY_CAST(source.age AS DECIMAL(38, 0))),
  MAX(LENGTH(CAST(source.zip AS TEXT)))
FROM patients AS source;

-- levels of ...
CREATE TEMPORARY TABLE kanon_levels_age AS
WITH present AS (
  SELECT
    source.age AS value
  FROM patients AS source
  UNION
  SELECT
    CAST(NULL AS BIGINT) AS value
), numbers AS (
  SELECT
    value,
    TRY_CAST(value AS DECIMAL(18, 0)) AS number
  FROM present
), lower_bounds AS (
  SELECT
    value,
    number,
    CAST(number - (
      number % 10 + 10
    ) % 10 AS DECIMAL(18, 0)) AS lower_1,
    CAST(number - (
      number % 20 + 20
    ) % 20 AS DECIMAL(18, 0)) AS lower_2
  FROM numbers
), intervals AS (
  SELECT
    *,
    CAST(lower_1 + 10 AS DECIMAL(18, 0)) AS upper_1,
    CAST(lower_2 + 20 AS DECIMAL(18, 0)) AS upper_2
  FROM lower_bounds
)
SELECT
  value,
  CASE
    WHEN number IS NULL
    THEN '*'
    WHEN number >= 90
    THEN '>=90'
    ELSE CAST(lower_1 AS TEXT) || '-' || CAST(LEAST(upper_1, 90) - 1 AS TEXT)
  END AS level_1,
  CASE
    WHEN number IS NULL
    THEN '*'
    WHEN number >= 90
    THEN '>=90'
    ELSE CAST(lower_2 AS TEXT) || '-' || CAST(LEAST(upper_2, 90) - 1 AS TEXT)
  END AS level_2,
  '*' AS level_3
FROM intervals;

-- is the hierarchy of ... a tree?
SELECT
  'repeated' AS what,
  0 AS level,
  n
FROM (
  SELECT
    COUNT(*) AS n
  FROM (
    SELECT
      value
    FROM kanon_levels_age
    GROUP BY
      value
    HAVING
      COUNT(*) > 1
  ) AS groups
) AS counted
UNION ALL
SELECT
  'roots' AS what,
  3 AS level,
  n
FROM (
  SELECT
    COUNT(DISTINCT level_3) AS n
  FROM kanon_levels_age
) AS counted
UNION ALL
SELECT
  'several_parents' AS what,
  1 AS level,
  n
FROM (
  SELECT
    COUNT(*) AS n
  FROM (
    SELECT
      level_1
    FROM kanon_levels_age
    GROUP BY
      level_1
    HAVING
      COUNT(DISTINCT level_2) > 1
  ) AS groups
) AS counted
UNION ALL
SELECT
  'early_roots' AS what,
  1 AS level,
  n
FROM (
  SELECT
    COUNT(*) AS n
  FROM kanon_levels_age AS lookup
  CROSS JOIN (
    SELECT
      MIN(level_3) AS root
    FROM kanon_levels_age
  ) AS top
  WHERE
    lookup.level_1 = top.root AND lookup.level_2 <> top.root
) AS counted
UNION ALL
SELECT
  'several_parents' AS what,
  2 AS level,
  n
FROM (
  SELECT
    COUNT(*) AS n
  FROM (
    SELECT
      level_2
    FROM kanon_levels_age
    GROUP BY
      level_2
    HAVING
      COUNT(DISTINCT level_3) > 1
  ) AS groups
) AS counted
UNION ALL
SELECT
  'early_roots' AS what,
  2 AS level,
  n
FROM (
  SELECT
    COUNT(*) AS n
  FROM kanon_levels_age AS lookup
  CROSS JOIN (
    SELECT
      MIN(level_3) AS root
    FROM kanon_levels_age
  ) AS top
  WHERE
    lookup.level_2 = top.root AND lookup.level_3 <> top.root
) AS counted
UNION ALL
SELECT
  'children' AS what,
  0 AS level,
  n
FROM (
  SELECT
    MAX(children) AS n
  FROM (
    SELECT
      COUNT(*) AS children
    FROM kanon_levels_age
    GROUP BY
      level_1
  ) AS families
) AS counted
UNION ALL
SELECT
  'children' AS what,
  1 AS level,
  n
FROM (
  SELECT
    MAX(children) AS n
  FROM (
    SELECT
      COUNT(DISTINCT level_1) AS children
    FROM kanon_levels_age
    GROUP BY
      level_2
  ) AS families
) AS counted
UNION ALL
SELECT
  'children' AS what,
  2 AS level,
  n
FROM (
  SELECT
    MAX(children) AS n
  FROM (
    SELECT
      COUNT(DISTINCT level_2) AS children
    FROM kanon_levels_age
    GROUP BY
      level_3
  ) AS families
) AS counted;

-- prefix codes of ...
CREATE TEMPORARY TABLE kanon_hierarchy_age AS
WITH leaves AS (
  SELECT
    value,
    level_1,
    level_2,
    level_3,
    CAST(ROW_NUMBER() OVER (PARTITION BY level_1 ORDER BY value NULLS FIRST) - 1 AS BIGINT) AS ordinal_0
  FROM kanon_levels_age
), labels_1 AS (
  SELECT
    level_1,
    CAST(ROW_NUMBER() OVER (PARTITION BY parent ORDER BY smallest NULLS FIRST) - 1 AS BIGINT) AS ordinal_1
  FROM (
    SELECT
      level_1,
      MIN(level_2) AS parent,
      MIN(value) AS smallest
    FROM kanon_levels_age
    GROUP BY
      level_1
  ) AS labels
), labels_2 AS (
  SELECT
    level_2,
    CAST(ROW_NUMBER() OVER (PARTITION BY parent ORDER BY smallest NULLS FIRST) - 1 AS BIGINT) AS ordinal_2
  FROM (
    SELECT
      level_2,
      MIN(level_3) AS parent,
      MIN(value) AS smallest
    FROM kanon_levels_age
    GROUP BY
      level_2
  ) AS labels
)
SELECT
  levels.value,
  levels.level_1,
  levels.level_2,
  levels.level_3,
  CAST(ordinal_0 | (
    ordinal_1 << 4
  ) | (
    ordinal_2 << 5
  ) AS BIGINT) AS code
FROM leaves AS levels
JOIN labels_1
  ON levels.level_1 IS NOT DISTINCT FROM labels_1.level_1
JOIN labels_2
  ON levels.level_2 IS NOT DISTINCT FROM labels_2.level_2;

-- drop the levels without codes
DROP TABLE IF EXISTS kanon_levels_age;

-- Step frequency set


-- frequency set of the quasi-identifiers
CREATE TEMPORARY TABLE kanon_frequency AS
WITH coded AS (
  SELECT
    lookup_1.code | (
      lookup_2.code << 8
    ) | (
      lookup_3.code << 10
    ) AS key_0,
    source.id AS entity
  FROM patients AS source
  LEFT JOIN kanon_hierarchy_age AS lookup_1
    ON source.age IS NOT DISTINCT FROM lookup_1.value
  LEFT JOIN kanon_hierarchy_sex AS lookup_2
    ON source.sex IS NOT DISTINCT FROM lookup_2.value
  LEFT JOIN kanon_hierarchy_zip AS lookup_3
    ON source.zip IS NOT DISTINCT FROM lookup_3.value
), pairs AS (
  SELECT
    key_0,
    entity,
    COUNT(*) AS n
  FROM coded
  GROUP BY
    key_0,
    entity
), movers AS (
  SELECT
    entity,
    ROW_NUMBER() OVER (ORDER BY entity NULLS FIRST) AS number
  FROM pairs
  WHERE
    NOT entity IS NULL
  GROUP BY
    entity
  HAVING
    COUNT(*) > 1
)
SELECT
  key_0,
  CAST(SUM(n) AS BIGINT) AS n,
  COUNT(entity) AS persons,
  CAST(NULL AS BIGINT) AS entity
FROM pairs
WHERE
  NOT EXISTS(
    SELECT
      1
    FROM movers
    WHERE
      movers.entity = pairs.entity
  )
GROUP BY
  key_0
UNION ALL
SELECT
  key_0,
  n,
  0 AS persons,
  number AS entity
FROM pairs
JOIN movers
  ON pairs.entity = movers.entity;

-- size of the frequency set
SELECT
  COALESCE(SUM(n), 0) AS rows_in_table,
  COUNT(*) AS tuples,
  COUNT(*) FILTER(WHERE
    key_0 IS NULL) AS tuples_without_code
FROM kanon_frequency;

-- labels of the hierarchies
CREATE TEMPORARY TABLE kanon_label_facts AS
WITH lookups AS (
  SELECT
    0 AS number,
    code AS code,
    value IS NULL AS of_null,
    CASE WHEN level_1 = '*' THEN 1 WHEN level_2 = '*' THEN 2 ELSE 3 END AS root_level,
    CAST(value AS DOUBLE) AS as_number
  FROM kanon_hierarchy_age AS lookup
  UNION ALL
  SELECT
    1 AS number,
    code AS code,
    value IS NULL AS of_null,
    1 AS root_level,
    CAST(NULL AS DOUBLE) AS as_number
  FROM kanon_hierarchy_sex AS lookup
  UNION ALL
  SELECT
    2 AS number,
    code AS code,
    value IS NULL AS of_null,
    CASE WHEN level_1 = '*' THEN 1 WHEN level_2 = '*' THEN 2 ELSE 3 END AS root_level,
    CAST(NULL AS DOUBLE) AS as_number
  FROM kanon_hierarchy_zip AS lookup
), marginals AS (
  SELECT
    0 AS number,
    (
      key_0 & 255
    ) AS code,
    SUM(n) AS n
  FROM kanon_frequency
  GROUP BY
    (
      key_0 & 255
    )
  UNION ALL
  SELECT
    1 AS number,
    (
      (
        key_0 >> 8
      ) & 3
    ) AS code,
    SUM(n) AS n
  FROM kanon_frequency
  GROUP BY
    (
      (
        key_0 >> 8
      ) & 3
    )
  UNION ALL
  SELECT
    2 AS number,
    (
      (
        key_0 >> 10
      ) & 31
    ) AS code,
    SUM(n) AS n
  FROM kanon_frequency
  GROUP BY
    (
      (
        key_0 >> 10
      ) & 31
    )
), leaves AS (
  SELECT
    lookups.number,
    lookups.code,
    lookups.root_level,
    lookups.as_number,
    COALESCE(marginals.n, 0) AS n
  FROM lookups
  LEFT JOIN marginals
    ON lookups.number = marginals.number AND lookups.code = marginals.code
  WHERE
    NOT lookups.of_null OR marginals.n > 0
)
SELECT
  leaves.number,
  levels.level,
  leaves.code & levels.mask_0 AS code,
  CAST(SUM(leaves.n) AS BIGINT) AS n,
  COUNT(*) AS leaves,
  MIN(leaves.root_level) <= levels.level AS at_root,
  MIN(leaves.as_number) FILTER(WHERE
    levels.below_root OR leaves.n > 0) AS lower,
  MAX(leaves.as_number) FILTER(WHERE
    levels.below_root OR leaves.n > 0) AS upper
FROM leaves
JOIN (VALUES
  (0, 0, TRUE, 255),
  (0, 1, TRUE, 240),
  (0, 2, TRUE, 224),
  (0, 3, FALSE, 0),
  (1, 0, TRUE, 3),
  (1, 1, FALSE, 0),
  (2, 0, TRUE, 31),
  (2, 1, TRUE, 31),
  (2, 2, TRUE, 24),
  (2, 3, FALSE, 0)) AS levels(number, level, below_root, mask_0)
  ON levels.number = leaves.number
GROUP BY
  leaves.number,
  levels.level,
  leaves.code & levels.mask_0;

-- leaves of the hierarchies
SELECT
  number,
  leaves,
  lower,
  upper
FROM kanon_label_facts
WHERE
  (
    number = 0 AND level = 3
  )
  OR (
    number = 1 AND level = 1
  )
  OR (
    number = 2 AND level = 3
  );

-- Step search


-- costs of every level
SELECT
  number,
  level,
  COUNT(*) FILTER(WHERE
    n > 0) AS labels,
  SUM(n * (
    loss
  )),
  MAX(loss) FILTER(WHERE
    n > 0),
  SUM(n * (
    gcp
  )),
  MAX(gcp) FILTER(WHERE
    n > 0),
  SUM(n * (
    "precision"
  )),
  MAX("precision") FILTER(WHERE
    n > 0),
  SUM(n * (
    nonuniform_entropy
  )),
  MAX(nonuniform_entropy) FILTER(WHERE
    n > 0)
FROM (
  SELECT
    number,
    level,
    n,
    CASE
      WHEN at_root
      THEN CASE WHEN number IN (0) THEN 52 WHEN number IN (1) THEN 1 ELSE 6 END
      ELSE leaves - 1
    END AS loss,
    CASE
      WHEN at_root
      THEN 1000000000
      ELSE CASE
        WHEN number IN (0)
        THEN CASE
          WHEN lower IS NULL
          THEN 0
          ELSE CAST(ROUND(
            GREATEST((
              LEAST(upper, 97.0) / 2 - GREATEST(lower, 20.0) / 2
            ) / 38.5, 0) * 1000000000
          ) AS BIGINT)
        END
        WHEN number IN (1)
        THEN CASE
          WHEN leaves = 1
          THEN 0
          ELSE CAST(ROUND(leaves / 2.0 * 1000000000) AS BIGINT)
        END
        ELSE CASE
          WHEN leaves = 1
          THEN 0
          ELSE CAST(ROUND(leaves / 7.0 * 1000000000) AS BIGINT)
        END
      END
    END AS gcp,
    CASE WHEN at_root THEN CASE WHEN number IN (0, 2) THEN 3 ELSE 1 END ELSE level END AS "precision",
    CASE
      WHEN at_root
      THEN 590689060
      ELSE CASE
        WHEN n > 0
        THEN LEAST(CAST(ROUND(LN(CAST(n AS DOUBLE)) / LN(2.0) * 100000000) AS BIGINT), 590689060)
        ELSE 0
      END
    END AS nonuniform_entropy
  FROM kanon_label_facts
) AS cells
GROUP BY
  number,
  level;

-- test node ...
SELECT
  COUNT(*) AS classes,
  COALESCE(SUM(n) FILTER(WHERE
    measure_0 < 4), 0) AS suppressed
FROM (
  SELECT
    key_0 & 0 AS key_0,
    SUM(n) AS n,
    SUM(persons) + COUNT(DISTINCT entity) AS measure_0
  FROM kanon_frequency
  GROUP BY
    key_0 & 0
) AS classes;

-- what suppressed rows lose at ...
WITH classes AS (
  SELECT
    key_0 & 224 AS key_0,
    SUM(n) AS n,
    SUM(persons) + COUNT(DISTINCT entity) AS measure_0
  FROM kanon_frequency
  GROUP BY
    key_0 & 224
), cells AS (
  SELECT
    levels.number,
    levels.level,
    (
      classes.key_0 >> levels.shift_0
    ) & levels.mask_0 AS code,
    classes.n
  FROM classes
  JOIN (VALUES
    (0, 2, 0, 0, 224),
    (1, 1, 0, 8, 0),
    (2, 3, 0, 10, 0)) AS levels(number, level, key_0, shift_0, mask_0)
    ON TRUE
  WHERE
    measure_0 < 4
)
SELECT
  cells.number,
  cells.level,
  SUM(
    cells.n * (
      CASE
        WHEN labels.at_root
        THEN CASE WHEN labels.number IN (0) THEN 52 WHEN labels.number IN (1) THEN 1 ELSE 6 END
        ELSE labels.leaves - 1
      END
    )
  )
FROM cells
JOIN kanon_label_facts AS labels
  ON labels.number = cells.number
  AND labels.level = cells.level
  AND labels.code = cells.code
GROUP BY
  cells.number,
  cells.level;

-- Step measure


-- classes of the release, ...
CREATE TEMPORARY TABLE kanon_classes AS
SELECT
  *,
  3 AS level_1,
  0 AS level_2,
  0 AS level_3
FROM (
  SELECT
    key_0 & 32512 AS key_0,
    SUM(n) AS n,
    SUM(persons) + COUNT(DISTINCT entity) AS measure_0
  FROM kanon_frequency
  GROUP BY
    key_0 & 32512
) AS classes
WHERE
  measure_0 >= 4;

-- sizes of the classes
SELECT
  COUNT(*),
  SUM(n),
  SUM(n * n),
  MIN(n),
  MIN(measure_0)
FROM kanon_classes;

-- density of the box of each class
CREATE TEMPORARY TABLE kanon_densities AS
SELECT
  mask_0,
  key_0,
  SUM(n / volume) AS density
FROM (
  SELECT
    CASE
      WHEN labels_1.at_root
      THEN 0
      ELSE CASE labels_1.level WHEN 0 THEN 255 WHEN 1 THEN 240 WHEN 2 THEN 224 ELSE 0 END
    END | CASE
      WHEN labels_2.at_root
      THEN 0
      ELSE CASE labels_2.level WHEN 0 THEN 768 ELSE 0 END
    END | CASE
      WHEN labels_3.at_root
      THEN 0
      ELSE CASE labels_3.level WHEN 0 THEN 31744 WHEN 1 THEN 31744 WHEN 2 THEN 24576 ELSE 0 END
    END AS mask_0,
    CASE WHEN labels_1.at_root THEN 0 ELSE labels_1.code END | CASE WHEN labels_2.at_root THEN 0 ELSE (
      labels_2.code << 8
    ) END | CASE WHEN labels_3.at_root THEN 0 ELSE (
      labels_3.code << 10
    ) END AS key_0,
    1.0e0 * CAST(CASE WHEN labels_1.at_root THEN 53 ELSE labels_1.leaves END AS DOUBLE) * CAST(CASE WHEN labels_2.at_root THEN 2 ELSE labels_2.leaves END AS DOUBLE) * CAST(CASE WHEN labels_3.at_root THEN 7 ELSE labels_3.leaves END AS DOUBLE) AS volume,
    classes.n
  FROM kanon_classes AS classes
  JOIN (
    SELECT
      *
    FROM kanon_label_facts
    WHERE
      number = 0
  ) AS labels_1
    ON labels_1.level = classes.level_1 AND labels_1.code = (
      key_0 & 255
    )
  JOIN (
    SELECT
      *
    FROM kanon_label_facts
    WHERE
      number = 1
  ) AS labels_2
    ON labels_2.level = classes.level_2
    AND labels_2.code = (
      (
        key_0 >> 8
      ) & 3
    )
  JOIN (
    SELECT
      *
    FROM kanon_label_facts
    WHERE
      number = 2
  ) AS labels_3
    ON labels_3.level = classes.level_3
    AND labels_3.code = (
      (
        key_0 >> 10
      ) & 31
    )
  UNION ALL
  SELECT
    0 AS mask_0,
    0 AS key_0,
    742.0 AS volume,
    3 AS n
) AS boxes
GROUP BY
  mask_0,
  key_0;

-- patterns of masks
SELECT DISTINCT
  mask_0
FROM kanon_densities AS densities
ORDER BY
  mask_0;

-- boxes that cover each tuple
CREATE TEMPORARY TABLE kanon_covered AS
WITH tuples AS (
  SELECT
    key_0,
    CAST(SUM(n) AS BIGINT) AS n
  FROM kanon_frequency
  GROUP BY
    key_0
), pairs AS MATERIALIZED (
  SELECT
    key_0,
    n,
    mask_0,
    key_0 & mask_0 AS masked_key_0
  FROM tuples
  CROSS JOIN (VALUES
    (0),
    (32512)) AS patterns(mask_0)
)
SELECT
  pairs.key_0,
  pairs.n,
  densities.density
FROM pairs
JOIN kanon_densities AS densities
  ON pairs.mask_0 = densities.mask_0 AND pairs.masked_key_0 = densities.key_0;

-- KL divergence
SELECT
  SUM(n * (
    LN(CAST(n AS DOUBLE) / density) / LN(2.0)
  )) / CAST(60 AS DOUBLE),
  SUM(n)
FROM (
  SELECT
    n,
    SUM(density) AS density
  FROM kanon_covered
  GROUP BY
    key_0,
    n
) AS rebuilt;

-- drop the boxes that cover each tuple
DROP TABLE IF EXISTS kanon_covered;

-- drop the densities
DROP TABLE IF EXISTS kanon_densities;

-- what the cells of the classes cost
SELECT
  SUM(
    classes.n * (
      CASE WHEN labels_1.at_root THEN 52 ELSE labels_1.leaves - 1 END
    )
  ),
  SUM(classes.n * (
    CASE WHEN labels_2.at_root THEN 1 ELSE labels_2.leaves - 1 END
  )),
  SUM(classes.n * (
    CASE WHEN labels_3.at_root THEN 6 ELSE labels_3.leaves - 1 END
  )),
  SUM(
    classes.n * (
      CASE
        WHEN labels_1.at_root
        THEN 1000000000
        ELSE CASE
          WHEN labels_1.lower IS NULL
          THEN 0
          ELSE CAST(ROUND(
            GREATEST(
              (
                LEAST(labels_1.upper, 97.0) / 2 - GREATEST(labels_1.lower, 20.0) / 2
              ) / 38.5,
              0
            ) * 1000000000
          ) AS BIGINT)
        END
      END
    )
  ),
  SUM(
    classes.n * (
      CASE
        WHEN labels_2.at_root
        THEN 1000000000
        ELSE CASE
          WHEN labels_2.leaves = 1
          THEN 0
          ELSE CAST(ROUND(labels_2.leaves / 2.0 * 1000000000) AS BIGINT)
        END
      END
    )
  ),
  SUM(
    classes.n * (
      CASE
        WHEN labels_3.at_root
        THEN 1000000000
        ELSE CASE
          WHEN labels_3.leaves = 1
          THEN 0
          ELSE CAST(ROUND(labels_3.leaves / 7.0 * 1000000000) AS BIGINT)
        END
      END
    )
  ),
  SUM(classes.n * (
    CASE WHEN labels_1.at_root THEN 3 ELSE labels_1.level END
  )),
  SUM(classes.n * (
    CASE WHEN labels_2.at_root THEN 1 ELSE labels_2.level END
  )),
  SUM(classes.n * (
    CASE WHEN labels_3.at_root THEN 3 ELSE labels_3.level END
  )),
  SUM(
    classes.n * (
      CASE
        WHEN labels_1.at_root
        THEN 590689060
        ELSE CASE
          WHEN labels_1.n > 0
          THEN LEAST(
            CAST(ROUND(LN(CAST(labels_1.n AS DOUBLE)) / LN(2.0) * 100000000) AS BIGINT),
            590689060
          )
          ELSE 0
        END
      END
    )
  ),
  SUM(
    classes.n * (
      CASE
        WHEN labels_2.at_root
        THEN 590689060
        ELSE CASE
          WHEN labels_2.n > 0
          THEN LEAST(
            CAST(ROUND(LN(CAST(labels_2.n AS DOUBLE)) / LN(2.0) * 100000000) AS BIGINT),
            590689060
          )
          ELSE 0
        END
      END
    )
  ),
  SUM(
    classes.n * (
      CASE
        WHEN labels_3.at_root
        THEN 590689060
        ELSE CASE
          WHEN labels_3.n > 0
          THEN LEAST(
            CAST(ROUND(LN(CAST(labels_3.n AS DOUBLE)) / LN(2.0) * 100000000) AS BIGINT),
            590689060
          )
          ELSE 0
        END
      END
    )
  ),
  SUM(
    classes.n * 1.0e0 * CAST(CASE WHEN labels_1.at_root THEN 53 ELSE labels_1.leaves END AS DOUBLE) * CAST(CASE WHEN labels_2.at_root THEN 2 ELSE labels_2.leaves END AS DOUBLE) * CAST(CASE WHEN labels_3.at_root THEN 7 ELSE labels_3.leaves END AS DOUBLE)
  )
FROM kanon_classes AS classes
JOIN (
  SELECT
    *
  FROM kanon_label_facts
  WHERE
    number = 0
) AS labels_1
  ON labels_1.level = classes.level_1 AND labels_1.code = (
    key_0 & 255
  )
JOIN (
  SELECT
    *
  FROM kanon_label_facts
  WHERE
    number = 1
) AS labels_2
  ON labels_2.level = classes.level_2
  AND labels_2.code = (
    (
      key_0 >> 8
    ) & 3
  )
JOIN (
  SELECT
    *
  FROM kanon_label_facts
  WHERE
    number = 2
) AS labels_3
  ON labels_3.level = classes.level_3
  AND labels_3.code = (
    (
      key_0 >> 10
    ) & 31
  );

-- drop the classes of the release
DROP TABLE IF EXISTS kanon_classes;
