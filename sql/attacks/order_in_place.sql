/* How many rows of a release stand where the original, without the rows that find no class, has one that they can be.
   Beside it: the rows of the original that find a class; over these, the sums of how many rows of the release each can
   be, r, and of LN(r!) / r. */
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
