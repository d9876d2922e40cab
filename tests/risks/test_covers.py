"""What labels cover, as spans: by counting places one by one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import duckdb
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

_PLACES = 9
_FOUND = st.tuples(st.integers(1, 4), st.integers(0, _PLACES - 1), st.integers(0, _PLACES - 1))
_ROWS = st.lists(st.integers(0, 2), min_size=_PLACES, max_size=_PLACES)


def _table(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Sequence[str], rows: Sequence[tuple[int, ...]]
) -> None:
    typed = [exp.ColumnDef(this=sql.identifier(column), kind=exp.DataType.build("BIGINT")) for column in columns]
    schema = exp.Schema(this=exp.to_table(name), expressions=typed)
    connection.execute(exp.Create(this=schema, kind="TABLE", replace=True).sql("duckdb"))
    if rows:
        connection.execute(exp.insert(exp.values(list(rows)), name).sql("duckdb"))


def _make(connection: duckdb.DuckDBPyConnection, name: str, statement: str, **values: exp.Expr) -> None:
    query = sql.query(f"attacks/covers/{statement}", values=values)
    connection.execute(sql.create_table(exp.to_table(name), query, temporary=True).sql("duckdb"))


@examples(100)
@given(rows=_ROWS, found=st.lists(_FOUND, max_size=8), looked_up=st.lists(st.integers(0, _PLACES - 1), max_size=6))
def test_spans(rows: list[int], found: list[tuple[int, int, int]], looked_up: list[int]) -> None:
    spans = [(label, min(ends), max(ends)) for label, *ends in found]
    covered = {(label, place) for label, low, high in spans for place in range(low, high + 1) if rows[place] > 0}
    tuples = [(place,) for place in looked_up if rows[place] > 0]
    labels = (1, 2, 3, 4, 2)
    classes = [(label, bit % 2, word, 1 << bit) for word in range(2) for bit, label in enumerate(labels)]
    with duckdb.connect() as connection:
        _table(connection, "places", ["place", "n"], list(enumerate(rows)))
        _table(connection, "found_spans", ["label", "low", "high"], spans)
        _table(connection, "looked_up", ["place_1"], tuples)
        _table(connection, "worded", ["label_1", "block", "word", "bit"], classes)
        _make(connection, "ranks", "ranks")
        _make(connection, "spans", "spans")
        # 1. The values, each once.
        _make(connection, "covers", "places")
        assert sorted(connection.table("covers").fetchall()) == sorted(covered)
        # 2. No two spans of a label meet.
        of_label = Counter(label for label, *_ in connection.table("spans").fetchall())
        present = [place for place in range(_PLACES) if rows[place] > 0]
        for label in range(1, 5):
            inside = [(label, place) in covered for place in present]
            begun = sum(here and not before for before, here in zip([False, *inside], inside, strict=False))
            assert of_label[label] == begun
        # 3. Labels of a value, at most.
        (most,) = connection.execute(sql.query("attacks/covers/most").sql("duckdb")).fetchone() or ()
        of_place = Counter(place for _, place in covered)
        assert (most or 0) == max(of_place.values(), default=0)
        # 4. Pairs that are let through.
        values = {"place": sql.column("place_1"), "label": sql.column("label_1")}
        (let_through,) = (
            connection.execute(sql.query("attacks/covers/spread", values=values).sql("duckdb")).fetchone() or ()
        )
        assert let_through == sum((label, place) in covered for label, *_ in classes for (place,) in tuples)
        # 5. The classes that cover each value.
        _make(connection, "mask", "mask", label=sql.column("label_1"), block=sql.column("block"))
        bits: Counter[tuple[int, int, int]] = Counter()
        for label, block, word, bit in classes:
            for place in present:
                if (label, place) in covered:
                    bits[place, block, word] += bit
        assert sorted(connection.table("mask").fetchall()) == sorted((*key, bit) for key, bit in bits.items())
