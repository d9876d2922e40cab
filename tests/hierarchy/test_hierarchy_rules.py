"""Hierarchies built from the data: labels worked out by hand, for every rule."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from each import each
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import create_table

from kanon_sql.engine.base import Column
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.errors import HierarchyError, UsageError
from kanon_sql.hierarchy.given import build_hierarchy
from kanon_sql.hierarchy.report import rows_query
from kanon_sql.hierarchy.rules import column_facts
from kanon_sql.hierarchy.spec import FileRule, parse_rule
from kanon_sql.hierarchy.suggest import chosen_rule
from kanon_sql.sql.build import relation

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.hierarchy.rules import BuiltRule


def built(rule: str | None, kind: str, values: list[Any]) -> tuple[Hierarchy, dict[Any, list[str]]]:
    """Return the hierarchy of a column of these values, by a rule or as chosen, and its labels by value."""
    with duckdb.connect() as connection:
        create_table(connection, "source", {"c": ("VARCHAR", [None if v is None else str(v) for v in values])})
        cast = DuckDBEngine(connection, owned=False)
        connection.execute("ALTER TABLE source ALTER c TYPE " + kind)
        column, table = Column("c", kind), relation("source")
        given: BuiltRule | None = None if rule is None else parse_rule(rule)  # type: ignore[assignment]  # no file is named here
        facts = column_facts(cast, table, [(column, given)])["c"]
        made = chosen_rule(column, facts) if given is None else given
        hierarchy = build_hierarchy(cast, table, column, made, facts, chosen=rule is None)
        rows = cast.rows(rows_query(hierarchy.relation, hierarchy.height, None))
        return hierarchy, {value: list(labels) for value, *labels in rows}


def labels(rule: str, kind: str, values: list[Any]) -> dict[Any, list[str]]:
    return built(rule, kind, values)[1]


def test_intervals_of_whole_numbers() -> None:
    assert labels("intervals:5,10", "INTEGER", [0, 4, 5, 23, 29, 30]) == {
        None: ["*", "*", "*"],
        0: ["0-4", "0-9", "*"],
        4: ["0-4", "0-9", "*"],
        5: ["5-9", "0-9", "*"],
        23: ["20-24", "20-29", "*"],
        29: ["25-29", "20-29", "*"],
        30: ["30-34", "30-39", "*"],
    }


def test_intervals_with_bottom_and_top_coding() -> None:
    found = labels("intervals:5,10:bottom=18:top=90", "INTEGER", [3, 17, 18, 20, 89, 90, 104])
    assert found[3] == found[17] == ["<18", "<18", "*"]
    assert found[18] == ["18-19", "18-19", "*"]
    assert found[20] == ["20-24", "20-29", "*"]
    assert found[89] == ["85-89", "80-89", "*"]
    assert found[90] == found[104] == [">=90", ">=90", "*"]


def test_intervals_below_zero_are_written_with_brackets() -> None:
    assert labels("intervals:5:origin=18", "BIGINT", [-1, 17, 18]) == {
        None: ["*", "*"],
        -1: ["[-2, 3)", "*"],
        17: ["[13, 18)", "*"],
        18: ["[18, 23)", "*"],
    }


def test_no_floating_point_decides_about_a_bound() -> None:
    """0.3 / 0.1 is 2.9999999999999996: a person says that 0.3 lies in [0.3, 0.4)."""
    found = labels("intervals:0.1,0.5", "DOUBLE", [0.3, 0.1, -0.05, "nan", "inf", 1e300])
    assert found[0.3] == ["[0.3, 0.4)", "[0.0, 0.5)", "*"]
    assert found[0.1] == ["[0.1, 0.2)", "[0.0, 0.5)", "*"]
    assert found[-0.05] == ["[-0.1, 0.0)", "[-0.5, 0.0)", "*"]
    assert found[float("inf")] == found[1e300] == ["*", "*", "*"]
    assert sum(row == ["*", "*", "*"] for row in found.values()) == 4


def test_intervals_of_decimals_and_of_the_largest_numbers() -> None:
    found = labels("intervals:5.5:top=30", "DECIMAL(6, 2)", ["8.00", "29.99", "30.00"])
    assert found[Decimal("8.00")] == ["[5.5, 11.0)", "*"]
    assert found[Decimal("29.99")] == ["[27.5, 30.0)", "*"]
    assert found[Decimal("30.00")] == [">=30", "*"]
    huge = 2**63 - 1
    assert labels("intervals:1000", "BIGINT", [huge, 1])[huge][0] == "9223372036854775000-9223372036854775999"


@pytest.mark.thorough
def test_a_number_just_below_a_bound_is_not_in_the_interval_above() -> None:
    """Ten places are kept; what is rounded up to a bound would be given an interval that does not hold it."""
    found = labels("intervals:5", "DOUBLE", [4.99999999999, 5, -0.000000000001, 0.3])
    assert found[4.99999999999] == ["[0, 5)", "*"]
    assert found[5.0] == ["[5, 10)", "*"]
    assert found[-0.000000000001] == ["[-5, 0)", "*"]
    short = labels("intervals:0.1", "FLOAT", [0.7, 0.3, 0.05])
    assert sorted(label for label, _ in short.values()) == ["*", "[0.0, 0.1)", "[0.3, 0.4)", "[0.7, 0.8)"]
    exact = labels("intervals:5", "DECIMAL(20, 12)", ["4.999999999999", "5"])
    assert exact[Decimal("4.999999999999")] == ["[0, 5)", "*"]
    assert exact[Decimal(5)] == ["[5, 10)", "*"]
    huge = 10**30
    found = labels("intervals:1000", "DECIMAL(38, 2)", [huge])
    assert found[Decimal(huge)] == [f"[{huge}, {huge + 1000})", "*"]
    assert labels("intervals:5", "HUGEINT", [huge])[huge] == [f"{huge}-{huge + 4}", "*"]


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20),
    st.sampled_from(["0.1", "0.25", "5", "1000"]),
)
@examples(20)
def test_any_interval_of_floating_point_numbers_holds_its_value(values: list[float], width: str) -> None:
    for value, (label, _) in labels(f"intervals:{width}", "DOUBLE", values).items():
        if value is not None:
            low, high = (float(bound) for bound in label[1:-1].split(", "))  # as a person reads them: 0.3 is 0.3
            assert low <= value < high


@each(
    ("rule", "kind", "says"),
    [
        ("intervals:5", "DATE", "(intervals:5) needs numbers, but the column is DATE: use a date rule"),
        ("round:1", "TIMESTAMP", "use a date rule"),
        ("intervals:5", "VARCHAR", "is VARCHAR: cast the column to a number type"),
        ("round:2", "VARCHAR", "cast the column to a number type"),
        ("truncate:2", "VARCHAR", "cast the column to a number type"),
        ("intervals:5", "BOOLEAN", "use mask or flat"),
        ("date:year", "VARCHAR", "needs dates, but the column is VARCHAR: cast the column to DATE"),
        ("date:year", "DECIMAL(8, 2)", "cast the column to DATE, or use intervals or mask"),
    ],
)
def test_a_rule_for_another_type_is_refused(rule: str, kind: str, says: str) -> None:
    """It would give every value the root, called proven optimal, or an error of the database."""
    with pytest.raises(HierarchyError, match=re.escape(says)):
        labels(rule, kind, [None])


@each(
    ("rule", "kind", "asked"),
    [
        ("mask", "VARCHAR", ["MAX(LENGTH("]),
        ("mask", "INTEGER", ["MAX(LENGTH("]),
        ("intervals:5", "INTEGER", ["MIN(TRY_CAST(", "MAX(TRY_CAST("]),
        (None, "DOUBLE", ["MIN(TRY_CAST(", "MAX(TRY_CAST(", "BOOL_AND("]),
        (None, "VARCHAR", ["MIN(LENGTH(", "MAX(LENGTH(", "MAX(STRLEN("]),
        *((rule, kind, []) for rule, kind in [("round:1", "INTEGER"), ("date", "DATE"), ("flat", "VARCHAR")]),
        (None, "DATE", []),
        (None, "BOOLEAN", []),
    ],
)
def test_a_column_is_only_asked_what_its_rule_needs(rule: str | None, kind: str, asked: list[str]) -> None:
    """To write every date as text only to see how long it is takes longer than all the rest."""
    given = None if rule is None else parse_rule(rule)
    assert not isinstance(given, FileRule)
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE source (c " + kind + ")")
        engine = DuckDBEngine(connection, owned=False)
        column_facts(engine, relation("source"), [(Column("c", kind), given)])
        statements = [logged.statement for logged in engine.statements]
    assert len(statements) == bool(asked)
    for statement in statements:
        texts = [aggregate.sql("duckdb") for aggregate in statement.selects]
        assert len(texts) == len(asked)
        assert all(text.startswith(start) for text, start in zip(texts, asked, strict=True))


def test_masks_from_both_sides() -> None:
    assert labels("mask", "VARCHAR", ["80000", "80123", "801"]) == {
        None: ["*"] * 5,
        "80000": ["8000*", "800**", "80***", "8****", "*"],
        "80123": ["8012*", "801**", "80***", "8****", "*"],
        "801": ["801**", "801**", "80***", "8****", "*"],
    }
    assert labels("mask:left:1,3", "VARCHAR", ["80000", "80123"])["80123"] == ["*0123", "***23", "*"]
    assert labels("mask:right:2", "INTEGER", [8112, 8134])[8134] == ["81**", "*"]
    assert labels("mask", "VARCHAR", ["日本語", "日本人"])["日本語"] == ["日本*", "日**", "*"]


def test_dates_by_every_unit() -> None:
    found = labels("date:day,month,quarter,year,decade", "TIMESTAMP", ["2024-05-06 13:00:00", "1987-12-31 00:00:00"])
    assert found[datetime(2024, 5, 6, 13)] == ["2024-05-06", "2024-05", "2024-Q2", "2024", "2020s", "*"]
    assert found[datetime(1987, 12, 31)] == ["1987-12-31", "1987-12", "1987-Q4", "1987", "1980s", "*"]
    assert labels("date", "DATE", ["2024-05-06"])[date(2024, 5, 6)] == ["2024-05", "2024-Q2", "2024", "2020s", "*"]


def test_weeks_are_those_of_iso_8601() -> None:
    """2024-12-30 is a Monday of the first week of 2025."""
    found = labels("date:day,week", "DATE", ["2024-12-30", "2024-01-05"])
    assert found[date(2024, 12, 30)] == ["2024-12-30", "2025-W01", "*"]
    assert found[date(2024, 1, 5)] == ["2024-01-05", "2024-W01", "*"]


def test_a_date_without_a_year_goes_to_the_root() -> None:
    found = labels("date:month,year", "DATE", ["infinity", "2024-02-29"])
    assert sorted(map(tuple, found.values())) == [("*", "*", "*"), ("*", "*", "*"), ("2024-02", "2024", "*")]


def test_truncating_goes_towards_zero() -> None:
    """42, 4 and 25 are 40, 0 and 20 in textbooks; rounded, 25 is 30."""
    assert labels("truncate:1,2", "INTEGER", [42, 4, 25, 199, -42, -199]) == {
        None: ["*", "*", "*"],
        42: ["40", "0", "*"],
        4: ["0", "0", "*"],
        25: ["20", "0", "*"],
        199: ["190", "100", "*"],
        -42: ["-40", "0", "*"],
        -199: ["-190", "-100", "*"],
    }
    assert labels("truncate:-1,0,1", "DECIMAL(6, 2)", ["32.59", "-32.59", "0.99"]) == {
        None: ["*"] * 4,
        Decimal("32.59"): ["32.5", "32", "30", "*"],
        Decimal("-32.59"): ["-32.5", "-32", "-30", "*"],
        Decimal("0.99"): ["0.9", "0", "0", "*"],
    }
    # A double is cut as it is written, and what is rounded to ten places is not cut above it.
    for kind in ("DOUBLE", "FLOAT"):
        found = labels("truncate:-1,1", kind, [4.3, -4.3, 0.7, "nan", "inf"])
        assert [own[0] for value, own in found.items() if value is not None and math.isfinite(value)] == [
            "-4.3",
            "0.7",
            "4.3",
        ]
        assert found[math.inf] == ["*", "*", "*"]
    found = labels("truncate:0,1", "DOUBLE", [9.99999999999, -9.99999999999, 10, 1e15])
    assert found[9.99999999999] == ["9", "0", "*"]
    assert found[-9.99999999999] == ["-9", "0", "*"]
    assert found[10] == ["10", "10", "*"]
    assert found[1e15] == ["1" + 15 * "0"] * 2 + ["*"]
    assert labels("truncate:3", "UBIGINT", [2**64 - 1])[2**64 - 1] == ["18446744073709551000", "*"]


def test_rounding_goes_on_from_the_level_before() -> None:
    """145 becomes 150 and then 200: a label of 150 has one parent."""
    assert labels("round:1,2", "INTEGER", [145, 151, 44]) == {
        None: ["*", "*", "*"],
        145: ["150", "200", "*"],
        151: ["150", "200", "*"],
        44: ["40", "0", "*"],
    }
    assert labels("round:-1,0,1", "DOUBLE", [32.54])[32.54] == ["32.5", "33", "30", "*"]


def test_flat() -> None:
    assert labels("flat", "BOOLEAN", ["true", "false"]) == {None: ["*"], True: ["*"], False: ["*"]}


@pytest.mark.thorough
@each(
    ("kind", "values", "rule"),
    [
        ("INTEGER", [17, 90], "intervals:5,10,20,40"),
        ("INTEGER", [1, 2, 3], "flat"),
        ("INTEGER", [0, 12], "intervals:2,4,8"),
        ("DECIMAL(8, 2)", ["0.00", "7999.00"], "intervals:500,1000,2000,4000"),
        ("DOUBLE", [0.0, 0.5, 1.0], "intervals:0.1,0.2,0.4,0.8"),
        ("DOUBLE", [0.0, 1.0, None, "NaN"], "flat"),
        ("DECIMAL(2, 1)", ["0.0", "1.0"], "flat"),
        ("DOUBLE", [0.0, 12.0], "intervals:2,4,8"),
        ("DATE", ["2020-01-01"], "date:month,quarter,year,decade"),
        ("TIMESTAMP", ["2020-01-01 00:00:00"], "date:day,month,quarter,year,decade"),
        ("VARCHAR", ["12345", "99999"], "mask:right"),
        ("VARCHAR", ["M", "F"], "flat"),
        ("VARCHAR", ["Male", "Female"], "flat"),
        ("BOOLEAN", ["true"], "flat"),
        ("INTEGER", [None], "flat"),
    ],
)
def test_what_is_chosen_for_a_type(kind: str, values: list[Any], rule: str) -> None:
    hierarchy, _ = built(None, kind, values)
    assert hierarchy.origin == rule
    assert hierarchy.chosen


@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**40), 2**40)), min_size=1, max_size=30),
    st.lists(st.integers(2, 5), min_size=1, max_size=4),
    st.integers(-50, 50),
)
@examples(20)
def test_any_interval_holds_its_value_and_lies_in_the_one_above(
    values: list[int | None], factors: list[int], origin: int
) -> None:
    """build_hierarchy raises if a label had two parents; here the bounds are read back out of the labels."""
    widths, width = [], 1
    for factor in factors:
        width *= factor
        widths.append(width)
    found = labels(f"intervals:{','.join(map(str, widths))}:origin={origin}", "BIGINT", values)
    for value, (*intervals, root) in found.items():
        assert root == "*"
        for width, label in zip(widths, intervals, strict=True):
            if value is None:
                assert label == "*"
                continue
            low, high = (
                (int(x) for x in label[1:-1].split(", "))
                if label.startswith("[")
                else (int(label.split("-")[0]), int(label.split("-")[1]) + 1)
            )
            assert low <= value < high
            assert high - low == width
            assert (low - origin) % width == 0


@each(
    ("rule", "says"),
    [
        ("intervals", "at least one width"),
        ("intervals:5,7", "multiple of the one before"),
        ("intervals:3e-18,1e17", "multiple of the one before"),
        ("intervals:0", "greater than 0"),
        ("intervals:five", "a number is expected"),
        ("intervals:5:top=1:bottom=3", "bottom must lie below top"),
        ("intervals:5:left=3", "bottom=, top=, origin= and labels="),
        ("intervals:5:top=1:top=3", "top= is given twice"),
        ("intervals:inf", "must be finite"),
        ("intervals:5:top=nan", "must be finite"),
        ("intervals:5:bottom=-inf", "must be finite"),
        ("intervals:5:origin=sNaN", "must be finite"),
        ("intervals:1e19", "at most 18 digits"),
        ("intervals:1e-19", "at most 18 digits"),
        ("intervals:5:origin=1e999999", "at most 18 digits"),
        ("date:week,month", "a week can lie in two months"),
        ("date:fortnight", "date units are"),
        ("mask:3,1", "must rise"),
        ("mask:right:1:2", "mask is written"),
        ("mask:middle", "mask is written mask, mask:left or mask:right"),
        ("mask:right:x", "mask is written"),
        ("dates:year", "neither a rule nor a file that exists. Rules are: intervals:5,10  mask"),
        ("intervalls:0.5,1", "neither a rule nor a file"),
        ("Flat", "neither a rule nor a file"),
        ("round:2,1", "must rise"),
        ("truncate:2,1", "must rise, as in truncate:1,2,3"),
        ("truncate", "truncate needs digits, as in truncate:1,2,3"),
        ("round", "round needs digits"),
        ("flat:3", "takes no settings"),
        ("ready:atlantis", "no ready-made hierarchy"),
    ],
)
def test_a_rule_that_is_written_wrong(rule: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_rule(rule)


def test_a_file_may_be_called_like_anything(tmp_path: Path) -> None:
    for name in ("Flat", "dates:year", "flat.csv"):
        (tmp_path / name).write_text("a;*\n", encoding="utf-8")
        assert parse_rule(name, tmp_path) == FileRule(tmp_path / name)
    assert parse_rule("none.csv", tmp_path) == FileRule(tmp_path / "none.csv")


@each(
    "rule", ["intervals:5,10:bottom=18:top=90", "mask:left:1,3", "date:day,week", "round:-1,2", "truncate:-1,2", "flat"]
)
def test_a_rule_reads_back_as_it_is_written(rule: str) -> None:
    assert str(parse_rule(rule)) == rule
