"""Mondrian, against a plain recursive version over lists that shares nothing with it."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from typing import Any

import duckdb
import pandas as pd
import pytest
from effort import examples
from hypothesis import example, given
from hypothesis import strategies as st
from plain_mondrian import (
    Row,
    Table,
    alike,
    of_case,
    parts_of,
    plain,
    plain_rows,
    publish,
    released,
    tables,
    written,
)
from rows import create_table, released_rows
from strategies import PERSON, TABLE, Case, cases, database_with
from test_scripts import paste

import kanon_sql as kanon
from kanon_sql.policy.policy import Destination
from kanon_sql.search.mondrian import cuts as cuts_module

_ASKED = st.fixed_dictionaries(
    {
        "choose": st.sampled_from(["range", "distinct"]),
        "cut": st.sampled_from(["strict", "relaxed", "node"]),
        "labels": st.sampled_from(["tree", "set", "range"]),
    }
)


def require_the_same(table: Table, asked: dict[str, str]) -> None:
    """Compare the parts of ours with those of the plain version, in two orders of cuts."""
    oracle = table.plain(**asked)
    connection = table.connection()
    if table.rows and not oracle.allows(table.rows):
        with pytest.raises(kanon.NoSolutionError):
            table.anonymize(connection, **asked)
        return
    if table.people and asked["cut"] == "relaxed":
        with pytest.raises(kanon.UsageError, match="elaxed"):
            table.anonymize(connection, **asked)
        return
    with table.anonymize(connection, **asked) as release:
        parts = parts_of(release, table.names, table.rows)
        ours = alike([part.rows for part in parts])
        assert ours == alike(oracle.parts(table.rows))
        assert ours == alike(oracle.parts(table.rows, largest_first=True))
        # Nothing more can be cut, and the output has the classes.
        assert not any(oracle.sides(part.rows) for part in parts)
        found = Counter(tuple(map(plain, row)) for row in released_rows(release, *table.names))
        assert sum(found.values()) == len(table.rows) == release.rows_out
        assert not found or min(found.values()) >= table.k
        expected: Counter[Row] = Counter()
        for part in parts:
            expected[part.published] += len(part.rows)
        assert found == expected


@pytest.mark.thorough
@given(cases(), _ASKED)
@examples(15)
def test_texts_are_parted_as_the_plain_version_parts_them(case: Case, asked: dict[str, str]) -> None:
    require_the_same(of_case(case), asked)


# What was tried in vain must not count rows twice: no cut of "x" has 3 people on each side, one of "y" has.
_TRIED = Table(
    ["x", "y"],
    ["VARCHAR"] * 2,
    [("a", "a", 0)] * 14
    + [("", "a", 0), ("", "a", 0), ("e", "a", 0), ("d", "b", 0), ("", "0", 7), ("a", "0", 2), ("a", "a", 6)]
    + [(None, "a", 4)],
    [
        {value: ["*"] for value in ["a", "d", "e", "", None]},
        {"a": ["L1-0", "L2-0", "*"], "0": ["L1-1", "L2-0", "*"], "b": ["L1-2", "L2-0", "*"]},
    ],
    ["file"] * 2,
    3,
    people=True,
)


@pytest.mark.thorough
@given(tables(), _ASKED)
@examples(15)
@example(_TRIED, {"choose": "range", "cut": "node", "labels": "tree"})
def test_numbers_dates_and_texts_are_parted_as_the_plain_version_parts_them(
    table: Table, asked: dict[str, str]
) -> None:
    require_the_same(table, asked)


@pytest.mark.thorough
@given(tables(), _ASKED, st.integers(2, 9))
@examples(20)
def test_bins_of_places_change_the_way_only(table: Table, asked: dict[str, str], bins: int) -> None:
    """Large tables look for medians in bins first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts_module, "_MANY", 0)
        patch.setattr(cuts_module, "_BINS", ((0, bins),))
        require_the_same(table, asked)


@pytest.mark.thorough
@given(tables(), st.integers(0, 3))
@examples(10)
def test_random_columns_depend_on_the_seed_alone(table: Table, seed: int) -> None:
    connection = table.connection()
    with released(table, connection, choose="random", seed=seed) as release:
        first = plain_rows(release)
        parts = parts_of(release, table.names, table.rows)
    with table.anonymize(connection, choose="random", seed=seed) as release:
        assert plain_rows(release) == first
    oracle = table.plain()
    assert all(oracle.allows(part.rows) for part in parts)
    assert not any(oracle.sides(part.rows) for part in parts)  # nothing can be cut more, whichever column was first


