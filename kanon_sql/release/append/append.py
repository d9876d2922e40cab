"""``apply``: publish new rows with the rules of a lock, and append them to the release that the lock was written for.

1. Open the release and the new rows. The release must be the result of the lock and earlier appends. The new rows have
   the columns and types of the lock, and must not have been appended before.
2. The batch: the new rows and the waiting rows.
3. Form its classes at the levels of the lock, or step by step if it has several. Publish the classes that satisfy the
   models by the rows of the batch alone. So if someone has the release of any two days, the rows added in between form
   classes that satisfy the models.
4. Make these classes beside the release, verify them as any release, and append them. The other rows wait in a table of
   the schema ``kanon`` until a later batch has enough rows of their class. All of it happens, or nothing.

People are counted within the batch: a person who is in the release already also counts once for the batch.
"""

from __future__ import annotations

import os
import secrets
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.classes.recoding import FullDomain, Local
from kanon_sql.engine.base import Column, closed_on_error, find_column, resolve_columns
from kanon_sql.engine.duckdb.connection import waited
from kanon_sql.engine.equality import published, published_type
from kanon_sql.engine.keys import draw_key
from kanon_sql.engine.progress import Listener, Progress, silent, timed
from kanon_sql.engine.sources.addresses import is_warehouse, shown_source
from kanon_sql.engine.sources.layout import JSON
from kanon_sql.engine.sources.open_source import Preparation, Source, is_database, open_named, open_source
from kanon_sql.engine.sources.preparing import type_of_cast, with_prepared
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.errors import HierarchyError, InUseError, SourceError, UsageError, counted
from kanon_sql.hierarchy.rules import ListedRule
from kanon_sql.hierarchy.spec import parse_rule
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.l_diversity import DistinctLDiversity
from kanon_sql.policy.algorithms import GREEDY
from kanon_sql.policy.gate import people_are_counted, refused_of, require_nothing_tells
from kanon_sql.release.anonymize import publication_of
from kanon_sql.release.append.lock import (
    Lock,
    print_of_hierarchy,
    print_of_release,
    read_lock,
    repeated_values,
    table_place,
)
from kanon_sql.release.append.sink import AppendSink
from kanon_sql.release.append.store import Batch, batches_of, waiting_table
from kanon_sql.release.in_place.rewrite import current_database
from kanon_sql.release.ledger import fingerprint
from kanon_sql.release.ledger.ledger import LedgerOfTable
from kanon_sql.release.publish.publisher import OneTable, publish
from kanon_sql.release.verify.classes import k_of
from kanon_sql.release.verify.verify import Expected
from kanon_sql.search.local.remaining import Remaining
from kanon_sql.search.prepare import prepare_source, problem_of
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.measures.quality import ClassCounts
    from kanon_sql.policy.gate import Finding
    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.ledger.ledger import LedgerOutcome
    from kanon_sql.release.publication import Publication
    from kanon_sql.search.prepare import Prepared


_COUNT_COPIES_ONCE = (KAnonymity, DistinctLDiversity)
"""Models that, if people are counted, give the same result for a class with and without copies of its rows."""
_ISO = {"DATE": ("date:%Y-%m-%d",), "TIMESTAMP": ("trim", "cast:TIMESTAMP")}
"""The rules for dates of a CSV file if the lock has none: ISO 8601, from texts, as ``trim`` takes them."""


@dataclass(frozen=True)
class Appended:
    """The result of appending new rows.

    Attributes:
        rows: the table or file that has them.
        rows_new: number of new rows.
        rows_waited: rows that waited before.
        rows_equal: new rows that equal a row that waited.
        rows_appended: rows of both that are now in the release.
        rows_waiting: rows of both that now wait.
        rows_released: rows of the release now.
        classes: classes of the appended rows.
        smallest_class: rows of the smallest of them; None if there are no classes.
        k: the fewest people, or rows, of one of them; None if there are no classes.
        models: the required models, with the value measured in the worst class.
        levels: of each quasi-identifier; None for a local recoding.
        choice: how models of sensitive values decide about classes: "greedy"; None without such models.
        findings: columns that may name people, and were not refused.
        ledger: the outcome in the ledger of the database; None if the new rows are not in one of its tables.
        dry_run: whether everything was made and checked, but nothing was written.
    """

    release: str
    rows: str
    rows_new: int
    rows_waited: int
    rows_equal: int
    rows_appended: int
    rows_waiting: int
    rows_released: int
    classes: int
    smallest_class: int | None
    k: int | float | None
    models: tuple[dict[str, Any], ...]
    levels: dict[str, int] | None
    choice: str | None
    findings: tuple[Finding, ...]
    ledger: LedgerOutcome | None
    dry_run: bool
    seconds: dict[str, float]

    def summary(self) -> dict[str, Any]:
        """Return the result as plain values, as ``--format json`` prints it."""
        return {
            **vars(self),
            "findings": [asdict(finding) for finding in self.findings],
            "ledger": None if self.ledger is None else asdict(self.ledger),
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
        }


