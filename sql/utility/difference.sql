/* How far apart the shares of rows in the cells of a marginal are: 0 for the same shares, 2 for cells without a row in
   common. */
SELECT
  SUM(ABS(original / $rows_of_original - released / $rows_of_release))
FROM cells
