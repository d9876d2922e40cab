"""Putting a release where its table is, in a warehouse; or from there into a file or a data frame.

1. What the publishing statement joins is carried over: hierarchies, and what a search found besides the levels.
2. The warehouse makes the release from its own rows, by the statement that DuckDB would run, in its dialect: one scan.
3. The classes of what was made are fetched, and checked on the workbench by the statements that check any release.
4. Only then it takes its name. When anything fails on the way, whatever was made is gone.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kanon_sql.engine.base import Column
from kanon_sql.engine.files import private_directory
from kanon_sql.engine.progress import lift_deadlines, timed
from kanon_sql.engine.warehouse.warehouse import carried_type
from kanon_sql.errors import UsageError, VerificationError
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.models.base import RowModel
from kanon_sql.release.publish.file_formats import copy_statement, require_types, spreadsheet_safe
from kanon_sql.release.publish.files import check_file, finish_file, verify_file
from kanon_sql.release.publish.publisher import forget_recoding, verified
from kanon_sql.release.publish.warehouse_tables import carried_query, carry, on_warehouse
from kanon_sql.release.published import Published
from kanon_sql.release.statements.release import readable_lookups
from kanon_sql.release.statements.view import publication_of_view, require_viewable, view_lookups, view_statements
from kanon_sql.release.target import KINDS, check_target, require_kind
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.warehouse.warehouse import RelationKind, Warehouse
    from kanon_sql.engine.warehouse.workbench import Workbench
    from kanon_sql.policy.destination import Kind
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.published import Watch
    from kanon_sql.release.verify.classes import Verification
    from kanon_sql.release.verify.verify import Expected


def publish_in_warehouse(
    source: Source,
    publication: Publication,
    name: str,
    expected: Expected,
    *,
    kind: Kind = "table",
    replace: bool = False,
    ledger: Watch | None = None,
) -> Published:
    """Make a release as a table or view beside its table.

    Raises:
        UsageError: the name is taken; or the release cannot be a view, or not one of this warehouse.
        SourceError: the warehouse refuses it.
        VerificationError: the output is not what it should be; it was taken back.
    """
    bench, warehouse = source.workbench, source.workbench.warehouse
    if kind != "table":
        require_viewable(publication)
    require_kind(source, kind)
    target = check_target(source, name, kind, replace=replace)
    staging = _beside(target, warehouse)
    seconds: dict[str, float] = {}
    try:
        with warehouse.transaction():
            with timed(seconds, "publish"):
                if kind == "table":
                    made = sql.create_table(staging, carried_query(bench, warehouse, publication))
                    warehouse.run(made, "make the release")
                else:
                    _make_view(bench, warehouse, publication, name, staging, kind, target)
            with timed(seconds, "verify"):
                verification = _verified(bench, publication, staging, expected)
            if ledger is not None:
                ledger.check(staging, target, seconds)
            with _named(bench, warehouse, staging, target, KINDS[kind]):
                if ledger is not None:
                    ledger.remember("view" if kind == "view" else "table", target, verification.rows)
    except BaseException:
        warehouse.undo(staging, KINDS[kind])
        bench.forget_mirror(staging)
        raise
    finally:
        warehouse.forget()
        forget_recoding(bench, publication)
    return Published(name, verification, seconds, None if ledger is None else ledger.outcome)


def publish_from_warehouse(
    source: Source,
    publication: Publication,
    path: Path,
    expected: Expected,
    *,
    replace: bool = False,
    ledger: Watch | None = None,
    dry_run: bool = False,
) -> Published:
    """Write a release to a file: made in the warehouse, taken over in batches, written and verified here."""
    bench, warehouse = source.workbench, source.workbench.warehouse
    format_name = check_file(source, path, replace=replace)
    _require_takeable(bench, publication)
    carried = _carried(publication)
    require_types(carried, format_name)
    seconds: dict[str, float] = {}
    with private_directory(path.parent) as private:
        partial = private.path / path.name
        try:
            with warehouse.transaction():
                with timed(seconds, "publish"):
                    taken = _taken(bench, warehouse, publication)
                    rows = exp.select("*").from_(taken)
                    if publication.spreadsheet_safe:
                        rows = spreadsheet_safe(rows, carried)
                    bench.run(copy_statement(rows, partial, format_name), "write the release")
                with timed(seconds, "verify"):
                    wanted = _expected(bench, publication, expected)
                    verification = verify_file(bench, carried, partial, format_name, wanted)
                if ledger is not None:
                    ledger.check(taken, path, seconds)
                if not dry_run:
                    finish_file(bench, partial, path, verification.rows, ledger)
        finally:
            warehouse.forget()
            forget_recoding(bench, publication)
    return Published(str(path), verification, seconds, None if ledger is None else ledger.outcome)


def frame_from_warehouse(
    source: Source,
    publication: Publication,
    expected: Expected,
    fetch: Callable[[Any], Any],
    ledger: Watch | None = None,
    target: exp.Table | Path | None = None,
) -> tuple[Any, Published]:
    """Return a release as a data frame, and what was verified (see ``duckdb.FrameSink``)."""
    bench, warehouse = source.workbench, source.workbench.warehouse
    _require_takeable(bench, publication)
    carried = _carried(publication)
    seconds: dict[str, float] = {}
    try:
        with timed(seconds, "publish"):
            taken = _taken(bench, warehouse, publication)
        with timed(seconds, "verify"):
            wanted = _expected(bench, publication, expected)
            verification = verified(bench, carried, readable_lookups(carried.hierarchies), taken, wanted)
        if ledger is not None:
            ledger.check(taken, target, seconds)
        frame = bench.fetched(taken, fetch)
        bench.run(sql.drop(taken), "drop the copy that was fetched")
    finally:
        warehouse.forget()
        forget_recoding(bench, publication)
    return frame, Published("data frame", verification, seconds)


def spark_frame(source: Source, publication: Publication, expected: Expected) -> tuple[Any, Published]:
    """Return a release as a data frame of Spark, and what was verified.

    Raises:
        UsageError: the source is not in Spark.
        VerificationError: the output is not what it should be.
    """
    warehouse, bench = source.spark, source.workbench
    staging = bench.temporary_name("kanon_release")
    seconds: dict[str, float] = {}
    try:
        with timed(seconds, "publish"):
            made = carried_query(bench, warehouse, publication)
            frame = warehouse.frame(made, staging, "make the release")
        with timed(seconds, "verify"):
            verification = _verified(bench, publication, staging, expected)
    finally:
        bench.forget_mirror(staging)
        warehouse.forget()
        forget_recoding(bench, publication)
    return frame, Published("data frame", verification, seconds)


def _taken(bench: Workbench, warehouse: Warehouse, publication: Publication) -> exp.Table:
    """Return a temporary table of the workbench with the release that the warehouse made."""
    made = carried_query(bench, warehouse, publication)
    taken = bench.temporary_name("kanon_release")
    warehouse.fetch(made, _carried(publication).published_types, bench, taken, "make the release")
    return taken


def _require_takeable(bench: Workbench, publication: Publication) -> None:
    """Raise where a release that is taken over could not be verified here, since its table stays in the warehouse.

    Raises:
        UsageError: people, or what a class is compared with, are known from the table alone.
    """
    of_rows = all(isinstance(model, RowModel) and model.entity is None for model in publication.models)
    if bench.is_sealed(publication.source) and not of_rows:
        raise UsageError(
            "With --search-on warehouse, a release that promises more than rows alike is verified where its table is: "
            "make a table (--into NAME), or leave --search-on out."
        )


def _expected(bench: Workbench, publication: Publication, expected: Expected) -> Expected:
    """Return what a release that was taken over must have; the rows of a table that stays there are not counted here.

    Raises:
        VerificationError: the table has other rows than were searched.
    """
    if bench.searching is None or not bench.is_sealed(publication.source):
        return expected
    query = exp.select(sql.count_rows()).from_(publication.source.copy())
    (rows,) = bench.searching.row(query, "does the table have as many rows as it had?")
    if rows != expected.rows_in:
        raise VerificationError(
            f"The table has {rows:,} rows and had {expected.rows_in:,} when it was searched. Nothing was kept; run it "
            "again."
        )
    return replace(expected, rows_in=None)


def _carried(publication: Publication) -> Publication:
    """Return what is published with the types that its columns have on the workbench."""
    columns = tuple(Column(column.name, carried_type(column)) for column in publication.columns)
    return replace(publication, columns=columns)


def _make_view(
    bench: Workbench,
    warehouse: Warehouse,
    publication: Publication,
    name: str,
    staging: exp.Table,
    kind: Kind,
    target: exp.Table,
) -> None:
    """Make a view, and the tables that it joins; what it replaces goes first, since it may join the same ones."""
    there = carry(bench, warehouse, publication, live=True)
    if (existing := warehouse.kind_of(target)) is not None:
        if warehouse.all_or_nothing:
            warehouse.drop(target, existing)
        else:
            name = _other_name(warehouse, there, name)
    lookups = readable_lookups(publication.hierarchies)
    *tables, view = view_statements(there, name, staging, lookups, materialized=kind == "materialized-view")
    for statement in tables:
        warehouse.run(statement, "the hierarchies of the view")
    warehouse.run(view, "make the view")


def _other_name(warehouse: Warehouse, publication: Publication, name: str) -> str:
    """Return the name by which the tables of a view are called while those of the view that it replaces are there."""
    for number in count(2):
        other = f"{name}_{number}"
        tables = [*view_lookups(publication, other).values(), *publication_of_view(publication, other).recoding.tables]
        if all(warehouse.kind_of(table) is None for table in tables):
            return other
    raise AssertionError


def _tables_of_view(warehouse: Warehouse, view: exp.Table) -> list[exp.Table]:
    """Return the tables of kanon's own that a view reads."""
    with suppress(SqlglotError):  # it does not read all that a warehouse does
        query = sqlglot.parse_one(warehouse.definition_of(view), read=warehouse.dialect)
        return [sql.relation(table.name, SCHEMA) for table in query.find_all(exp.Table) if folded(table.db) == SCHEMA]
    return []


