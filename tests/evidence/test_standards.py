"""``kanon check --standard``: for each rule of each standard a table that meets it, and one that does not.

Expected verdicts are read from the rules (45 CFR 164.514(b)(2), and the thresholds of the others), not from the code.
"""

from __future__ import annotations

import datetime as dt
import random
import re
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from each import each
from engines import PLACES, Place, quoted
from rows import released_rows

import kanon_sql as kanon
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import UsageError
from kanon_sql.evidence.report.render import VerdictSegment, verdict_segments
from kanon_sql.evidence.standards.judge import VERDICTS, CheckedRule, CheckedStandard, Facts, check_standards
from kanon_sql.evidence.standards.labels import range_of, tells_old_age, tells_small_area
from kanon_sql.policy.standards import standard_named, standard_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from conftest import Ended

THIS_YEAR = dt.datetime.now(tz=dt.UTC).year

# 60 rows as a release of kanon has them: labels, and nothing that a rule forbids. Of each class there are 30 rows.
CLEAN = {
    "sex": "CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END",
    "age": "CASE WHEN i % 4 < 2 THEN '[20, 40)' ELSE '90+' END",
    "zip": "CASE WHEN i % 4 < 2 THEN '021**' ELSE '000**' END",
    "admission_date": "CASE WHEN i % 3 = 0 THEN '2020' ELSE '2010s' END",
    "birth_year": f"{THIS_YEAR - 60} + i % 5",
    "state": "CASE WHEN i % 2 = 0 THEN 'MA' ELSE 'NY' END",
    "diagnosis": "['flu', 'asthma', 'cold'][1 + i % 3]",
    "cost": "100.5 * (i % 7)",
    "weight": "['10-5-20', '120/80', '[1900.1, 2000.5]', 'version 2.5'][1 + i % 4]",
    "amount": "['100,000 - 200,000', '1000.00-1999.99', '0012345', '<=0100000'][1 + i % 4]",
    "days_since_admission": "NULL::INTEGER",
    "course": "['as before', 'better', 'took 20-30 steps', 'between 1.5 and 2.5'][1 + i % 4]",
}
ROWS = 60


def table(columns: Mapping[str, str], rows: int = ROWS) -> duckdb.DuckDBPyConnection:
    """Return a database with a table ``t`` of these columns, each an expression over the number of the row, ``i``."""
    connection = duckdb.connect()
    make(connection, columns, rows)
    return connection


def make(connection: duckdb.DuckDBPyConnection, columns: Mapping[str, str], rows: int) -> None:
    expressions = ", ".join(f"{expression} AS {quoted(name)}" for name, expression in columns.items())
    connection.table_function("range", [rows]).project("range AS i").project(expressions).create("t")


def rules(columns: Mapping[str, str], standard: str, rows: int = ROWS, **settings: Any) -> dict[str, CheckedRule]:
    """Return the rules of a standard, by their names, as a table has them."""
    with table(columns, rows) as connection:
        found = kanon.check(connection, "t", standards=[standard], **settings)
    (checked,) = found.standards
    failing = [rule for rule in checked.rules if rule.verdict not in {"holds", "for a person"}]
    assert checked.holds == (not failing)
    assert found.holds == (found.satisfies_policy and checked.holds)
    return {rule.id: rule for rule in checked.rules}