_VIEWED = st.fixed_dictionaries(
    {
        "cut": st.sampled_from(["strict", "node"]),
        "labels": st.sampled_from(["tree", "range"]),
    }
)


def rows_of(connection: duckdb.DuckDBPyConnection, name: str) -> Counter[Row]:
    """Return the rows of a table or view."""
    return Counter(tuple(map(plain, row)) for row in connection.table(f'"{name}"').fetchall())


@pytest.mark.thorough
@given(tables(), _VIEWED, st.data())
@examples(15)
def test_a_view_shows_what_a_table_has_and_stays_anonymous(
    table: Table, asked: dict[str, str], data: st.DataObject
) -> None:
    connection = table.connection()
    with released(table, connection, **asked) as release:
        release.to_table("t")
        release.to_view("v")
    assert rows_of(connection, "t") == rows_of(connection, "v")
    quoted = [f'"{name}"' for name in [*table.names, *([PERSON.replace('"', '""')] if table.people else [])]]
    before = rows_of(connection, "v")
    # Rows go ...
    kept = data.draw(st.integers(0, len(table.rows)))
    base = '"the ""table"'
    connection.execute(f"DELETE FROM {base} WHERE rowid >= {kept}")  # noqa: S608 - our own table
    some = rows_of(connection, "v")
    assert not some or min(some.values()) >= table.k
    assert some <= before
    # ... and rows come: those that were there, strange ones, NULLs.
    strange: dict[str, Any] = dict.fromkeys(["SMALLINT", "INTEGER", "BIGINT"], 10**4)
    strange |= {"VARCHAR": "new, \\ text", "DOUBLE": 1e6, "DATE": dt.date(2030, 1, 1)}
    others = [strange.get(kind) for kind in table.types]
    mixed = [
        tuple(data.draw(st.sampled_from([row[n], other, None])) for n, other in enumerate(others)) + row[len(others) :]
        for row in table.rows
    ]
    marks = ", ".join("?" for _ in quoted)
    connection.executemany(f"INSERT INTO {base} VALUES ({marks})", [*table.rows, *mixed])  # noqa: S608 - names and numbers of this test
    after = rows_of(connection, "v")
    assert all(n >= table.k for n in after.values())
    assert set(after) <= set(before)


@pytest.mark.thorough
@pytest.mark.parametrize("asked", [{"labels": "set"}, {"cut": "relaxed"}, {"numbers": "mean"}])
def test_what_cannot_be_a_view(asked: dict[str, Any]) -> None:
    connection = database_with({"x": ("VARCHAR", ["a", "b", "b"])})
    with kanon.anonymize(connection, TABLE, quasi_identifiers=["x"], models=[kanon.KAnonymity(1)], algorithm="mondrian",
                         **asked) as release:  # fmt: skip
        with pytest.raises(kanon.UsageError, match="view"):
            release.to_view("v")
        assert release.to_table("t").verification.rows == 3
    assert connection.sql("SELECT table_name FROM duckdb_tables() WHERE NOT temporary ORDER BY 1").fetchall() == [
        ("t",), (TABLE,),
    ]  # fmt: skip


@pytest.mark.thorough
@given(tables(), written, st.sampled_from(["range", "distinct", "random"]))
@examples(15)
def test_the_pasted_script_gives_the_same_rows(table: Table, asked: dict[str, str], choose: str) -> None:
    with released(table, table.connection(), **asked, choose=choose, seed=7) as release:
        script = release.sql(destination=Destination(into="pasted"))
        expected = plain_rows(release)
        alone = release.sql()
    connection = table.connection()
    paste(connection, script)
    found = [tuple(map(plain, row)) for row in connection.table("pasted").fetchall()]
    assert found == expected
    assert [tuple(map(plain, row)) for row in paste(table.connection(), alone)] == expected


# Edges


def test_tables_that_are_too_small_have_no_solution() -> None:
    frame = pd.DataFrame({"x": [1, 2, 3]})
    for share in (0, 1):
        with pytest.raises(kanon.NoSolutionError):
            publish(frame, "x", models=[kanon.KAnonymity(4)], max_suppressed=share)


