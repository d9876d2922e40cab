/* The difference of the shares of rows in the cells of a marginal: 0 for equal shares, 2 for no cell with rows in
   common. */
SELECT
  SUM(ABS(original / $rows_of_original - released / $rows_of_release))
FROM cells