HIPAA = "hipaa-safe-harbor"
BY_SEX = {"quasi_identifiers": ["sex"], "count": "people"}
# By standard and rule, tables that break it: a column in the place of another, or beside the others.
BREAKING: dict[tuple[str, str], list[dict[str, str]]] = {
    (HIPAA, "A"): [
        {"name": "'Person ' || i"},
        {"nachname": "['Meier', 'Weber', 'Wolf'][1 + i % 3]"},
        {"病人姓名": "['王伟', '李娜', '张敏'][1 + i % 3]"},
    ],
    (HIPAA, "B areas"): [
        {"city": "'Boston'"},
        {"home": "'P.O. Box ' || i"},
        {"county": "'Suffolk'"},
        {"census_block": "'250250101'"},
        {"fips": "'25025'"},
        {"lat_lon": "'42.3601' || i || ', -71.0589' || i"},
    ],
    (HIPAA, "B ZIP"): [
        {"zip": "'0213' || i % 10"},
        {"zip": "'0213*'"},
        {"zip": "'036**'"},
        {"zip": "2139"},
        {"zip": "'[02100, 02200)'"},
        {"zip": "59"},
        {"zip": "'0213#'"},
        {"postal_code": "'SW1A 1AA'"},
    ],
    (HIPAA, "C dates"): [
        {"admission_date": "DATE '2020-01-01' + CAST(i AS INTEGER)"},
        {"x": "TIMESTAMP '2020-01-01 10:00:00' + INTERVAL 1 DAY * i"},
        {"x": "TIMESTAMPTZ '2020-01-01 10:00:00+00'"},
        {"admission_date": "'2020-05'"},
        {"admission_date": "'2020-Q2'"},
        {"admission_date": "'2020-W23'"},
        {"admission_date": "'[2020-01-01, 2021-01-01)'"},
        {"x": "'3.5.2020'"},
        {"x": "'05/31/20'"},
        {"remark": "'seen on May 3, 2020, and well'"},
        {"remark": "'came on the 3rd of March'"},
        {"x": "'2020年5月'"},
        {"x": "20200101 + i % 28"},
        {"birth_month": "1 + i % 12"},
        {"admission_date": "20210314.0::DOUBLE"},
        *(
            {"admission_date": f"'{text}'"}
            for text in (
                "14-MAR-21",
                "14MAR2021",
                "2021-Mar-14",
                "May-21",
                "03/2021",
                "202103",
                "14/03",
                "March 5",
                "March",
                "2021_03_14",
                "2021/Q1",
                "1Q21",
                "20210314101500",
                "15. Mrz 2021",
                "2021-073",
            )
        ),
        *(
            {"x": f"'{text}'"}
            for text in (
                "14-MAR-2021",
                "14MAR2021",
                "2021-Mar-14",
                "03/2021",
                "2021_03_14",
                "2021/Q1",
                "1Q21",
                "20210314101500",
                "DOB1960-03-14",
                "Q1 2021",
                "3rd of March 2021",
                "14\u201303\u20132021",
                "15 janv. 2021",
                "14.3.21",
                "Mrz 2021",
                "1. Quartal 2021",
                "KW 12 2021",
                "14 de marzo de 2021",
                "ene 2021",
                "2021年第1季度",
                "2021M05",
                "14-03-21",
                "3rd quarter 2021",
                "Week 12, 2021",
                "T2 2021",
                "14 maart 2021",
            )
        ),
    ],
    (HIPAA, "C ages"): [
        {"age": "91"},
        {"age": "80 + i % 15"},
        {"age": "'90-94'"},
        {"age": "'[90, 95)'"},
        {"age": "'80-99'"},
        {"age": "'95+'"},
        {"age": "'9*'"},
        {"age": "'10*'"},
        {"age": "'90..94'"},
        {"age": "'90er'"},
        {"age": "'older than 90 (95-99)'"},
        {"age": "'>=100'"},
        {"birth_year": f"{THIS_YEAR - 90}"},
        {"birth_year": f"'[{THIS_YEAR - 100}, {THIS_YEAR - 90})'"},
        {"birth_year": "'1930s'"},
        {"birth_date": "DATE '1930-01-01'"},
    ],
    (HIPAA, "D, E"): [
        {"phone": "'(617) 555-01' || 10 + i"},
        {"fax": "'+49 30 1234567'"},
        {"remark": "'call 617-555-0123 after work'"},
        {"remark": "'Tel. 030-1234567'"},
        {"x": "'030-1234567'"},
        {"x": "'(617)555-1234'"},
        {"x": "'617/555-1234'"},
        {"x": "'617\u2013555\u20131234'"},
    ],
    (HIPAA, "F"): [
        {"email": "'a' || i || '@example.org'"},
        {"remark": "'mail to ann@example.org please'"},
        {"remark": "CASE WHEN i = 7 THEN 'ann_lee@example.org' ELSE 'fine' END"},
    ],
    (HIPAA, "G"): [
        {"ssn": "'123-45-67' || 10 + i % 60"},
        {"remark": "'ssn 123-45-6789 on file'"},
        {"x": "'123 45 6789'"},
    ],
    (HIPAA, "H-K"): [
        {"patient_id": "1000 + i"},
        {"account_no": "'AC' || 7919 * (i + 1)"},
        {"iban": "'DE89370400440532013000'"},
        {"remark": "'paid by 4111 1111 1111 1111 in full'"},
        {"passport": "'C0' || 1000000 + i"},
        {"mrn": "'M' || 100000 + i"},
        {"medical_record_number": "100000 + i % 2"},
    ],
    (HIPAA, "L"): [{"license_plate": "'ABC ' || 100 + i"}],
    (HIPAA, "M"): [{"device_serial": "'SN' || 100 + i"}, {"remark": "'device 00:1A:2B:3C:4D:5E was used'"}],
    (HIPAA, "N"): [{"homepage_url": "'https://example.org/' || i"}, {"remark": "'see www.example.org/ann'"}],
    (HIPAA, "O"): [{"ip_address": "'10.0.0.' || i"}, {"remark": "'logged in from 10.1.2.3 at night'"}],
    (HIPAA, "P, Q"): [{"photo": "'face' || i || '.jpg'"}],
    (HIPAA, "R"): [
        {"x": "uuid()"},
        {"x": "'K' || 7919 * (i + 1)"},
        {"username": "'user' || i"},
        {"remark": "'key 6f1e2d3c-1a2b-4c3d-8e9f-0a1b2c3d4e5f there'"},
    ],
    ("ema-0070", "identifiers"): [{"name": "'Person ' || i"}, {"remark": "'mail to ann@example.org please'"}],
    ("ema-0070", "risk"): [{"sex": "CASE WHEN i < 11 THEN 'F' ELSE 'M' END"}],
    ("gbt-42460:public", "level 2"): [{"patient_id": "1000 + i"}],
    ("gbt-42460:public", "level 3"): [{"sex": "CASE WHEN i < 19 THEN 'F' ELSE 'M' END"}],
    ("gbt-42460:controlled", "level 2"): [{"patient_id": "1000 + i"}],
    ("gbt-42460:controlled", "level 3"): [{"sex": "CASE WHEN i < 4 THEN 'F' ELSE 'M' END"}],
    ("gbt-42460:enclave", "level 2"): [{"patient_id": "1000 + i"}],
    ("gbt-42460:enclave", "level 3"): [{"sex": "CASE WHEN i < 2 THEN 'F' ELSE 'M' END"}],
    ("wp216", "singling out"): [{"sex": "CASE WHEN i < 1 THEN 'F' ELSE 'M' END"}],
    ("wp216", "linkability"): [{"patient_id": "1000 + i"}],
    ("wp216", "inference"): [{"diagnosis": f"CASE WHEN i % 2 = 0 THEN 'flu' ELSE {CLEAN['diagnosis']} END"}],
    ("nist-800-188", "performance level"): [{"sex": "CASE WHEN i < 4 THEN 'F' ELSE 'M' END"}],
    ("cells-11", "cells"): [{"sex": "CASE WHEN i < 10 THEN 'F' ELSE 'M' END"}],
}
# Tables that meet a class rule with nothing to spare.
MEETING: dict[tuple[str, str], dict[str, str]] = {
    ("ema-0070", "risk"): {"sex": "CASE WHEN i < 12 THEN 'F' ELSE 'M' END"},
    ("gbt-42460:public", "level 3"): {"sex": "CASE WHEN i < 20 THEN 'F' ELSE 'M' END"},
    ("gbt-42460:controlled", "level 3"): {"sex": "CASE WHEN i < 5 THEN 'F' ELSE 'M' END"},
    ("gbt-42460:enclave", "level 3"): {"sex": "CASE WHEN i < 3 THEN 'F' ELSE 'M' END"},
    ("wp216", "singling out"): {"sex": "CASE WHEN i < 2 THEN 'F' ELSE 'M' END"},
    ("nist-800-188", "performance level"): {"sex": "CASE WHEN i < 5 THEN 'F' ELSE 'M' END"},
    ("cells-11", "cells"): {"sex": "CASE WHEN i < 11 THEN 'F' ELSE 'M' END"},
}
FOR_A_PERSON = {  # where nothing is found, a program cannot say that there is nothing
    (HIPAA, "P, Q"),
    ("wp216", "linkability"),
    *((name, rule.id) for name in standard_names() for rule in standard_named(name).rules if rule.check == "person"),
}


