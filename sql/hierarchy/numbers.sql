/* What rules make of an exact number: the lower bound of its interval (past is the number, or how far it is past the
   origin of the rule), the label of one, the number without what it is past a power of ten, and by how much it was
   rounded up, or away from zero. */
SELECT
  number - (past % width + width) % width AS lower_bound,
  low || '-' || high AS dashes,
  '[' || low || ', ' || high || ')' AS brackets,
  number - (number % unit) AS cut,
  CASE WHEN rounded > value THEN unit ELSE 0 END AS rounded_up,
  CASE
    WHEN number < 0 AND rounded < value THEN minus_unit
    WHEN number > 0 AND rounded > value THEN unit
    ELSE 0
  END AS rounded_away
FROM numbers
