/* What an expression of a new column has that it must not have, as DuckDB parses it. Each function of the list is scalar,
   returns the same for the same arguments in every session, and reads nothing but its arguments: no file, no table, no
   setting, no clock, no catalog. docs/prepare.md has the same list. LAMBDA is the arrow of json_extract: no function of
   the list takes a lambda. A name that is not a column is a function without parentheses, such as current_date. */
WITH functions AS (
  SELECT kind, UNNEST(REGEXP_EXTRACT_ALL(names, '\S+')) AS name
  FROM (VALUES
    ('operators', '+ - * / // % ** ^ & | ~ << >> || ^@ ~~ !~~ ~~* !~~* ~~~ ->>'),
    ('text', '
      ascii bit_length chr concat concat_ws contains damerau_levenshtein ends_with format hamming instr jaccard
      jaro_similarity jaro_winkler_similarity lcase left length len levenshtein like_escape lower lpad ltrim ilike_escape
      nfc_normalize not_ilike_escape not_like_escape ord overlay position prefix printf regexp_escape regexp_extract
      regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array repeat replace reverse
      right rpad rtrim split split_part starts_with str_split str_split_regex string_split string_split_regex
      string_to_array strip_accents strlen strpos substr substring suffix translate trim ucase unicode upper'),
    ('numbers', '
      abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp fdiv floor fmod gcd greatest_common_divisor
      isinf isnan lcm least_common_multiple ln log log10 log2 mod pi pow power radians round round_even sign sin sqrt tan
      trunc xor'),
    ('dates and times', '
      century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth
      dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era hour isfinite isodow isoyear julian
      last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns microsecond millennium millisecond
      minute month monthname nanosecond quarter second strftime strptime time_bucket to_centuries to_days to_decades
      to_hours to_microseconds to_millennia to_milliseconds to_minutes to_months to_quarters to_seconds to_weeks to_years
      try_strptime week weekday weekofyear year yearweek'),
    ('conditions', 'greatest if least nullif'),
    ('lists and structs', '
      array_contains array_extract array_length array_position array_slice array_to_string cardinality flatten
      list_concat list_contains list_distinct list_element list_extract list_has list_indexof list_position list_slice
      list_unique list_value map map_contains map_extract map_keys map_values row struct_extract struct_extract_at
      struct_pack'),
    ('JSON', '
      from_json json_array_length json_contains json_exists json_extract json_extract_path json_extract_path_text
      json_extract_string json_keys json_transform json_type json_valid json_value to_json')
  ) AS kinds(kind, names)
), parsed AS (
  SELECT JSON_SERIALIZE_SQL($written) AS tree
), nodes AS (
  SELECT
    node.id,
    JSON_EXTRACT_STRING(node.value, '$.class') AS class,
    JSON_EXTRACT_STRING(node.value, '$.schema') <> '' OR JSON_EXTRACT_STRING(node.value, '$.catalog') <> '' AS in_schema,
    NULLIF(LOWER(JSON_EXTRACT_STRING(node.value, '$.column_names[0]')), 'prepared') AS bare,
    JSON_EXTRACT_STRING(node.value, '$.function_name') AS called
  FROM parsed, JSON_TREE(parsed.tree, '$.statements[0].node.select_list[0]') AS node
  WHERE JSON_EXISTS(node.value, '$.class')
)
SELECT
  (
    SELECT
      COALESCE(JSON_ARRAY_LENGTH(tree, '$.statements') <> 1, TRUE)
      OR COALESCE(JSON_ARRAY_LENGTH(tree, '$.statements[0].node.select_list') <> 1, TRUE)
    FROM parsed
  ) AS is_another,
  (SELECT JSON_EXTRACT_STRING(tree, '$.statements[0].node.select_list[0].alias') <> '' FROM parsed) AS has_alias,
  ARG_MIN(class, id) FILTER(WHERE NOT class IN (
    'FUNCTION', 'COLUMN_REF', 'CONSTANT', 'CASE', 'CAST', 'COMPARISON', 'CONJUNCTION', 'OPERATOR', 'BETWEEN', 'TYPE', 'LAMBDA'
  )) AS part,
  BOOL_OR(in_schema) AS in_schema,
  COALESCE(
    ARG_MIN(bare, id) FILTER(WHERE class = 'COLUMN_REF'),
    ARG_MIN(called, id) FILTER(WHERE class = 'FUNCTION' AND NOT called IN (SELECT name FROM functions))
  ) AS unknown
FROM nodes