def settings_of(standard: str) -> dict[str, Any]:
    if standard == HIPAA:
        return {}
    kept = [name for name in CLEAN if name not in {"sex", "diagnosis"}]
    return {"quasi_identifiers": ["sex"], "sensitive": ["diagnosis"], "insensitive": kept}


def test_every_rule_that_can_be_checked_is_broken_below() -> None:
    checked = {
        (name, rule.id) for name in standard_names() for rule in standard_named(name).rules if rule.check != "person"
    }
    assert checked == set(BREAKING)


@pytest.mark.thorough
@pytest.mark.parametrize("standard", standard_names())
def test_a_table_that_meets_all_rules(standard: str) -> None:
    found = rules(CLEAN, standard, **settings_of(standard))
    for rule in found.values():
        expected = "for a person" if (standard, rule.id) in FOR_A_PERSON else "holds"
        assert (rule.id, rule.verdict, rule.measured) == (rule.id, expected, rule.measured)


@pytest.mark.thorough
@pytest.mark.parametrize("key", MEETING, ids="-".join)
def test_a_class_rule_that_holds_with_nothing_to_spare(key: tuple[str, str]) -> None:
    standard, rule = key
    assert rules(CLEAN | MEETING[key], standard, **settings_of(standard))[rule].verdict == "holds"


@pytest.mark.thorough
@pytest.mark.parametrize("rule", [rule for standard, rule in BREAKING if standard == HIPAA])
def test_columns_that_break_a_rule(rule: str) -> None:
    """All of them in one table, with numbers at the ends of their names, which say nothing."""
    columns = {
        f"{name}_{number}": expression
        for number, extra in enumerate(BREAKING[HIPAA, rule])
        for name, expression in extra.items()
    }
    found = rules({"sex": CLEAN["sex"]} | columns, HIPAA)[rule]
    assert found.verdict == "fails", found
    named = re.findall(r"(\S+): [0-9]+ values?", found.measured)
    assert [column for column in columns if column not in named] == []


@pytest.mark.thorough
@pytest.mark.parametrize("key", [key for key in BREAKING if key[0] != HIPAA], ids="-".join)
def test_a_table_that_breaks_a_rule(key: tuple[str, str]) -> None:
    standard, rule = key
    for columns in BREAKING[key]:
        assert rules(CLEAN | columns, standard, **settings_of(standard))[rule].verdict == "fails"


@each(
    ("label", "expected"),
    [
        ("89", False), ("90", False), ("91", True), ("120", True), ("85-89", False), ("85-94", True), ("90+", False),
        (">= 90", False), (">89", False), ("90 or older", False), ("95+", True), ("<18", False), ("[80, 90)", False),
        ("[80, 91)", True), ("<90", False), ("under 90", False), ("80-<90", False), ("(89, 90]", False),
        ("90->94", True), (">90", True), ("over 89", False), ("90s", True), ("*", False), ("", False), ("9*", True),
        ("8*", False), ("1**", True),
        ("*5", None), ("80.5", False), ("{88, 91}", True),
        ("[90, inf)", False), ("[95, inf)", True), ("adult", None), ("60+", False),
    ],
)  # fmt: skip
def test_what_a_label_of_ages_tells(label: str, expected: bool | None) -> None:
    assert tells_old_age(label) is expected


@each(
    ("label", "expected"),
    [("2000", False), ("1910", True), ("1990s", False), ("1920s", True), ("[1980, 1990)", False), ("<=1950", False)],
)
def test_what_a_year_of_birth_tells(label: str, expected: bool) -> None:
    assert tells_old_age(label, this_year=2026) is expected


def test_a_class_of_all_years_before_is_one_class_of_old_people() -> None:
    assert tells_old_age("<=1936", this_year=2026) is False
    assert tells_old_age("1936 or earlier", this_year=2026) is False
    assert tells_old_age("<=1930", this_year=2026) is True


@each(
    ("label", "expected"),
    [("021", False), ("021**", False), ("0213*", True), ("02139", True), ("000", False), ("036", True), ("893xx", True),
     ("02***", False), ("*", False), ("02139-1234", True), ("K1A", True), ("", False), ("021-022", True)],
)  # fmt: skip
def test_what_a_label_of_zip_codes_tells(label: str, expected: bool) -> None:
    rule = next(rule for rule in standard_named(HIPAA).rules if rule.check == "zip")
    assert tells_small_area(label, rule.restricted, is_number=False) is expected