@pytest.mark.thorough
@pytest.mark.parametrize("cut", ["strict", "relaxed", "node"])
@pytest.mark.parametrize("labels", ["tree", "set", "range"])
def test_no_rows_one_row_one_value_and_nothing_but_nulls(cut: str, labels: str) -> None:
    asked = {"cut": cut, "labels": labels, "hierarchies": {"x": "flat", "y": "flat"}}
    empty = pd.DataFrame({"x": pd.Series([], dtype="int64"), "y": pd.Series([], dtype="string")})
    assert publish(empty, "x,y", models=[kanon.KAnonymity(2)], **asked) == []
    one = pd.DataFrame({"x": [1], "y": ["a"]})
    assert publish(one, "x,y", models=[kanon.KAnonymity(1)], **asked) == [(1, "a")]
    same = pd.DataFrame({"x": [1] * 5, "y": ["a"] * 5})
    assert publish(same, "x,y", models=[kanon.KAnonymity(2)], **asked) == [(1, "a")] * 5
    nulls = pd.DataFrame({"x": pd.array([None] * 4, dtype="Int64"), "y": pd.array([None] * 4, dtype="string")})
    assert publish(nulls, "x,y", models=[kanon.KAnonymity(2)], **asked) == [(None, None)] * 4


@pytest.mark.thorough
@pytest.mark.parametrize("cut", ["strict", "relaxed"])
def test_thirty_columns_are_parted_as_the_plain_version_parts_them(cut: str) -> None:
    generator = random.Random(5)  # noqa: S311 - values for a test
    trees = [None, {value: ["*"] for value in "abcde"}] * 15
    rows = [tuple(generator.choice("abcde") if tree else generator.randrange(9) for tree in trees) for _ in range(60)]
    types = ["VARCHAR" if tree else "BIGINT" for tree in trees]
    names = [f"c{number}" for number in range(30)]
    table = Table(names, types, rows, trees, ["file" if tree else "flat" for tree in trees], 3)
    require_the_same(table, {"cut": cut, "choose": "range", "labels": "tree"})


OUR_NAMES = [
    *("box", "inside", "outside", "position", "column_name", "age", "age_from", "age_to", "age_null", "age_place"),
    *("age_label", "place_1", "low_1", "part", "n", "walk", "boxes", "cut", "arrived", "source", "value", "place"),
]
"""Names that statements of Mondrian use."""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("cut", "name"),
    [("strict", "walk"), ("strict", "source"), ("strict", "generalized"), ("relaxed", "boxes"), ("relaxed", "arrived")],
)
def test_tables_and_columns_may_be_called_like_those_of_ours(cut: str, name: str) -> None:
    generator = random.Random(6)  # noqa: S311 - values for a test
    data = {
        column: [generator.choice(["a", "b", None]) if number % 2 else generator.randrange(5) for _ in range(40)]
        for number, column in enumerate(OUR_NAMES)
    }
    rules = dict.fromkeys(OUR_NAMES[:-2], "flat")

    def connect() -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        kinds = ["BIGINT", "VARCHAR"] * len(OUR_NAMES)
        create_table(connection, name, dict(zip(data, zip(kinds, data.values(), strict=False), strict=True)))
        return connection

    connection = connect()
    with kanon.anonymize(connection, name, quasi_identifiers=list(rules), hierarchies=rules,
                         insensitive=["place"], rest="keep", cut=cut,
                         models=[kanon.KAnonymity(4)], algorithm="mondrian", seed=1) as release:  # fmt: skip
        assert release.classes > 1
        release.to_table("made")
        script = release.sql(destination=Destination(into="pasted"))
        if cut == "strict":
            release.to_view("viewed")
            assert rows_of(connection, "viewed") == rows_of(connection, "made")
    classes = Counter(row[: len(rules)] for row in connection.table("made").fetchall())
    assert min(classes.values()) >= 4
    kept = len(OUR_NAMES) - len(rules)
    originals = list(zip(*(data[column] for column in OUR_NAMES[-kept:]), strict=True))
    assert Counter(row[-kept:] for row in connection.table("made").fetchall()) == Counter(originals)
    other = connect()
    paste(other, script)
    assert other.table("pasted").fetchall() == connection.table("made").fetchall()
