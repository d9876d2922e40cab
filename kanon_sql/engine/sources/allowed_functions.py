"""The functions that an expression of ``[prepare]`` may call, by their names in DuckDB.

Each is scalar, returns the same for the same arguments in every session, and reads nothing but its arguments: no file,
no table, no setting, no clock, no catalog. ``docs/prepare.md`` has the same list; ``tests/engine/test_preparing.py``
compares both, and compares the list with the catalog of the installed DuckDB.
"""

from __future__ import annotations

ALLOWED_FUNCTIONS: dict[str, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        "operators": "+ - * / // % ** ^ & | ~ << >> || ^@ ~~ !~~ ~~* !~~* ~~~ ->>",
        "text": """
            ascii bit_length chr concat concat_ws contains damerau_levenshtein ends_with format hamming instr
            jaccard jaro_similarity jaro_winkler_similarity lcase left length len levenshtein like_escape lower lpad
            ltrim ilike_escape nfc_normalize not_ilike_escape not_like_escape ord overlay position prefix printf
            regexp_escape regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_replace
            regexp_split_to_array repeat replace reverse right rpad rtrim split split_part starts_with str_split
            str_split_regex string_split string_split_regex string_to_array strip_accents strlen strpos substr
            substring suffix translate trim ucase unicode upper
            """,
        "numbers": """
            abs acos asin atan atan2 cbrt ceil ceiling cos cot degrees even exp fdiv floor fmod gcd
            greatest_common_divisor isinf isnan lcm least_common_multiple ln log log10 log2 mod pi pow power radians
            round round_even sign sin sqrt tan trunc xor
            """,
        "dates and times": """
            century date_add date_diff date_part date_sub date_trunc datediff datepart datesub datetrunc day dayname
            dayofmonth dayofweek dayofyear days_in_month decade epoch epoch_ms epoch_ns epoch_us era hour isfinite
            isodow isoyear julian last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns
            microsecond millennium millisecond minute month monthname nanosecond quarter second strftime strptime
            time_bucket to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds
            to_minutes to_months to_quarters to_seconds to_weeks to_years try_strptime week weekday weekofyear year
            yearweek
            """,
        "conditions": "greatest if least nullif",
        "lists and structs": """
            array_contains array_extract array_length array_position array_slice array_to_string cardinality flatten
            list_concat list_contains list_distinct list_element list_extract list_has list_indexof list_position
            list_slice list_unique list_value map map_contains map_extract map_keys map_values row struct_extract
            struct_extract_at struct_pack
            """,
        "JSON": """
            from_json json_array_length json_contains json_exists json_extract json_extract_path
            json_extract_path_text json_extract_string json_keys json_transform json_type json_valid json_value to_json
            """,
    }.items()
}
