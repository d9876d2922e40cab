"""Which way a release takes to where it goes: it is made where its table is, in DuckDB or in a warehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.release.publish.publisher import (
    FrameSink,
    Published,
    Sink,
    TableSink,
    ViewSink,
    check_target,
    publish,
    require_kind,
)
from kanon_sql.release.statements.view import require_viewable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlglot import exp

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.destination import Kind
    from kanon_sql.release.ledger.ledger import Ledger
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.verify.verify import Expected

FETCHES: dict[str, Callable[[DuckDBEngine, exp.Table], Any]] = {
    "pandas": lambda engine, table: engine.fetched(table, lambda relation: relation.df()),
    "polars": lambda engine, table: engine.fetched(table, lambda relation: relation.pl()),
    "arrow": lambda engine, table: engine.fetched(table, lambda relation: relation.to_arrow_table()),
}
"""What makes a data frame of each kind from a table in DuckDB."""


def to_relation(
    source: Source,
    publication: Publication,
    name: str,
    expected: Expected,
    *,
    kind: Kind,
    replace: bool,
    ledger: Ledger | None,
    dry_run: bool = False,
) -> Published:
    """Make a release a table or a view beside its table; arguments are those of ``Release.to_table``.

    In a dry run a temporary table is made, verified and checked, and then removed.
    """
    require_kind(source, kind)
    if kind != "table":
        require_viewable(publication)
    if dry_run:
        target = check_target(source, name, kind, replace=replace)
        return to_frame(source, publication, expected, lambda *_: None, ledger, target)[1]
    if ledger is None:
        source.make_writable()
    else:
        ledger.make_writable()
    sink: Sink
    if source.in_warehouse:
        from kanon_sql.release.publish.warehouse import RelationSink

        sink = RelationSink(source, publication, name, kind=kind, replace=replace)
    else:
        sink = (TableSink if kind == "table" else ViewSink)(source, publication, name, replace=replace)
    return publish(sink, expected, ledger)


def to_file(
    source: Source,
    publication: Publication,
    path: Path,
    expected: Expected,
    *,
    format_name: str,
    replace: bool,
    ledger: Ledger | None,
    dry_run: bool = False,
) -> Published:
    """Write a release to a file of a format; arguments are those of ``Release.to_file``.

    In a dry run the file is written, verified and checked as always, and then removed.
    """
    if ledger is not None and not dry_run:
        ledger.open()
    from kanon_sql.release.publish.files import DATABASE, DatabaseSink, FileSink, check_file

    check_file(source, path, replace=replace)
    if format_name == DATABASE:
        sink: Sink = DatabaseSink(source, publication, path)
    else:
        sink = FileSink(source, publication, path, format_name)
    return publish(sink, expected, ledger, dry_run=dry_run)


def to_frame(
    source: Source,
    publication: Publication,
    expected: Expected,
    fetch: Callable[[DuckDBEngine, exp.Table], Any],
    ledger: Ledger | None = None,
    target: exp.Table | Path | None = None,
) -> tuple[Any, Published]:
    """Return a release as what ``fetch`` makes of its table in DuckDB, and what was verified."""
    source.require_rows()
    sink = FrameSink(source, publication, fetch, target)
    published = publish(sink, expected, ledger)
    return sink.frame, published


def to_spark(source: Source, publication: Publication, expected: Expected) -> tuple[Any, Published]:
    """Return a release as a data frame of Spark, and what was verified."""
    from kanon_sql.release.publish.warehouse import SparkFrameSink

    sink = SparkFrameSink(source, publication)
    published = publish(sink, expected)
    return sink.frame, published
