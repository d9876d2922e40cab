-- what is known of every place
CREATE TEMPORARY TABLE kanon_ends AS
SELECT
  (
    SELECT
      ARRAY_AGG(node_1 ORDER BY place)
    FROM kanon_places_zip
    WHERE
      place > 0
  ) AS node_1_of_3,
  (
    SELECT
      ARRAY_AGG(leaves_1 ORDER BY place)
    FROM kanon_places_zip
    WHERE
      place > 0
  ) AS leaves_1_of_3,
  (
    SELECT
      ARRAY_AGG(node_2 ORDER BY place)
    FROM kanon_places_zip
    WHERE
      place > 0
  ) AS node_2_of_3,
  (
    SELECT
      ARRAY_AGG(leaves_2 ORDER BY place)
    FROM kanon_places_zip
    WHERE
      place > 0
  ) AS leaves_2_of_3;

-- groups of tuples with the same place, and what is known of them
CREATE TEMPORARY TABLE kanon_histogram AS
WITH working AS MATERIALIZED (
  SELECT
    *
  FROM (
    SELECT
      part,
      place_1,
      place_2,
      place_3,
      n,
      word_1,
      point_1,
      SUM(n) OVER (PARTITION BY part) AS total
    FROM kanon_tuples
  ) AS counted
  WHERE
    total >= 20
)
SELECT
  part,
  1 AS column_number,
  0 AS level,
  place_1 AS from_place,
  place_1 AS to_place,
  MIN(total) AS total,
  CAST(SUM(n) AS BIGINT) AS n,
  BIT_OR(word_1) AS word_1,
  MIN(point_1) AS low_1,
  MAX(point_1) AS high_1
FROM working
GROUP BY
  part,
  place_1
UNION ALL
SELECT
  part,
  2 AS column_number,
  0 AS level,
  place_2 AS from_place,
  place_2 AS to_place,
  MIN(total) AS total,
  CAST(SUM(n) AS BIGINT) AS n,
  BIT_OR(word_1) AS word_1,
  MIN(point_1) AS low_1,
  MAX(point_1) AS high_1
FROM working
GROUP BY
  part,
  place_2
UNION ALL
SELECT
  part,
  3 AS column_number,
  0 AS level,
  place_3 AS from_place,
  place_3 AS to_place,
  MIN(total) AS total,
  CAST(SUM(n) AS BIGINT) AS n,
  BIT_OR(word_1) AS word_1,
  MIN(point_1) AS low_1,
  MAX(point_1) AS high_1
FROM working
GROUP BY
  part,
  place_3;

-- groups under the same label
INSERT INTO kanon_histogram
SELECT
  part,
  3 AS column_number,
  1 AS level,
  places.node_1 AS from_place,
  CAST(places.node_1 + places.leaves_1 - 1 AS INT) AS to_place,
  MIN(total) AS total,
  CAST(SUM(kanon_histogram.n) AS BIGINT) AS n,
  BIT_OR(word_1) AS word_1,
  MIN(low_1) AS low_1,
  MAX(high_1) AS high_1
FROM kanon_histogram
JOIN kanon_places_zip AS places
  ON places.place = kanon_histogram.from_place
WHERE
  kanon_histogram.column_number = 3
GROUP BY
  part,
  places.node_1,
  places.leaves_1
UNION ALL
SELECT
  part,
  3 AS column_number,
  2 AS level,
  places.node_2 AS from_place,
  CAST(places.node_2 + places.leaves_2 - 1 AS INT) AS to_place,
  MIN(total) AS total,
  CAST(SUM(kanon_histogram.n) AS BIGINT) AS n,
  BIT_OR(word_1) AS word_1,
  MIN(low_1) AS low_1,
  MAX(high_1) AS high_1
FROM kanon_histogram
JOIN kanon_places_zip AS places
  ON places.place = kanon_histogram.from_place
WHERE
  kanon_histogram.column_number = 3
GROUP BY
  part,
  places.node_2,
  places.leaves_2;

