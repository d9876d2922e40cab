/* What may be spent on a table by differentially private answers; place is nothing for tables of this database, and
   entity the column that names people, where each row is not a person of its own. */
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
