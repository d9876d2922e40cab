/* Does the order of a release follow that of its original? risks/attacks/order.py runs a rank test and counts rows in
   their original place. */

/* items: Rows of a release that are alike in every column: their number, and their mean place. */
SELECT
  ROW_NUMBER() OVER () AS item,
  class,
  $shown,
  COUNT(*) AS size,
  AVG(position) AS place
FROM released
GROUP BY
  class,
  $shown
;

/* possible: The rows of the original, each with the items that it can be. */
SELECT
  people.position,
  items.item,
  items.size,
  items.place
FROM original
INNER JOIN people
  ON people.position = original.rowid
INNER JOIN pairs
  ON pairs.tuple = people.tuple
INNER JOIN items
  ON items.class = pairs.class AND $same
;

/* test: How closely the order of a release follows that of its original: sums over groups of items of the same size.
   Products of the deviations of score and place; their variance by chance; squared deviations of scores and of
   places; the largest possible sum of products. */
WITH scores AS (
  SELECT
    size,
    place,
    AVG(position) AS score
  FROM possible
  GROUP BY
    item,
    size,
    place
), groups AS (
  SELECT
    COUNT(*) - 1 AS freedom,
    COVAR_SAMP(score, place) AS products,
    VAR_SAMP(score) AS of_scores,
    VAR_SAMP(place) AS of_places
  FROM scores
  GROUP BY
    size
  HAVING
    COUNT(*) > 1
)
SELECT
  COALESCE(SUM(freedom * products), 0),
  COALESCE(SUM(freedom * of_scores * of_places), 0),
  COALESCE(SUM(freedom * of_scores), 0),
  COALESCE(SUM(freedom * of_places), 0),
  COALESCE(SUM(freedom * SQRT(of_scores * of_places)), 0)
FROM groups
;

/* in_place: How many rows of a release are in a place where the original, without the rows that find no class, has a
   row that they can be. Also the rows of the original that find a class; over these, the sums of how many rows of the
   release each can be, r, and of LN(r!) / r. */
WITH here AS (
  SELECT
    items.item,
    ROW_NUMBER() OVER (ORDER BY released.position) AS place
  FROM released
  INNER JOIN items
    ON items.class = released.class AND $same
), there AS (
  SELECT
    item,
    DENSE_RANK() OVER (ORDER BY position) AS place
  FROM possible
), rooms AS (
  SELECT
    CAST(SUM(size) AS DOUBLE) AS room
  FROM possible
  GROUP BY
    position
), counted AS (
  SELECT
    COUNT(*) AS placed,
    SUM(room) AS fitting,
    SUM(LGAMMA(room + 1) / room) AS ways
  FROM rooms
), found AS (
  SELECT
    COUNT(*) AS in_place
  FROM here
  INNER JOIN there
    ON there.item = here.item AND there.place = here.place
)
SELECT
  in_place,
  placed,
  fitting,
  ways
FROM counted
CROSS JOIN found
;