def _verified(bench: Workbench, publication: Publication, staging: exp.Table, expected: Expected) -> Verification:
    """Return what is found in a release that the warehouse has; its classes are fetched by one scan of it."""
    lookups = readable_lookups(publication.hierarchies)
    columns = bench.mirror(staging).columns
    if bench.searching is not None and bench.is_sealed(publication.source):
        return verified(bench.searching, publication, lookups, staging, expected)
    about = [model.sensitive for model in publication.models]
    wanted = {*publication.quasi_identifiers, *about, *(publication.pseudonyms.names if publication.pseudonyms else [])}
    bench.bring(staging, [column for column in columns if column.name in wanted])
    return verified(bench, on_warehouse(publication, columns), lookups, staging, expected)


def _beside(target: exp.Table, warehouse: Warehouse, what: str = "kanon_unverified") -> exp.Table:
    """Return a name in the schema of the target that is not in use."""
    for number in count(1):
        name = f"{what}_{target.name}" if number == 1 else f"{what}_{target.name}_{number}"
        beside = sql.relation(name, target.db or None)
        if warehouse.kind_of(beside) is None:
            return beside
    raise AssertionError


@contextmanager
def _named(
    bench: Workbench, warehouse: Warehouse, staging: exp.Table, target: exp.Table, kind: RelationKind
) -> Iterator[None]:
    """Give what was verified its name, for good if what is done inside ends well.

    Where there are no transactions, what is replaced stands aside meanwhile, and comes back if anything fails.
    """
    lift_deadlines()
    existing = warehouse.kind_of(target)
    if existing is not None and warehouse.all_or_nothing:
        warehouse.drop(target, existing)
    aside = _beside(target, warehouse, "kanon_replaced")
    moved = existing is not None and not warehouse.all_or_nothing
    if existing is not None and moved:
        warehouse.rename(target, aside, existing)
    left = _tables_of_view(warehouse, aside) if moved and existing == "VIEW" else []
    try:
        warehouse.rename(staging, target, kind)
        bench.rename_mirror(staging, target)
        yield
    except BaseException:
        if not warehouse.all_or_nothing:
            warehouse.undo(target, kind)
            bench.forget_mirror(target)
        if existing is not None and moved:
            warehouse.rename(aside, target, existing)
        raise
    if existing is not None and moved:
        warehouse.drop(aside, existing)
        for table in left:
            warehouse.drop(table, "TABLE")