def apply(  # noqa: PLR0913 - the public call: every setting has a name of its own
    lock: str | os.PathLike[str],
    rows: Any,  # noqa: ANN401 - the name of a table, or anything that open_source accepts
    table: str | None = None,
    *,
    append: str,
    database: Any = None,  # noqa: ANN401 - a path or a connection
    again: bool = False,
    ignore_ledger: bool = False,
    dry_run: bool = False,
    resources: Resources | None = None,
    progress: Listener | None = None,
) -> Appended:
    """Publish new rows with the rules of a lock, and append them to the release that the lock was written for.

    Args:
        lock: path of the ``kanon.lock``.
        rows: the new rows: a table or view of the database, a file, another database, or a data frame.
        table: the table, if ``rows`` is another database.
        append: the table that is the release.
        database: the database of the release: a path or a DuckDB connection. Default: the database named in the lock.
        again: whether to append rows that equal rows that were appended before, or that wait.
        ignore_ledger: whether to publish regardless of other releases of the table.
        dry_run: whether to make and check everything, and write nothing.
        resources: resource limits of the run; a connection has its own settings.
        progress: called with the progress.

    Raises:
        PolicyError: the lock cannot be read.
        UsageError: the release is not the result of the lock and earlier appends; or the new rows were appended before,
            wait and would count twice, or have other columns or types.
        HierarchyError: a value is in no hierarchy, or a hierarchy changed.
        VerificationError: the output failed verification; nothing was written.
        JointReleaseError: the output reveals too much together with an earlier release of the table of the new rows.
    """
    known = read_lock(Path(lock))
    opened = open_release(known, append, database, writable=not dry_run, resources=resources)
    with opened.engine:
        return append_to(
            opened,
            known,
            new_rows(opened, rows, table),
            again=again,
            ignore_ledger=ignore_ledger,
            dry_run=dry_run,
            progress=progress or silent,
        )


def open_release(
    lock: Lock,
    append: str,
    database: Any,  # noqa: ANN401 - a path or a connection
    *,
    writable: bool,
    resources: Resources | None = None,
) -> Source:
    """Open the release to append to; arguments are those of ``apply``."""
    if database is None and lock.policy.origin is None:
        raise UsageError("The lock does not name the database of its release: give --database FILE.")
    where = database if database is not None or lock.policy.origin is None else lock.policy.origin.source
    if isinstance(where, str | os.PathLike) and (is_warehouse(where) or not is_database(Path(where))):
        raise UsageError(f"{shown_source(str(where))} is no DuckDB database: give --database FILE.")
    with computing_in(lock.policy.time_zone):
        return waited(lambda: open_source(where, append, writable=writable, resources=resources))


def new_rows(release: Source, rows: Any, table: str | None) -> Source:  # noqa: ANN401 - as for ``apply``
    """Open the new rows: a table beside the release, or a source elsewhere."""
    with closed_on_error(release.engine):
        found = open_named(release, rows, table)
        found.require("apply")
        return found


