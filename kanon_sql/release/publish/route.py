"""The choice of the sink for a release: by its destination, and by the location of its table, DuckDB or a warehouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.engine.progress import silent
from kanon_sql.engine.sources.data_files import require_not_read
from kanon_sql.hierarchy.given import given_rules
from kanon_sql.hierarchy.rules import ListedRule
from kanon_sql.policy.destination import decided_backup
from kanon_sql.release.publish.files import DATABASE, DatabaseSink, FileSink, check_file
from kanon_sql.release.publish.publisher import (
    FrameSink,
    OneTable,
    TableSink,
    ViewSink,
    check_target,
    publish,
    require_kind,
)
from kanon_sql.release.statements.view import require_viewable

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.progress import Listener
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.destination import Destination
    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.ledger.ledger import Ledger
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.publish.publisher import Published, Sink
    from kanon_sql.release.verify.verify import Expected

FETCHES: dict[str, Callable[[DuckDBEngine, exp.Table], Any]] = {
    "pandas": lambda engine, table: engine.fetched(table, lambda relation: relation.df()),
    "polars": lambda engine, table: engine.fetched(table, lambda relation: relation.pl()),
    "arrow": lambda engine, table: engine.fetched(table, lambda relation: relation.to_arrow_table()),
}
"""The function that makes a data frame of each kind from a DuckDB table."""


def check_destination(
    source: Source, destination: Destination, policy: Policy | None = None, *, remembers: bool = True
) -> None:
    """Refuse a destination before any work. A lock needs the policy. ``remembers`` is as in ``check_target``."""
    if destination.in_place:
        from kanon_sql.release.in_place.publish import check_in_place

        check_in_place(source, decided_backup(destination.backup))
    elif destination.out is not None:
        check_file(source, destination.out, replace=destination.replace)
        rules = () if policy is None else given_rules(source, source.columns, policy).values()
        require_not_read(destination.out, *(rule.path for rule in rules if isinstance(rule, ListedRule)))
    elif destination.into is not None:
        require_kind(source, destination.kind)
        check_target(source, destination.into, destination.kind, replace=destination.replace, remembers=remembers)
        if destination.lock is not None and policy is not None:
            from kanon_sql.release.append.lock import require_lock_file

            require_lock_file(destination.lock, source, policy, replace=destination.replace)


def put(
    source: Source,
    publication: Publication,
    expected: Expected,
    destination: Destination,
    ledger: Ledger | None = None,
    progress: Listener = silent,
) -> Published:
    """Publish a release at a destination. A dry run makes, verifies and checks everything, and then removes it."""
    released = OneTable(source, publication, expected)
    if ledger is not None and destination.out is not None and not destination.dry_run:
        ledger.open()
    sink = _sink_of(released, destination, ledger)
    return publish(sink, ledger, dry_run=destination.dry_run, progress=progress)


def _sink_of(released: OneTable, destination: Destination, ledger: Ledger | None) -> Sink[Published]:
    source, path, kind, replace = released.source, destination.out, destination.kind, destination.replace
    if destination.in_place:
        from kanon_sql.release.in_place.publish import in_place_sink

        return in_place_sink(released, decided_backup(destination.backup), dry_run=destination.dry_run)
    if path is not None:
        format_name = check_file(source, path, replace=replace)
        return DatabaseSink(released, path) if format_name == DATABASE else FileSink(released, path, format_name)
    name = destination.into or ""
    require_kind(source, kind)
    if kind != "table":
        require_viewable(released.publication)
    if destination.dry_run:
        target = check_target(source, name, kind, replace=replace, remembers=ledger is not None)
        return FrameSink(released, lambda *_: None, target, name)
    (source if ledger is None else ledger).make_writable()
    if source.in_warehouse:
        from kanon_sql.release.publish.warehouse import RelationSink

        return RelationSink(released, name, kind=kind, replace=replace)
    sink = TableSink if kind == "table" else ViewSink
    return sink(released, name, replace=replace, remembers=ledger is not None)


def to_frame(
    source: Source,
    publication: Publication,
    expected: Expected,
    fetch: Callable[[DuckDBEngine, exp.Table], Any],
) -> tuple[Any, Published]:
    """Return the result of ``fetch`` on the DuckDB table of a release, and its verification."""
    sink = FrameSink(OneTable(source, publication, expected), fetch)
    published = publish(sink)
    return sink.frame, published


def to_spark(source: Source, publication: Publication, expected: Expected) -> tuple[Any, Published]:
    from kanon_sql.release.publish.warehouse import SparkFrameSink

    sink = SparkFrameSink(OneTable(source, publication, expected))
    published = publish(sink)
    return sink.frame, published
