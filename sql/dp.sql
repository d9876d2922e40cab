/* Budgets of differential privacy and their charges: dp/budget.py runs these before an answer is made. */

/* budgets: The budgets of all tables. */
SELECT
  place,
  source_schema,
  source_name,
  entity,
  epsilon,
  delta
FROM kanon.dp_budgets
ORDER BY
  place,
  source_schema,
  source_name
;

/* spent: The charges of a table, in order. */
SELECT
  id,
  spent_at,
  question,
  epsilon,
  delta,
  group_column,
  group_value
FROM kanon.dp_spent
WHERE
  place = $place
  AND source_schema = $source_schema
  AND source_name = $source_name
ORDER BY id
;

/* budget_take: Lock the budget of a table: of two concurrent charges, one waits or retries. */
UPDATE kanon.dp_budgets
SET
  questions = questions + 1
WHERE
  place = $place
  AND source_schema = $source_schema
  AND source_name = $source_name
;

/* spend: Record a charge. */
INSERT INTO kanon.dp_spent
SELECT
  COALESCE(MAX(id), 0) + 1,
  CAST($spent_at AS TIMESTAMP),
  $place,
  $source_schema,
  $source_name,
  $question,
  CAST($epsilon AS DECIMAL(38, 20)),
  CAST($delta AS DECIMAL(38, 20)),
  $group_column,
  $group_value
FROM kanon.dp_spent
;

/* budgets_create: The limits of differentially private answers about tables. The place is empty for tables of this
   database; the entity is the column of the people, unless each row is a person. */
CREATE TABLE IF NOT EXISTS kanon.dp_budgets (
  place TEXT,
  source_schema TEXT,
  source_name TEXT,
  entity TEXT,
  epsilon DECIMAL(38, 20),
  delta DECIMAL(38, 20),
  questions BIGINT,
  PRIMARY KEY (place, source_schema, source_name)
)
;

/* spent_create: The charges of tables: one row for each answer, written before the answer is made, and never deleted.
   */
CREATE TABLE IF NOT EXISTS kanon.dp_spent (
  id BIGINT,
  spent_at TIMESTAMP,
  place TEXT,
  source_schema TEXT,
  source_name TEXT,
  question TEXT,
  epsilon DECIMAL(38, 20),
  delta DECIMAL(38, 20),
  group_column TEXT,
  group_value TEXT
)
;

/* budget_insert: Insert the budget of a table. */
INSERT INTO kanon.dp_budgets
SELECT
  $place,
  $source_schema,
  $source_name,
  $entity,
  CAST($epsilon AS DECIMAL(38, 20)),
  CAST($delta AS DECIMAL(38, 20)),
  0
;

/* budget_update: Change the budget of a table; its charges still count. */
UPDATE kanon.dp_budgets
SET
  entity = $entity,
  epsilon = CAST($epsilon AS DECIMAL(38, 20)),
  delta = CAST($delta AS DECIMAL(38, 20))
WHERE
  place = $place
  AND source_schema = $source_schema
  AND source_name = $source_name
;