def append_to(
    release: Source,
    lock: Lock,
    new: Source,
    *,
    again: bool,
    ignore_ledger: bool,
    dry_run: bool,
    progress: Listener,
) -> Appended:
    """Append new rows to an open release; arguments are those of ``apply``."""
    engine, columns = release.engine, lock.policy.columns
    seconds: dict[str, float] = {}
    # 1. The release and the new rows.
    progress(Progress("Comparing the release with its lock"))
    target = _table_of(release, lock)
    new = _as_locked(new, lock)
    (rows_new,) = engine.row(sql.select_count(new.relation), "how many new rows?")
    batch = Batch(
        lock.release,
        int(rows_new),
        fingerprint.of_source(engine, new.relation, list(lock.types)),
        print_of_release(engine, target, columns),
    )
    waiting = waiting_table(target)
    has_waiting = engine.kind_of(waiting) is not None
    of_name = batches_of(engine, target)
    earlier = _earlier_batches(target, of_name, lock, batch, has_waiting=has_waiting)
    (rows_waited,) = engine.row(sql.select_count(waiting), "how many rows wait?") if has_waiting else (0,)
    _require_new(release, new, lock, batch, earlier, target, again=again)
    rows_equal = _equal_to_waiting(release, new, lock, waiting, again=again) if rows_waited else 0
    # 2. The batch.
    source = _batch_of(release, new, waiting if has_waiting else None, list(lock.types))
    _require_one_each(release, source, new, lock)
    # 3. Its classes.
    algorithm = "local" if lock.is_local else "optimal"
    # Each class is published or waits on its own.
    policy = replace(lock.policy.suppressing(1), seed=secrets.randbits(31), algorithm=algorithm, choice=GREEDY)
    prepared = _prepared(source, policy, lock, progress)
    policy = replace(policy, models=prepared.resolved(policy.models))
    seconds.update(prepared.seconds)
    nodes = tuple(tuple(step[column.name] for column in prepared.roles.quasi_identifiers) for step in lock.steps)
    recoding: Recoding = Local(nodes) if lock.is_local else FullDomain(nodes[0])
    require_nothing_tells(source, policy, prepared.roles, recoding)
    with timed(seconds, "measure"):
        counts = _counts(prepared, policy, recoding)
    publication = publication_of(prepared, policy, recoding, draw_key())
    _require_types(release, publication)
    # 4. Make, verify, append.
    renewed = bool(of_name) and not earlier
    expected = Expected(counts.rows, counts.published, prepared.frequency.rows, counts.squares)
    released = OneTable(source, publication, expected)
    known = {"batches": len(of_name), "waiting": int(rows_waited), "suppressed": counts.suppressed}
    sink = AppendSink(released, target, columns, batch, **known, renewed=renewed, dry_run=dry_run)
    with ExitStack() as stack:
        ledger = None
        if new.database is not None and new.database == release.database and counts.rows:
            ledger = stack.enter_context(
                LedgerOfTable(policy, prepared, publication, counts.suppressed, ignore=ignore_ledger, appends=True)
            )
        try:
            made = publish(sink, ledger, dry_run=dry_run, progress=progress)
        except SourceError as error:
            if engine.is_shared and "conflict" in str(error).lower():
                raise InUseError(f"Another cursor appended rows to {release.name} meanwhile: run it again.") from None
            raise
    (rows_released,) = engine.row(sql.select_count(target), "how many rows does the release have?")
    return Appended(
        release=release.name,
        rows=new.name,
        rows_new=batch.rows_new,
        rows_waited=int(rows_waited),
        rows_equal=rows_equal,
        rows_appended=counts.rows,
        rows_waiting=counts.suppressed,
        rows_released=int(rows_released),
        classes=made.verification.classes,
        smallest_class=made.verification.smallest_class,
        k=k_of(made.verification.models, made.verification.smallest_class),
        models=tuple(
            result.stated(model.entity)
            for result, model in zip(made.verification.models, publication.models, strict=True)
        ),
        levels=recoding.levels(prepared.hierarchies),
        choice=policy.choice_made,
        findings=prepared.findings,
        ledger=made.ledger,
        dry_run=dry_run,
        seconds={**seconds, **made.seconds},
    )


def _table_of(release: Source, lock: Lock) -> exp.Table:
    """Return the table of a release with its schema; raise unless it has the columns that the lock publishes."""
    found = sql.relation(release.relation.name, release.relation.db or release.engine.current_schema())
    if release.relation.catalog not in {"", current_database(release.engine)}:
        raise UsageError(f"{release.name} is in an attached database: make that the current one (USE), or open it.")
    if release.engine.kind_of(found) != "TABLE":
        raise UsageError(f"{release.name} is a view, and rows are appended to tables.")
    columns = lock.policy.columns
    wanted = {folded(name) for name in (*columns.quasi_identifiers, *columns.sensitive, *columns.insensitive)}
    if {folded(column.name) for column in release.columns} != wanted:
        raise UsageError(f"{release.name} does not have the columns of the release of the lock: --append that one.")
    return found


def _require_one_each(release: Source, batch: Source, new: Source, lock: Lock) -> None:
    """Raise if a person has several rows in a batch, also by a column of the new rows that the lock lacks."""
    if again_there := repeated_values(batch, lock.one_each):
        raise UsageError(
            f"Several of the new rows and of those that wait have the same {again_there[0]}, and no two of "
            f"{release.name} had: publish one whose lock names the person (--entity), or counts rows (--count rows)."
        )
    if (refused := refused_of(people_are_counted(new, lock.policy))) is not None:
        raise UsageError(refused.said(new.name))


