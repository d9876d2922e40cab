"""Tables of Python values, and the rows of a release as Python values: neither takes a library of data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    import kanon_sql as kanon

Columns = dict[str, tuple[str, list[Any]]]
"""By name, the type of a column in DuckDB and its values."""


def create_table(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, tuple[str, Sequence[Any]]]
) -> None:
    """Create a table that has these columns, by one statement."""
    assert len({len(values) for _, values in columns.values()}) == 1, "columns of one length"
    lists = ", ".join(
        f"unnest(${place}::{kind}[]) AS {exp.to_identifier(column, quoted=True).sql('duckdb')}"
        for place, (column, (kind, _)) in enumerate(columns.items(), start=1)
    )
    quoted = exp.to_identifier(name, quoted=True).sql("duckdb")
    connection.execute(f"CREATE TABLE {quoted} AS SELECT {lists}", [list(values) for _, values in columns.values()])


def text_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Columns:
    """Return columns of texts that have these rows."""
    return {name: ("VARCHAR", [row[place] for row in rows]) for place, name in enumerate(names)}


def _released(release: kanon.Release) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the columns and the rows of a release, which is made and verified as for a data frame."""
    return release.verified_with(
        lambda engine, table: engine.fetched(table, lambda rows: (rows.columns, rows.fetchall()))
    )[1]


def released_rows(release: kanon.Release, *columns: str) -> list[tuple[Any, ...]]:
    """Return the rows of a release in their order: all columns, or those that are named."""
    names, rows = _released(release)
    if not columns:
        return rows
    places = [names.index(column) for column in columns]
    return [tuple(row[place] for place in places) for row in rows]


def released_records(release: kanon.Release) -> list[dict[str, Any]]:
    """Return the rows of a release in their order, by name of the column."""
    names, rows = _released(release)
    return [dict(zip(names, row, strict=True)) for row in rows]


def released_columns(release: kanon.Release) -> list[str]:
    """Return the names of the columns of a release."""
    return _released(release)[0]
