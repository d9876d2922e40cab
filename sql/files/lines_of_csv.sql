/* The first lines of a text file, packed or not, each as it stands there. */
SELECT line
FROM read_csv(
  $path, auto_detect = false, header = false, columns = {'line': 'VARCHAR'}, delim = CHR(1), quote = '', escape = ''
)
LIMIT $limit