def _as_locked(new: Source, lock: Lock) -> Source:
    """Return the new rows, prepared by the rules of the lock, in its types.

    Whole numbers of another size are cast. Columns of a CSV file that were read as another type are cast from their
    text in the file. Dates are those of ISO 8601, or written as a rule of the lock says: otherwise, which part of
    11/03/2024 is the month would be guessed for each file.
    """
    rules = dict(lock.policy.prepare)
    ruled = {folded(name) for name in rules}
    for name, kind in lock.types.items():
        column = find_column(name, new.columns)
        if column is None or folded(name) in ruled:
            continue
        if new.is_csv and kind in _ISO:
            rules[column.name] = _ISO[kind]
        elif kind in _ISO and column.type in _ISO and new.file and new.read.reader == JSON:
            raise UsageError(
                f"How dates are written in {new.name} is guessed from its values, and those of another file could be "
                f"read otherwise (column {name!r}): write the rows to a Parquet or CSV file."
            )
        elif column.type != kind and (new.is_csv or _fits(column, kind)) and type_of_cast(kind):
            rules[column.name] = (f"cast:{kind}",)
    prepared = with_prepared(new, rules)
    for name, kind in lock.types.items():
        column = find_column(name, prepared.columns)
        if column is None:
            raise UsageError(
                f"{new.name} has no column {name!r}, which the lock needs. Needed: {', '.join(lock.types)}."
            )
        if not _fits(column, kind):
            raise UsageError(
                f"Column {name!r} of {new.name} is {published_type(column)}, and was {kind} when the release was made: "
                "its labels could be written in another way. Cast it in a view, and append that."
            )
    return prepared


def _fits(column: Column, wanted: str) -> bool:
    """Return True if values of a column are published as those of a type; the size of whole numbers does not matter."""
    return published_type(column) == wanted or column.family == Column("", wanted).family == "integer"


def _require_new(
    release: Source, new: Source, lock: Lock, batch: Batch, earlier: list[Batch], target: exp.Table, *, again: bool
) -> None:
    """Raise if rows are known to be in a release already, unless ``again`` allows rows that look the same."""
    beside = new.file is None and new.frame_kind is None and new.database == release.database
    place = table_place(new) if beside and new.table.catalog in {"", current_database(release.engine)} else None
    if place == (folded(target.db), folded(target.name)):
        raise UsageError(f"{new.name} is the release itself: name new rows.")
    if again:
        return
    if any(one.rows == batch.rows for one in earlier if one.rows_new):
        raise UsageError(
            f"These {counted(batch.rows_new, 'row')} were appended to {release.name} before: people would be in it "
            "twice. If they are other ones that look the same, give --again."
        )
    if place == lock.table or (batch.rows_new and batch.rows == lock.rows):
        raise UsageError(
            f"{new.name} is the table that {release.name} was made of, or has the same rows: append a view of the new "
            "rows alone. If all of them are new, give --again."
        )


def _equal_to_waiting(release: Source, new: Source, lock: Lock, waiting: exp.Table, *, again: bool) -> int:
    """Count the new rows that equal waiting rows. Raise if a class could satisfy a model by counting a row twice.

    Rows are equal if they agree in all columns that the lock needs (NULL equals NULL); each copy counts once. A waiting
    row and its copy among the new rows are two rows of the batch. k-anonymity of people counts their person once, and
    distinct l-diversity their value once, so for these models the copy changes nothing. If a model counts rows, or the
    frequency of values, the copy adds to a class something that is not in the table: it is refused, unless ``again``
    says that it is another row.

    Guarantee: if the new rows are different rows of the growing table, then the rows by which a class satisfies its
    models are different rows of that table, or rows of different people. Not detected: a row that comes again with
    another value in some column; and a row that was appended before, since no values of appended rows are kept. Each of
    its classes still satisfies the models by the rows of a batch, but an attacker who knows that both have the same row
    looks for a value that is in both, as with a person who comes again (docs/how-to/every-month.md).

    It reveals a number of equal rows, to the person who has both tables; no release depends on it.
    """
    names, models = list(lock.types), lock.policy.models
    waits = exp.select(*map(sql.column, names)).from_(waiting.copy())
    both = exp.intersect(_as_read(new, names), waits, distinct=False).subquery("both")
    (found,) = release.engine.row(exp.select(sql.count_rows()).from_(both), "which new rows wait already?")
    people = lock.policy.columns.entity is not None
    if found and not again and not (people and all(isinstance(model, _COUNT_COPIES_ONCE) for model in models)):
        equal = "equals a row that waits" if found == 1 else "equal rows that wait"
        raise UsageError(
            f"{counted(found, 'new row')} {equal} to be appended to {release.name}, in {waiting.db}.{waiting.name}, "
            "and would count twice. Append rows that did not come before. If they are other ones that look the same, "
            "give --again."
        )
    return int(found)


