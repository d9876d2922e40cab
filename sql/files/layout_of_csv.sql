/* How a CSV file is laid out, as far as can be told by its first lines. */
SELECT
  "Delimiter",
  "Quote",
  "SkipRows",
  "HasHeader",
  "DateFormat",
  "TimestampFormat"
FROM sniff_csv($path, sample_size = $sample)
