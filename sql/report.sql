/* Queries of a report about the rows of a release: evidence/report/attributes.py and proof.py. */

/* rows_alone: The number of rows that are unique in some columns. */
WITH sizes AS (
  SELECT
    COUNT(*) AS n
  FROM released
  GROUP BY
    $alike
)
SELECT
  COUNT(*) FILTER (WHERE n = 1)
FROM sizes
;

/* by_label: The rows of the release by their label in a column. */
SELECT
  $label AS label,
  COUNT(*) AS n
FROM released
GROUP BY
  $label
;

/* left_out_by_label: The rows that were left out by their label in a column, whether the release has the label, and how
   many people these rows are about. */
WITH each_row AS (
  SELECT
    $label AS label,
    $person AS person,
    EXISTS(
      SELECT
        1
      FROM released
      WHERE
        $same
    ) AS is_published
  FROM left_out
)
SELECT
  label,
  is_published,
  COUNT(*) AS n,
  COUNT(DISTINCT person) AS people
FROM each_row
GROUP BY
  label,
  is_published
;

/* differences: The number of rows that were made but not given, and the reverse; equal rows count as often as they
   occur. */
SELECT
  (
    SELECT
      COUNT(*)
    FROM (
      SELECT
        *
      FROM made
      EXCEPT ALL
      SELECT
        *
      FROM given
    ) AS missing
  ) AS missing,
  (
    SELECT
      COUNT(*)
    FROM (
      SELECT
        *
      FROM given
      EXCEPT ALL
      SELECT
        *
      FROM made
    ) AS more
  ) AS more
;

/* tied: For each pseudonym, the rows that it links, as one text. */
SELECT
  CAST(LIST_SORT(LIST($row)) AS TEXT) AS rows_of_one
FROM released
WHERE
  NOT $pseudonym IS NULL
GROUP BY
  $pseudonym
;
