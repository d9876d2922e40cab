/* How the sensitive values of a part could lie so that one of its sides fails a model: for each side and each of the
   $wanted most frequent values of the part (the lead), the side is filled with the lead first, then with the other
   values, most frequent first. there are the rows of the part with a value, n those that the side takes. */
WITH of_parts AS (
  SELECT
    part,
    value,
    SUM(n) AS n
  FROM kanon_values
  GROUP BY
    part,
    value
), ranked AS (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY part ORDER BY n DESC, value) AS rank
  FROM of_parts
), sizes AS (
  SELECT
    part,
    side,
    SUM(n) AS size
  FROM kanon_values
  GROUP BY
    part,
    side
), led AS (
  SELECT
    sizes.part,
    sizes.side,
    leads.rank AS lead,
    ranked.value,
    ranked.n,
    sizes.size,
    SUM(ranked.n) OVER (
      PARTITION BY sizes.part, sizes.side, leads.rank
      ORDER BY CASE WHEN ranked.rank = leads.rank THEN 0 ELSE ranked.rank END
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS up_to
  FROM sizes
  JOIN ranked
    ON ranked.part = sizes.part
  JOIN ranked AS leads
    ON leads.part = sizes.part
  WHERE
    leads.rank <= $wanted
)
SELECT
  part,
  side,
  lead,
  value,
  CAST(n AS BIGINT) AS there,
  CAST(LEAST(n, GREATEST(0, size - (up_to - n))) AS BIGINT) AS n
FROM led
