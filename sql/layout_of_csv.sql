/* How a CSV file is laid out, as far as can be told by its first lines. */
SELECT "Delimiter", "Quote", "SkipRows", "HasHeader" FROM sniff_csv($path, sample_size = $sample)