def test_the_restricted_areas_are_those_of_the_hierarchy_and_of_the_guidance() -> None:
    """The 17 areas of the census of 2000, as the guidance of the Department of Health and Human Services has them."""
    guidance = ["036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878", "879", "884"]
    guidance += ["890", "893"]
    (rule,) = [rule for rule in standard_named(HIPAA).rules if rule.check == "zip"]
    assert list(rule.restricted) == guidance
    assert [re.findall(r"'\^\(([0-9|]+)\)", one.expression) for one in rule.replace] == [["|".join(guidance)]] * 2


def test_ranges_of_labels() -> None:
    assert range_of("20-29") == (20, 29)
    assert range_of("[20, 30)") == (20, 29)
    assert range_of("-5") == (5, 5)
    assert range_of("old") is None


@each("seed", range(8), quick=2)
def test_the_smallest_class_of_people_and_rows_by_brute_force(seed: int) -> None:
    drawn = random.Random(seed)  # noqa: S311 - no secret
    rows = [(drawn.choice("ab"), drawn.choice("xy"), drawn.choice("uvw"), drawn.randrange(30)) for _ in range(90)]
    people, values, sizes = defaultdict(set), defaultdict(set), Counter[tuple[str, str]]()
    for one, other, sensitive, person in rows:
        people[one, other].add(person)
        values[one, other].add(sensitive)
        sizes[one, other] += 1
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (a TEXT, b TEXT, s TEXT, who INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        settings: dict[str, Any] = {"quasi_identifiers": ["a", "b"], "sensitive": ["s"]}
        of_people = kanon.check(connection, "t", entity="who", standards=["wp216", "ema-0070"], **settings)
        of_rows = kanon.check(connection, "t", count="rows", standards=["wp216", "ema-0070"], **settings)
    for found, smallest, members, held in (
        (of_people, min(map(len, people.values())), "people", "holds"),
        (of_rows, min(sizes.values()), "rows", "for a person"),
    ):
        by_id = {rule.id: rule for standard in found.standards for rule in standard.rules}
        assert by_id["risk"].measured.startswith(f"{smallest} {members} in the smallest class")
        assert by_id["risk"].verdict == (held if smallest >= 12 else "fails")
        assert by_id["singling out"].verdict == (held if smallest >= 2 else "fails")
        fewest = min(map(len, values.values()))
        assert by_id["inference"].measured == f"s: {fewest}"
        assert by_id["inference"].verdict == ("holds" if fewest > 1 else "fails")


@each(
    ("counts", "small"),
    [((11, 12, 300), 0), ((11, 10, 300), 1), ((1, 5, 10), 3), ((0, 11, 20), 0), ((0, 3, 20), 1)],
)
def test_cells_of_a_table_of_counts(counts: tuple[int, ...], small: int) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (ward TEXT, sex TEXT, n INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(f"w{i}", "F", n) for i, n in enumerate(counts)])
        found = kanon.check(connection, "t", standards=["cells-11"])
    (cells, _) = found.standards[0].rules
    assert cells.verdict == ("fails" if small else "holds")
    assert cells.measured == (f"n: {small} small cell{'' if small == 1 else 's'}" if small else "no small cell")


@pytest.mark.thorough
def test_other_numbers_of_a_table_of_counts_are_for_a_person() -> None:
    columns = {"region": "'r' || i", "count": "100 + i", "male": "1 + i % 5"}
    found = rules(columns, "cells-11", 9)["cells"]
    assert (found.verdict, found.measured) == ("for a person", "to look at: male: 9 small numbers")
    found = rules(columns | {"deaths": "i % 3"}, "cells-11", 9)["cells"]
    assert (found.verdict, found.measured) == ("fails", "deaths: 6 small cells")


def test_numbers_with_decimals_of_a_table_of_counts() -> None:
    columns = {"region": "'r' || i", "total": "50 + i", "male": "(1 + i % 5)::DOUBLE"}
    assert rules(columns, "cells-11", 9)["cells"].verdict == "for a person"


@pytest.mark.thorough
def test_digits_of_pseudonyms_hashes_and_uuids_are_no_dates_and_no_phone_numbers() -> None:
    columns = {
        "visit": "left(sha256(CAST(i AS VARCHAR)), 32)",
        "digest": "sha256(CAST(i AS VARCHAR))",
        "key": "left(md5('a' || i), 8) || '-1234-4567-8901-' || left(md5('b' || i), 12)",
    }
    found = rules(columns, HIPAA, 20_000)
    assert {found[rule].verdict for rule in ("C dates", "D, E", "G")} == {"holds"}


def test_bounds_of_the_smallest_class_are_not_taken_for_its_size() -> None:
    """A class of 4 or 5 people may have the 5 that are asked for, and has not the 12 of another rule."""
    facts = Facts(rows=50, smallest=4, at_most=5, members="people", classes=True)
    with table({"sex": "'F'"}, 50) as connection:
        source = open_source(connection, "t")
        verdicts = {
            standard.name: next((rule.verdict, rule.measured) for rule in standard.rules if "risk" in rule.required)
            for standard in check_standards(source, ["gbt-42460:enclave", "gbt-42460:controlled", "ema-0070"], facts)
        }
    measured = "at least 4 people in the smallest class, and at most 5"
    assert verdicts == {
        "gbt-42460:enclave": ("holds", measured),
        "gbt-42460:controlled": ("not known", measured),
        "ema-0070": ("fails", measured),
    }