-- all cuts that leave enough rows on both sides
CREATE TEMPORARY TABLE kanon_children AS
WITH known AS MATERIALIZED (
  SELECT
    part,
    column_number,
    level,
    from_place,
    to_place,
    total,
    n,
    word_1,
    low_1,
    high_1,
    BIT_OR(word_1) OVER (
      PARTITION BY part, column_number, level
      ORDER BY from_place
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before_word_1,
    MIN(low_1) OVER (
      PARTITION BY part, column_number, level
      ORDER BY from_place
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before_low_1,
    MAX(high_1) OVER (
      PARTITION BY part, column_number, level
      ORDER BY from_place
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS before_high_1,
    BIT_OR(word_1) OVER (
      PARTITION BY part, column_number, level
      ORDER BY from_place
      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS after_word_1,
    MIN(low_1) OVER (
      PARTITION BY part, column_number, level
      ORDER BY from_place
      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS after_low_1,
    MAX(high_1) OVER (
      PARTITION BY part, column_number, level
      ORDER BY from_place
      ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
    ) AS after_high_1,
    CAST(SUM(n) OVER (
      PARTITION BY part, column_number, level
      ORDER BY from_place
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS BIGINT) AS up_to
  FROM kanon_histogram
)
SELECT
  part,
  column_number,
  0 AS from_place,
  to_place,
  up_to AS inside_rows,
  total - up_to AS outside_rows,
  COALESCE(word_1, 0) | COALESCE(before_word_1, 0) AS inside_word_1,
  after_word_1 AS outside_word_1,
  LEAST(low_1, before_low_1) AS inside_low_1,
  after_low_1 AS outside_low_1,
  GREATEST(high_1, before_high_1) AS inside_high_1,
  after_high_1 AS outside_high_1
FROM known
WHERE
  column_number IN (1) AND up_to >= 10 AND total - up_to >= 10
UNION ALL
SELECT
  part,
  column_number,
  from_place,
  to_place,
  n AS inside_rows,
  total - n AS outside_rows,
  word_1 AS inside_word_1,
  COALESCE(before_word_1, 0) | COALESCE(after_word_1, 0) AS outside_word_1,
  low_1 AS inside_low_1,
  LEAST(before_low_1, after_low_1) AS outside_low_1,
  high_1 AS inside_high_1,
  GREATEST(before_high_1, after_high_1) AS outside_high_1
FROM known
WHERE
  column_number = 2 AND n >= 10 AND total - n >= 10
UNION ALL
SELECT
  part,
  column_number,
  from_place,
  to_place,
  n AS inside_rows,
  total - n AS outside_rows,
  word_1 AS inside_word_1,
  COALESCE(before_word_1, 0) | COALESCE(after_word_1, 0) AS outside_word_1,
  low_1 AS inside_low_1,
  LEAST(before_low_1, after_low_1) AS outside_low_1,
  high_1 AS inside_high_1,
  GREATEST(before_high_1, after_high_1) AS outside_high_1
FROM known
WHERE
  column_number = 3 AND n >= 10 AND total - n >= 10;

-- the cut of each part that saves most
CREATE TEMPORARY TABLE kanon_chosen AS
SELECT
  part,
  column_number,
  FALSE AS at_null,
  from_place,
  to_place,
  CAST(NULL AS BIGINT) AS "position",
  TRUE AS allowed,
  lost
FROM (
  SELECT
    *,
    ROW_NUMBER() OVER (PARTITION BY part ORDER BY lost, column_number, from_place, to_place) AS rank
  FROM (
    SELECT
      cuts.part,
      cuts.column_number,
      cuts.from_place,
      cuts.to_place,
      cuts.inside_rows * (
        CAST((
          cuts.inside_high_1 - cuts.inside_low_1
        ) AS DOUBLE) / 52.0 + (
          CASE WHEN BIT_COUNT((
            cuts.inside_word_1 & 3
          )) = 1 THEN 0.0 ELSE 1.0 END
        ) + (
          CASE
            WHEN BIT_COUNT((
              (
                cuts.inside_word_1 >> 2
              ) & 127
            )) = 1
            THEN 0.0
            WHEN (
              (
                (
                  cuts.inside_word_1 >> 2
                ) & 127
              ) >> (
                (
                  LIST_EXTRACT(
                    ends.node_1_of_3,
                    BIT_COUNT(
                      (
                        (
                          (
                            cuts.inside_word_1 >> 2
                          ) & 127
                        ) & (
                          -(
                            (
                              cuts.inside_word_1 >> 2
                            ) & 127
                          )
                        )
                      ) - 1
                    ) + 1
                  ) + LIST_EXTRACT(
                    ends.leaves_1_of_3,
                    BIT_COUNT(
                      (
                        (
                          (
                            cuts.inside_word_1 >> 2
                          ) & 127
                        ) & (
                          -(
                            (
                              cuts.inside_word_1 >> 2
                            ) & 127
                          )
                        )
                      ) - 1
                    ) + 1
                  )
                ) - 1
              )
            ) = 0
            THEN (
              CAST(LIST_EXTRACT(
                ends.leaves_1_of_3,
                BIT_COUNT(
                  (
                    (
                      (
                        cuts.inside_word_1 >> 2
                      ) & 127
                    ) & (
                      -(
                        (
                          cuts.inside_word_1 >> 2
                        ) & 127
                      )
                    )
                  ) - 1
                ) + 1
              ) AS DOUBLE) - 1.0
            ) / 6.0
            WHEN (
              (
                (
                  cuts.inside_word_1 >> 2
                ) & 127
              ) >> (
                (
                  LIST_EXTRACT(
                    ends.node_2_of_3,
                    BIT_COUNT(
                      (
                        (
                          (
                            cuts.inside_word_1 >> 2
                          ) & 127
                        ) & (
                          -(
                            (
                              cuts.inside_word_1 >> 2
                            ) & 127
                          )
                        )
                      ) - 1
                    ) + 1
                  ) + LIST_EXTRACT(
                    ends.leaves_2_of_3,
                    BIT_COUNT(
                      (
                        (
                          (
                            cuts.inside_word_1 >> 2
                          ) & 127
                        ) & (
                          -(
                            (
                              cuts.inside_word_1 >> 2
                            ) & 127
                          )
                        )
                      ) - 1
                    ) + 1
                  )
                ) - 1
              )
            ) = 0
            THEN (
              CAST(LIST_EXTRACT(
                ends.leaves_2_of_3,
                BIT_COUNT(
                  (
                    (
                      (
                        cuts.inside_word_1 >> 2
                      ) & 127
                    ) & (
                      -(
                        (
                          cuts.inside_word_1 >> 2
                        ) & 127
                      )
                    )
                  ) - 1
                ) + 1
              ) AS DOUBLE) - 1.0
            ) / 6.0
            ELSE 1.0
          END
        )
      ) + cuts.outside_rows * (
        CAST((
          cuts.outside_high_1 - cuts.outside_low_1
        ) AS DOUBLE) / 52.0 + (
          CASE WHEN BIT_COUNT((
            cuts.outside_word_1 & 3
          )) = 1 THEN 0.0 ELSE 1.0 END
        ) + (
          CASE
            WHEN BIT_COUNT((
              (
                cuts.outside_word_1 >> 2
              ) & 127
            )) = 1
            THEN 0.0
            WHEN (
              (
                (
                  cuts.outside_word_1 >> 2
                ) & 127
              ) >> (
                (
                  LIST_EXTRACT(
                    ends.node_1_of_3,
                    BIT_COUNT(
                      (
                        (
                          (
                            cuts.outside_word_1 >> 2
                          ) & 127
                        ) & (
                          -(
                            (
                              cuts.outside_word_1 >> 2
                            ) & 127
                          )
                        )
                      ) - 1
                    ) + 1
                  ) + LIST_EXTRACT(
                    ends.leaves_1_of_3,
                    BIT_COUNT(
                      (
                        (
                          (
                            cuts.outside_word_1 >> 2
                          ) & 127
                        ) & (
                          -(
                            (
                              cuts.outside_word_1 >> 2
                            ) & 127
                          )
                        )
                      ) - 1
                    ) + 1
                  )
                ) - 1
              )
            ) = 0
            THEN (
              CAST(LIST_EXTRACT(
                ends.leaves_1_of_3,
                BIT_COUNT(
                  (
                    (
                      (
                        cuts.outside_word_1 >> 2
                      ) & 127
                    ) & (
                      -(
                        (
                          cuts.outside_word_1 >> 2
                        ) & 127
                      )
                    )
                  ) - 1
                ) + 1
              ) AS DOUBLE) - 1.0
            ) / 6.0
            WHEN (
              (
                (
                  cuts.outside_word_1 >> 2
                ) & 127
              ) >> (
                (
                  LIST_EXTRACT(
                    ends.node_2_of_3,
                    BIT_COUNT(
                      (
                        (
                          (
                            cuts.outside_word_1 >> 2
                          ) & 127
                        ) & (
                          -(
                            (
                              cuts.outside_word_1 >> 2
                            ) & 127
                          )
                        )
                      ) - 1
                    ) + 1
                  ) + LIST_EXTRACT(
                    ends.leaves_2_of_3,
                    BIT_COUNT(
                      (
                        (
                          (
                            cuts.outside_word_1 >> 2
                          ) & 127
                        ) & (
                          -(
                            (
                              cuts.outside_word_1 >> 2
                            ) & 127
                          )
                        )
                      ) - 1
                    ) + 1
                  )
                ) - 1
              )
            ) = 0
            THEN (
              CAST(LIST_EXTRACT(
                ends.leaves_2_of_3,
                BIT_COUNT(
                  (
                    (
                      (
                        cuts.outside_word_1 >> 2
                      ) & 127
                    ) & (
                      -(
                        (
                          cuts.outside_word_1 >> 2
                        ) & 127
                      )
                    )
                  ) - 1
                ) + 1
              ) AS DOUBLE) - 1.0
            ) / 6.0
            ELSE 1.0
          END
        )
      ) AS lost
    FROM kanon_children AS cuts
    CROSS JOIN kanon_ends AS ends
  ) AS lost
) AS ranked
WHERE
  rank = 1;

-- cuts of the round
CREATE TEMPORARY TABLE kanon_round AS
SELECT
  part,
  column_number,
  at_null,
  from_place,
  to_place,
  position,
  allowed
FROM kanon_chosen;

-- cut in two
CREATE TEMPORARY TABLE kanon_next AS
SELECT
  CASE
    WHEN NOT kanon_sides.allowed
    THEN kanon_tuples.part
    WHEN CASE column_number
      WHEN 1
      THEN kanon_tuples.place_1
      WHEN 2
      THEN kanon_tuples.place_2
      WHEN 3
      THEN kanon_tuples.place_3
    END BETWEEN kanon_sides.from_place AND kanon_sides.to_place
    THEN kanon_sides.inside
    ELSE kanon_sides.outside
  END AS part,
  kanon_tuples.place_1,
  kanon_tuples.place_2,
  kanon_tuples.place_3,
  kanon_tuples.n,
  kanon_tuples.word_1,
  kanon_tuples.point_1
FROM kanon_tuples
JOIN kanon_sides
  ON kanon_sides.part = kanon_tuples.part;
