"""Trees of intervals from files, over the values of a column: open and closed bounds decide in SQL."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from rows import create_table

from kanon_sql.engine.base import Column
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.check import count_missing
from kanon_sql.hierarchy.given import load_hierarchy
from kanon_sql.hierarchy.report import rows_query
from kanon_sql.hierarchy.spec import FileRule
from kanon_sql.sql.build import relation

if TYPE_CHECKING:
    from pathlib import Path

TREE = "range\nname age\nheight 3\n0,50 has 0,25 25,50\n0,100 has 0,50 50,100\n"


def labels(tmp_path: Path, content: str, kind: str, values: list[Any]) -> tuple[dict[Any, list[str]], int]:
    """Return the labels that a tree of intervals gives to a column of these values, and how many it misses."""
    path = tmp_path / "tree"
    path.write_text(content, encoding="utf-8")
    with duckdb.connect() as connection:
        create_table(connection, "source", {"c": ("VARCHAR", [None if v is None else str(v) for v in values])})
        connection.execute("ALTER TABLE source ALTER c TYPE " + kind)
        engine, column = DuckDBEngine(connection, owned=False), Column("c", kind)
        made = load_hierarchy(engine, relation("source"), column, FileRule(path))
        rows = engine.rows(rows_query(made.relation, made.height, None))
        return {value: list(own) for value, *own in rows}, count_missing(engine, relation("source"), made).values


@pytest.mark.thorough
def test_open_and_closed_bounds_decide_in_sql(tmp_path: Path) -> None:
    low, high, above, root = ["[0, 25)", "[0, 50)"], ["[25, 50)", "[0, 50)"], ["[50, 100]", "[50, 100]"], ["*", "*"]
    assert labels(tmp_path, TREE, "INTEGER", [0, 24, 25, 49, 50, 100, None]) == (
        {0: [*low, "*"], 24: [*low, "*"], 25: [*high, "*"], 49: [*high, "*"], 50: [*above, "*"], 100: [*above, "*"]}
        | {None: [*root, "*"]},
        0,
    )
    found, missing = labels(tmp_path, TREE, "DECIMAL(5, 2)", ["24.99", "25.00", "50.00", "100.01", "-0.01"])
    assert missing == 2
    assert {value: own[0] for value, own in found.items() if value is not None} == {
        Decimal("24.99"): "[0, 25)",
        Decimal("25.00"): "[25, 50)",
        Decimal("50.00"): "[50, 100]",
    }
    found, missing = labels(
        tmp_path, TREE, "DOUBLE", [24.999999999999996, 49.99999999999999, 1e300, "nan", "inf", "-inf"]
    )
    assert missing == 1
    assert found[24.999999999999996][0] == "[0, 25)"
    assert found[49.99999999999999][0] == "[25, 50)"
    assert found[float("inf")] == found[float("-inf")] == ["*", "*", "*"]


def test_bounds_are_those_that_a_person_reads(tmp_path: Path) -> None:
    tree = "range\nname x\nheight 2\n0,1 has 0,0.1 0.1,0.3 0.3,1\n"
    for kind in ("DOUBLE", "FLOAT", "DECIMAL(3, 1)"):
        found, missing = labels(tmp_path, tree, kind, [0, 0.1, 0.2, 0.3, 1])
        assert missing == 0
        in_order = [own[0] for _, own in sorted(item for item in found.items() if item[0] is not None)]
        assert in_order == ["[0, 0.1)", "[0.1, 0.3)", "[0.1, 0.3)", "[0.3, 1]", "[0.3, 1]"]
    assert labels(tmp_path, tree, "HUGEINT", [0, 10**30])[1] == 1


def test_a_tree_of_intervals_is_for_numbers(tmp_path: Path) -> None:
    with pytest.raises(
        HierarchyError, match=re.escape("is a tree of intervals and needs numbers, but the column is VARCHAR")
    ):
        labels(tmp_path, TREE, "VARCHAR", ["1"])