def test_named_quasi_identifiers_make_a_table_one_of_people() -> None:
    columns = {"age": "i", "zip3x": "'z' || i", "platelet_count": "200 + i"}
    assert rules(columns, "cells-11", quasi_identifiers=["age", "zip3x"], k=1)["cells"].verdict == "fails"


@pytest.mark.thorough
def test_a_table_with_a_row_per_person_and_a_column_called_count_is_no_table_of_counts() -> None:
    columns = {"sex": CLEAN["sex"], "visit_count": "1 + i % 3"}
    assert rules(columns, "cells-11", quasi_identifiers=["sex"])["cells"].verdict == "holds"
    assert rules(columns, "cells-11")["cells"].verdict == "not known"


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["BLOB", "INTEGER[]", "STRUCT(a INTEGER)", "JSON"])
def test_what_cannot_be_looked_into_is_not_known(kind: str) -> None:
    value = {"BLOB": "'a'::BLOB", "INTEGER[]": "[1]", "STRUCT(a INTEGER)": "{'a': 1}", "JSON": "'{}'::JSON"}[kind]
    found = rules(CLEAN | {"scan": value}, HIPAA)
    assert found["A"].verdict == "not known"
    assert found["A"].measured == "scan: bytes or nested values are not looked into"
    assert found["C dates"].verdict == "not known"


@pytest.mark.thorough
def test_pseudonyms_and_free_text_are_for_a_person() -> None:
    words = "'the patient was seen again and had no complaints of any kind, in all ' || i || ' words'"
    found = rules(CLEAN | {"pseudonym": "left(sha256(CAST(i AS VARCHAR)), 32)", "note": words}, HIPAA)
    assert (found["A"].verdict, found["A"].measured) == ("for a person", "to look at: note: 60 values")
    assert found["R"].verdict == "for a person"
    assert found["R"].measured == "to look at: pseudonym: 60 values, note: 60 values"


@pytest.mark.thorough
@pytest.mark.parametrize("rows", [0, 1])
def test_no_rows_and_one_row(rows: int) -> None:
    found = rules(CLEAN | {"name": "'Ann Lee'"}, HIPAA, rows)
    assert found["A"].verdict == ("fails" if rows else "holds")
    found = rules(CLEAN, "wp216", rows, quasi_identifiers=["sex"], sensitive=["diagnosis"])
    assert found["singling out"].verdict == ("fails" if rows else "holds")


@pytest.mark.thorough
def test_a_person_named_by_the_policy_is_in_the_table() -> None:
    """200 people with five rows each: no pattern finds them, but the policy says what the column is."""
    columns = {"subj": "'s' || i // 5 % 40", "sex": CLEAN["sex"]}
    for standard, rule in ((HIPAA, "R"), ("ema-0070", "identifiers"), ("gbt-42460:public", "level 2")):
        found = rules(columns, standard, 1000, quasi_identifiers=["sex"], entity="subj")
        assert (found[rule].verdict, found[rule].measured) == ("fails", "subj: 40 values")
        found = rules(columns, standard, 1000, identifying=["subj"])
        assert (found[rule].verdict, found[rule].measured) == ("fails", "subj: 40 values")


@pytest.mark.thorough
def test_what_may_be_a_code_is_for_a_person() -> None:
    for code in ("'s' || i // 5", "i", "CASE WHEN i > 0 THEN i END", "i * 1.5"):
        assert rules(CLEAN | {"key": code}, HIPAA, 300)["R"].verdict in {"for a person", "fails"}, code


def test_a_choice_called_like_an_identifier_is_for_a_person_and_numbers_are_none() -> None:
    columns = {"sex": CLEAN["sex"], "account_number": "'AC' || 100000 + i % 15", "vin": "['car', 'bus'][1 + i % 2]"}
    found = rules(columns, HIPAA, 150)
    assert (found["H-K"].verdict, found["H-K"].measured) == ("fails", "account_number: 15 values")
    assert (found["L"].verdict, found["L"].measured) == ("for a person", "to look at: vin: 2 values")


@pytest.mark.thorough
def test_small_numbers_in_columns_called_like_dates_are_for_a_person() -> None:
    columns = CLEAN | {"days_since_admission": "i % 40", "month": "1 + i % 12"}
    found = rules(columns, HIPAA)["C dates"]
    assert found.verdict == "for a person"
    assert found.measured == "to look at: days_since_admission: 40 values, month: 12 values"


@pytest.mark.thorough
def test_a_zip_code_that_may_have_lost_zeros_is_for_a_person() -> None:
    """601 is Puerto Rico's 00601, or the three digits that may be shown."""
    found = rules(CLEAN | {"zip": "601 + i % 30"}, HIPAA)["B ZIP"]
    assert (found.verdict, found.measured) == ("for a person", "to look at: zip: 30 values")


def test_rows_of_people_who_repeat_are_not_counted_for_people() -> None:
    columns = {"a": "i // 12", "person": "'P' || i // 12"}
    found = rules(columns, "ema-0070", 120, quasi_identifiers=["a"], k=12)
    assert found["identifiers"].verdict == "fails"
    assert found["risk"].verdict == "not known"


def test_a_class_without_a_named_person() -> None:
    columns = {"a": "i % 2", "p": "CASE WHEN i % 2 = 0 THEN i END"}
    found = rules(columns, "wp216", quasi_identifiers=["a"], entity="p")
    assert (found["singling out"].verdict, found["singling out"].measured[:8]) == ("fails", "0 people")


@pytest.mark.thorough
def test_hidden_values_are_gone() -> None:
    found = rules(CLEAN | {"name": "'[REDACTED]'", "ssn": "NULL::TEXT", "phone": "CASE WHEN i < 9 THEN '*' END"}, HIPAA)
    assert {found[rule].verdict for rule in ("A", "G", "D, E")} == {"holds"}