def _earlier_batches(
    target: exp.Table, of_name: list[Batch], lock: Lock, batch: Batch, *, has_waiting: bool
) -> list[Batch]:
    """Return the batches appended to a release since it was made, out of all batches of a table of its name."""
    if of_name and (of_name[-1].lock, of_name[-1].release) == (lock.release, batch.release):
        return of_name
    waiting = waiting_table(target)
    if batch.release != lock.release:
        raise UsageError(
            f"{target.name} is not the release that the lock was written for, with the rows appended since: it was "
            "changed, or made by another policy. Publish a new release with a lock of its own (--lock)."
        )
    if has_waiting:
        raise UsageError(
            f"Rows wait for an earlier release of the name {target.name}, in {waiting.db}.{waiting.name}. Drop that "
            "table if this release was made of them too; else append a copy of them after that."
        )
    return []


def _as_read(new: Source, names: list[str]) -> exp.Select:
    """Return the query of the new rows with the columns that the lock needs."""
    columns = resolve_columns(names, new.columns, new.name)
    as_published = [
        sql.named(published(sql.column(column.name), column), name) for column, name in zip(columns, names, strict=True)
    ]
    return exp.select(*as_published).from_(new.relation.copy())


def _batch_of(release: Source, new: Source, waiting: exp.Table | None, names: list[str]) -> Source:
    """Return the source of a batch: the new rows and the waiting rows, numbered."""
    engine = release.engine
    together = [_as_read(new, names)]
    if waiting is not None:
        together.append(exp.select(*map(sql.column, names)).from_(waiting.copy()))
    query = sql.query(
        "append/batch",
        values={"columns": [sql.column(name) for name in names]},
        steps={"together": [("together", sql.union_all(together))]},
    )
    relation = engine.temporary_name("kanon_batch")
    create = sql.create_table(relation, query, temporary=True)
    engine.run(create, "new rows, and those that wait")
    preparation = new.preparation or Preparation(new, {}, {}, create, {})
    return Source(engine, relation, new.name, database=new.database, preparation=preparation)


def _prepared(source: Source, policy: Policy, lock: Lock, progress: Listener) -> Prepared:
    """Prepare a batch; raise if a hierarchy changed since the release was made."""

    def another(column: str, where: str) -> HierarchyError:
        return HierarchyError(
            f"The hierarchy of column {column!r} ({where}) changed after the release was made: the same "
            "values could have other labels now. Take the old one, or publish a new release with a lock of its own."
        )

    for name, text in lock.policy.hierarchies.items():
        rule = parse_rule(text, lock.policy.directory)
        if isinstance(rule, ListedRule):
            try:
                found = fingerprint.of_file(rule.path)
            except OSError:
                found = None
            if found != lock.hierarchies.get(name):
                raise another(name, str(rule))
    try:
        prepared = prepare_source(source, policy, progress)
    except HierarchyError as error:
        raise HierarchyError(f"{error} With another hierarchy, publish a new release with a lock of its own.") from None
    for hierarchy in prepared.hierarchies:
        name = hierarchy.column.name
        if hierarchy.stored is not None and print_of_hierarchy(source.engine, hierarchy) != lock.hierarchies.get(name):
            raise another(name, "in the database")
    return prepared


def _counts(prepared: Prepared, policy: Policy, recoding: Recoding) -> ClassCounts:
    """Return the class sizes that a recoding publishes; most of many steps publish nothing of a batch."""
    classes = prepared.frequency.relation
    if isinstance(recoding, Local):
        remaining = Remaining(problem_of(prepared, policy))
        for node in recoding.steps:
            remaining.publish(node)
        remaining.close()
        recoding, classes = Local(tuple(remaining.steps)), remaining.relation
    return prepared.measured(policy, recoding, classes).counts


def _require_types(release: Source, publication: Publication) -> None:
    """Raise unless the columns of the release have the types in which rows are published."""
    for name, kind in publication.published_types.items():
        column = find_column(name, release.columns)
        if column is None or not _fits(Column(name, kind), column.type):
            raise UsageError(
                f"Column {name!r} of {release.name} is {column.type if column else 'not there'}, and new rows have "
                f"{kind}: publish a new release with a lock of its own."
            )
