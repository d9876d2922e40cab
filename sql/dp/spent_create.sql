/* What was spent on a table: one row for each answer, written before the answer is made, and never taken out. */
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