@pytest.mark.thorough
@each("name", ['na"me', "select", "naïve 名", "a.b", "x" * 200])
def test_odd_names_of_columns(name: str) -> None:
    with duckdb.connect() as connection:
        make(connection, {name: "'mail ann@example.org'"}, 5)
        (standard,) = kanon.check(connection, "t", standards=[HIPAA]).standards
    assert [rule.verdict for rule in standard.rules if rule.id == "F"] == ["fails"]


# The command


HOSPITAL = """
CREATE TABLE stays AS SELECT
  'MRN' || 100000 + i // 2 AS mrn, 'Patient ' || i // 2 AS patient_name, '123-45-' || 1000 + i // 2 AS ssn,
  '617-555-' || 1000 + i AS phone, 'p' || i // 2 || '@example.org' AS email,
  lpad(CAST([2139, 3601, 5901, 10001, 94110, 501][1 + (i // 2) % 6] AS VARCHAR), 5, '0') AS zip,
  ['Boston', 'Keene', 'New York'][1 + (i // 2) % 3] AS city, ['MA', 'NH', 'NY'][1 + (i // 2) % 3] AS state,
  DATE '1925-06-15' + CAST((i // 2) * 97 % 30000 AS INTEGER) AS dob,
  CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex,
  TIMESTAMP '2023-01-01 08:00:00' + INTERVAL 1 HOUR * (i * 7) AS admitted_at,
  strftime(DATE '2023-01-03' + CAST(i % 700 AS INTEGER), '%d.%m.%Y') AS discharge_date,
  ['flu', 'asthma', 'hip'][1 + i % 3] AS diagnosis,
  'no complaints, will come again on ' || i || ' in the morning' AS notes, '10.0.' || i % 250 || '.7' AS ip
FROM range(600) AS numbers(i)
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "codes"),
    [
        ("VARCHAR", {"02139": "021", "2139": "021", "021": "021", "036": "000", "02139-1234": "021", "2139-1234": "021",
                     "03601": "000", "021391234": "021", "21391234": "021", " 02139 ": "021", "K1A": None, None: None}),
        ("INTEGER", {2139: "021", 3601: "000", 36011234: "000", 21391234: "021", 601: None, None: None, -5: None}),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("in_tmp")
def test_the_areas_of_zip_codes(kind: str, codes: dict[Any, str | None]) -> None:
    with duckdb.connect("z.duckdb") as connection:
        connection.execute("CREATE TABLE t (zip VARCHAR, sex VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, 'F')", [[code] for code in codes for _ in range(3)])
        connection.table("t").project(f"CAST(zip AS {kind}) AS zip, sex").create("u")
    kanon.init_policy("z.duckdb", "u", standards=[HIPAA], quasi_identifiers=["zip"], k=1)
    released = kanon.anonymize(policy="kanon.toml").to_pandas()
    assert Counter(released["zip_3_digits"].fillna("")) == Counter(
        area or "" for area in codes.values() for _ in range(3)
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("column", "ages"),
    [
        ("age::INTEGER", {"34": 34, "90": 90, "117": 90, None: None}),
        ("age::DOUBLE", {"34.5": 34.5, "117": 90, "nan": None, None: None}),
    ],
)
@pytest.mark.usefixtures("in_tmp")
def test_ages_up_to_90(column: str, ages: dict[str | None, float | None]) -> None:
    """An age that is not known stays so."""
    with duckdb.connect("z.duckdb") as connection:
        connection.execute("CREATE TABLE t (age VARCHAR, sex VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, 'F')", [[age] for age in ages for _ in range(3)])
        connection.table("t").project(f"{column} AS age, sex").create("u")
    kanon.init_policy("z.duckdb", "u", standards=[HIPAA], k=1)
    with kanon.anonymize(policy="kanon.toml") as release:
        values = [age for (age,) in released_rows(release, "age_to_90")]
    found = [None if value is None else float(value) for value in values]
    assert Counter(found) == Counter(value for value in ages.values() for _ in range(3))


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_a_proposal_leaves_out_ages_as_texts_and_takes_the_year_of_any_date(kanon: Callable[..., Ended]) -> None:
    with duckdb.connect("z.duckdb") as connection:
        columns = {"age": "CAST(30 + i % 70 AS VARCHAR)", "service_from": "DATE '2020-01-01' + CAST(i AS INTEGER)"}
        make(connection, columns | {"sex": CLEAN["sex"], "gender_concept_id": "8507 + 25 * (i % 2)"}, 600)
    assert kanon("init", "z.duckdb", "t", "--standard", HIPAA, "--qi", "service_from").code == 0
    columns_of_policy = tomllib.loads(Path("kanon.toml").read_text(encoding="utf-8"))["columns"]
    assert columns_of_policy["identifying"] == ["age", "service_from"]
    assert "service_from_year" in columns_of_policy["quasi_identifiers"]
    assert kanon("anonymize", "--policy", "kanon.toml").code == 0
    ended = kanon("check", "--policy", "kanon.toml")
    assert ended.code == 0, ended.out


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_a_proposal_for_wp216_asks_for_two_values(kanon: Callable[..., Ended]) -> None:
    with duckdb.connect("z.duckdb") as connection:
        columns = {"zip": "'0213' || i % 7", "age": "20 + i % 40", "disease": "['flu', 'cold'][1 + i // 300]"}
        make(connection, columns, 600)
    assert kanon("init", "z.duckdb", "t", "--standard", "wp216", "--sensitive", "disease").code == 0
    assert kanon("anonymize", "--policy", "kanon.toml").code == 0
    ended = kanon("check", "--policy", "kanon.toml", "--format", "json")
    assert ended.code == 0, ended.out
    assert [rule["measured"] for rule in ended.json["standards"][0]["rules"] if rule["id"] == "inference"] == [
        "disease: 2"
    ]


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_a_year_of_birth_that_is_none() -> None:
    with duckdb.connect("z.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1980::BIGINT AS birth_year, 'F' AS sex FROM range(9)")
        connection.execute("INSERT INTO t VALUES (-9223372036854775807, 'F'), (1900, 'M')")
    kanon.init_policy("z.duckdb", "t", standards=[HIPAA], k=1)
    released = kanon.anonymize(policy="kanon.toml").to_pandas()
    assert sorted(map(str, released["age_to_90"].dropna())) == [str(THIS_YEAR - 1980)] * 9 + ["90"]


def zip_3(code: str) -> str:
    restricted = next(rule for rule in standard_named(HIPAA).rules if rule.check == "zip").restricted
    return "000" if code[:3] in restricted else code[:3]


def age(birth: dt.date, today: dt.date) -> int:
    return min(90, today.year - birth.year - ((today.month, today.day) < (birth.month, birth.day)))


@pytest.mark.thorough
def test_a_proposed_policy_meets_safe_harbor(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """On a made hospital; the new columns have the values of plain Python."""
    with duckdb.connect("hospital.duckdb") as connection:
        connection.execute(HOSPITAL)
        raw = connection.execute(
            "SELECT zip, dob, CAST(right(discharge_date, 4) AS INTEGER), mrn FROM stays ORDER BY mrn"
        ).fetchall()
    assert kanon("init", "hospital.duckdb", "--entity", "mrn", "--standard", HIPAA).code == 0
    text = (in_tmp / "kanon.toml").read_text(encoding="utf-8")
    assert f'standards = ["{HIPAA}"]' in text
    assert {"city", "zip", "dob", "admitted_at", "discharge_date"} < set(tomllib.loads(text)["columns"]["identifying"])
    ended = kanon("anonymize", "--policy", "kanon.toml", "-k", "1", "--max-suppressed", "0")
    assert ended.code == 0, ended.err
    with duckdb.connect("hospital.duckdb") as connection:
        released = connection.execute("FROM stays_k5").fetch_df()
    assert {"zip", "dob", "city", "mrn", "ssn", "notes", "admitted_at"}.isdisjoint(released.columns)
    assert Counter(released["zip_3_digits"]) == Counter(zip_3(code) for code, *_ in raw)
    today = dt.datetime.now(tz=dt.UTC).date()
    assert Counter(map(int, released["age_to_90"])) == Counter(age(birth, today) for _, birth, *_ in raw)
    assert Counter(map(int, released["discharge_date_year"])) == Counter(year for *_, year, _ in raw)
    for options in [["-k", "1"], ["-k", "5", "--replace"]]:
        if "--replace" in options:
            assert kanon("anonymize", "--policy", "kanon.toml", *options).code == 0
        ended = kanon("check", "--policy", "kanon.toml", *options[:2], "--format", "json")
        assert ended.code == 0, ended.out
        verdicts = Counter(rule["verdict"] for rule in ended.json["standards"][0]["rules"])
        assert verdicts == {"holds": 14, "for a person": 2}


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_the_sample_table_meets_safe_harbor_by_a_proposed_policy(kanon: Callable[..., Ended]) -> None:
    assert kanon("demo", "--rows", "2000").code == 0
    assert kanon("init", "kanon_demo.duckdb", "admissions", "--standard", HIPAA).code == 0
    assert kanon("anonymize", "--policy", "kanon.toml").code == 0
    ended = kanon("check", "--policy", "kanon.toml")
    assert ended.code == 0, ended.out
    assert "14 of 16 rules can be checked here: 14 hold; 2 for a person" in ended.out


@pytest.mark.thorough
def test_a_proposed_policy_has_the_k_of_its_standards(in_tmp: Path, kanon: Callable[..., Ended], clinic: Path) -> None:
    source = ["init", clinic, "patients", "--out", "p.toml", "--replace"]
    assert kanon(*source, "--standard", "ema-0070", "--standard", "gbt-42460:public").code == 0
    assert "\nk = 20\n" in (in_tmp / "p.toml").read_text(encoding="utf-8")
    ended = kanon(*source, "--standard", "ema-0070", "-k", "11")
    assert (ended.code, "ema-0070 asks for classes of 12 or more: give -k 12" in ended.err) == (2, True)
    assert kanon(*source, "--standard", "ema-0070", "-k", "15").code == 0
    assert "\nk = 15\n" in (in_tmp / "p.toml").read_text(encoding="utf-8")


@pytest.mark.thorough
@each("command", ["check", "init", "report"])
def test_a_standard_that_does_not_exist(command: str, in_tmp: Path, kanon: Callable[..., Ended], clinic: Path) -> None:
    options = ["--qi", "age", "--count", "rows", "--rest", "drop", "--out", "r.html"] if command == "report" else []
    ended = kanon(command, clinic, "patients", *options, "--standard", "hipaa-safe-habor")
    assert ended.code == 2
    assert "There is no standard 'hipaa-safe-habor'. Did you mean 'hipaa-safe-harbor'?" in ended.err
    assert not [path for path in in_tmp.iterdir() if path != clinic]
    ended = kanon(command, clinic, "patients", *options, "--standard", "gbt-42460")
    assert "write gbt-42460:public, gbt-42460:controlled, gbt-42460:enclave" in ended.err


@pytest.mark.thorough
def test_a_standard_in_a_policy_file_is_checked_and_reported(
    in_tmp: Path, kanon: Callable[..., Ended], clinic: Path
) -> None:
    (in_tmp / "kanon.toml").write_text(
        f'[source]\nfrom = "{clinic}"\n'
        '[columns]\nquasi_identifiers = ["age", "sex"]\nidentifying = ["name", "id", "zip"]\n'
        'sensitive = ["disease"]\n[hierarchies]\nage = "intervals:10"\nsex = "flat"\n'
        '[privacy]\nk = 3\nl = 2\nstandards = ["wp216", "ema-0070"]\n[search]\nmax_suppressed = 0.2\n'
        '[release]\nout = "released.csv"\n',
        encoding="utf-8",
    )
    assert kanon("anonymize", "--policy", "kanon.toml").code == 0
    ended = kanon("check", "--policy", "kanon.toml", "--format", "json")
    assert ended.code == 1
    found = ended.json
    assert (found["holds"], found["satisfies_policy"]) == (False, True)
    assert [standard["name"] for standard in found["standards"]] == ["wp216", "ema-0070"]
    assert kanon("check", "--policy", "kanon.toml", "--standard", "wp216").code == 0
    # The bar of a standard has a part for each verdict: of ema-0070, four rules, one fails, one holds.
    assert [(part.width, part.tone) for part in _segments(found["standards"][1])] == [
        (40.0, "good"),
        (40.0, "bad"),
        (80.0, "neutral"),
    ]
    for suffix in ("html", "md"):
        assert kanon("report", "--policy", "kanon.toml", "--out", f"report.{suffix}").code == 0
    text = (in_tmp / "report.md").read_text(encoding="utf-8")
    assert "Standards, rule by rule" in text
    assert "EMA policy 0070, Health Canada PRCI" in text
    assert "1 rule of standards fails" in text
    assert "read partly in secondary sources" in text
    assert "compliant" not in text + (in_tmp / "report.html").read_text(encoding="utf-8")
    said = kanon("report", "--policy", "kanon.toml", "--format", "json").json
    assert {rule["verdict"] for standard in said["standards"] for rule in standard["rules"]} <= set(VERDICTS)


@pytest.mark.thorough
@pytest.mark.usefixtures("in_tmp")
def test_no_value_is_printed(kanon: Callable[..., Ended]) -> None:
    """Canary values in every column and form: none is in the output, JSON, or SQL of any standard."""
    columns = {
        "name": "'Zzyzx Canary'", "zip": "'98765'", "age": "117", "birth_date": "DATE '1911-11-11'",
        "remark": "'mail canary@zzyzx.example or 617-555-9876'", "ssn": "'987-65-4321'", "code": "'CANARY' || i",
        "n": "7",
    }  # fmt: skip
    with duckdb.connect("c.duckdb") as connection:
        make(connection, columns, 30)
    every = [word for name in standard_names() for word in ("--standard", name)]
    for options in ([], ["--format", "json"], ["--sql"], ["--qi", "age,zip", "--sensitive", "name", "-v"]):
        ended = kanon("check", "c.duckdb", "t", *every, *options)
        assert "remark" in ended.out
        for canary in ("Zzyzx", "98765", "117", "1911", "canary@", "555-9876", "987-65", "CANARY"):
            assert canary not in ended.out + ended.err, (options, canary)


@pytest.fixture(params=["postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with PLACES[request.param](request, tmp_path) as found:
        yield found


@pytest.mark.thorough
def test_a_table_in_a_warehouse_has_the_verdicts_that_it_has_in_duckdb(place: Place) -> None:
    columns = {
        "sex": "VARCHAR", "age": "BIGINT", "zip": "VARCHAR", "admission_date": "DATE", "remark": "VARCHAR",
        "diagnosis": "VARCHAR",
    }  # fmt: skip
    drawn = random.Random("warehouse")  # noqa: S311 - no secret
    rows = [
        (
            drawn.choice(["F", "M", None]),
            drawn.choice([20, 30, 91]),
            drawn.choice(["021**", "02139", "036"]),
            dt.date(2020, 1, drawn.randint(1, 28)),
            drawn.choice(["fine", "mail ann@example.org", "ssn 123-45-6789", None]),
            drawn.choice(["flu", "cold"]),
        )
        for _ in range(80)
    ]
    place.load("t", columns, rows)
    settings: dict[str, Any] = {"quasi_identifiers": ["sex"], "sensitive": ["diagnosis"], "standards": standard_names()}
    there = kanon.check(place.source, "t", **settings)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t (sex TEXT, age BIGINT, zip TEXT, admission_date DATE, remark TEXT, diagnosis TEXT)"
        )
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
        here = kanon.check(connection, "t", **settings)
    assert there.standards == here.standards
    assert (
        kanon.check(place.source, "t", standards=[HIPAA]).standards[0] == here.standards[standard_names().index(HIPAA)]
    )


def test_the_library_names_a_standard_that_does_not_exist(clinic: Path) -> None:
    with pytest.raises(UsageError, match="There is no standard 'hipaa'"):
        kanon.check(str(clinic), "patients", standards=["hipaa"])
    with pytest.raises(UsageError, match=r"privacy\.standards is a list of names"):
        kanon.check(str(clinic), "patients", policy=_policy_file(clinic.parent, 'standards = "wp216"'))


def _segments(standard: dict[str, Any]) -> list[VerdictSegment]:
    rules = tuple(CheckedRule(**rule) for rule in standard["rules"])
    named = {name: standard[name] for name in ("name", "title", "source", "mark")}
    return verdict_segments(CheckedStandard(**named, rules=rules))


def _policy_file(directory: Path, line: str) -> Path:
    path = directory / "p.toml"
    path.write_text(f"[privacy]\n{line}\n", encoding="utf-8")
    return path
