"""Anonymize a table in place: all or nothing, with no old data left in the file.

DuckDB keeps deleted data: in freed blocks, in its log, in statistics. So the file itself is not changed. A new file is
made beside it, with the release and everything else in the database, and replaces it in one step:

1. Find the dependencies of the table, and refuse those that cannot be kept (``facts``).
2. Merge the log of the database into its file, so that the file is complete.
3. Make the new database in a temporary directory: definitions, other tables, the release, indexes (``rewrite``).
4. Verify the release in it; check the ledger; try every view that reads the table.
5. If a backup is wanted, copy the old file and compare the copy.
6. Rename the new file, once it is completely on disk, to the name of the old one.

After an interruption or power failure before 6, the old file is there; after 6, the new one. The lock on the old file
is held from before the new database is made until the end.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from sqlglot import exp

from kanon_sql.engine.duckdb.connection import catalog_of
from kanon_sql.engine.files import (
    back_up,
    remove_spill_of,
    require_no_backup,
    require_no_log,
    require_replaceable,
    require_space,
    take_place,
    workspace,
)
from kanon_sql.engine.sources.layout import EXCEL
from kanon_sql.engine.sources.open_source import open_database
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.hierarchy.given import SCHEMA, WAITING
from kanon_sql.release.in_place.facts import facts_of, facts_of_table, try_views
from kanon_sql.release.in_place.rewrite import (
    current_database,
    require_copyable,
    require_no_lists,
    rewrite_of,
    run_rewrite,
    substitute_of,
)
from kanon_sql.release.publish.files import FileSink, check_format
from kanon_sql.release.publish.publisher import InPlace, Outcome, Sink
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.in_place.facts import OtherTable, TableFacts
    from kanon_sql.release.in_place.rewrite import Replaced, Rewrite
    from kanon_sql.release.ledger.ledger import Ledger
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.publish.publisher import OneTable, Published, Releasing


def check_in_place(source: Source, backup: Path | None) -> None:
    """Refuse a source that cannot be anonymized in place, before any work is done."""
    source.refuse_held_out("and would be lost with a table that is anonymized in place: make a table or a file.")
    source.refuse_prepared(
        "and a release in its place would lose the values that they were made of: give --into or --out."
    )
    source.require("in place", "--in-place")
    file = _file_of(source)
    if source.database is None and check_format(file) == EXCEL:
        raise UsageError(f"{file} may hold more than one table, and is not anonymized in place: give --out FILE.")
    if source.database is not None:
        require_copyable(source.engine, facts_of(source).others)
    check_backup(file, backup)
    require_room(file, file.resolve().stat().st_size if source.database is None else bytes_used(source.engine), backup)


def require_room(file: Path, needed: int, backup: Path | None) -> None:
    """Refuse if disks have no room for the new file, which needs ``needed`` bytes, and for the backup."""
    real = require_replaceable(file)
    require_space(real.parent, needed, f"The new {file.name}")
    if backup is not None:
        require_space(backup.parent, real.stat().st_size, "The backup")


def in_place_sink(released: OneTable, backup: Path | None, *, dry_run: bool) -> Sink[Published]:
    """Return the sink that replaces a table by its release, after ``check_in_place``."""
    source = released.source
    if source.database is None:
        return _DataFileSink(released, backup, dry_run=dry_run)
    file = _file_of(source)
    return InPlaceSink(_table_in_place(released, file), file, backup, dry_run=dry_run)


@dataclass(frozen=True)
class TablesInPlace(Generic[Outcome]):
    """Tables that a release replaces, with their dependencies."""

    released: Releasing[Outcome]
    name: str  # in messages, with the file
    places: Mapping[str, tuple[str, str]]  # schema and table, by the names of the released tables
    rewrite: Callable[[str], Rewrite]  # returns the statements that make a new database of that name
    leave: Callable[[], None]  # notes that the original rows are gone
    siblings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    copies: dict[str, tuple[str, ...]] = field(default_factory=dict)


def _table_in_place(released: OneTable, file: Path) -> TablesInPlace[Published]:
    # 1. The dependencies of the table.
    source, publication = released.source, released.publication
    facts = facts_of(source)
    siblings = siblings_of(source.engine, source.columns, _telling(source, publication), facts)

    def rewrite(new: str) -> Rewrite:
        return rewrite_of(source.engine, [substitute_of(facts, publication, released.query())], new)

    def leave() -> None:
        source.gone = True

    places = {"": (facts.schema, facts.name)}
    copies = _copies_of(source, publication, facts, siblings)
    return TablesInPlace(released, f"{file}: {facts.name}", places, rewrite, leave, siblings, copies)


class InPlaceSink(Sink[Outcome]):
    """A new database, with a release instead of its tables, that replaces the old file."""

    kind = "in place"

    def __init__(self, tables: TablesInPlace[Outcome], file: Path, backup: Path | None, *, dry_run: bool) -> None:
        super().__init__(tables.released, None, tables.name)
        self.tables, self.file, self.real = tables, file, require_replaceable(file)
        self.backup, self.dry_run = backup, dry_run

    @contextmanager
    def opened(self) -> Iterator[None]:
        # 2. The log.
        if not self.dry_run:
            self.engine.run(exp.Command(this="CHECKPOINT"), "merge the log into the file")
        with workspace(self.real) as directory:
            self.new_file = directory / self.real.name  # views may name the database by the name of its file
            self.attached = self.engine.attach_new(self.new_file, like_this=True)
            yield

    @property
    def outputs(self) -> dict[str, exp.Expr]:
        places = self.tables.places.items()
        return {name: sql.relation(table, schema, self.attached) for name, (schema, table) in places}

    def make(self) -> None:
        # 3. The new database.
        self.rewrite = self.tables.rewrite(self.attached)
        run_rewrite(self.engine, self.rewrite, current_database(self.engine))

    def complete(self) -> None:
        # 4. Its contents.
        self.engine.detach(self.attached)
        require_same(self.engine, self.rewrite, self.new_file)
        self.outcome = self._outcome()

    def undo(self) -> None:
        self.engine.abandon(self.attached)

    def _outcome(self) -> InPlace:
        """Return the changes of the finished database, by table if there are several."""
        tables, left_out = self.rewrite.tables, self.rewrite.left_out
        name = {one.facts.name: "" if "" in self.tables.places else f"{one.facts.name}: " for one in tables}
        removed = [f"{name[one.facts.name]}{what}" for one in tables for what in one.removed]
        removed += [f"table {facts.name} (dropped by the policy)" for facts in left_out]
        removed += [f"view {view.name} (dropped by the policy)" for view in self.rewrite.views_left_out]
        macros = [f"macro {macro} (not tried)" for facts in left_out for macro in facts.macros]
        return InPlace(
            done=not self.dry_run,
            file=self.file,
            bytes_before=self.real.stat().st_size,
            bytes_after=self.new_file.stat().st_size,
            kept=tuple(f"{name[one.facts.name]}{what}" for one in tables for what in one.kept),
            removed=(*removed, *(f"type {name} (lists values)" for _, name in self.rewrite.types)),
            hierarchies=self.rewrite.hierarchies,
            views=tuple(dict.fromkeys([*(view for one in tables for view in one.views), *macros])),
            siblings=self.tables.siblings,
            copies=self.tables.copies,
            backup=self.backup,
        )

    def take_name(self, rows: Any, ledger: Ledger | None) -> None:  # noqa: ANN401, ARG002 - the ledger is in the file
        # 5., 6. The backup, and the new file.
        require_no_log(self.real, self.new_file)
        if self.backup is not None:
            back_up(self.real, self.backup)
        take_place(self.new_file, self.real)
        self.tables.leave()
        remove_spill_of(self.real)
        self.engine.leave_file()


def in_place_statements(source: Source, publication: Publication) -> tuple[tuple[exp.Expr, ...], exp.Table]:
    """Return the statements that make the new database, and its table; it then gets the name of the old one."""
    if source.database is None:
        raise UsageError(f"{source.name} is not in a database: --sql shows how the file is made with --out FILE.")
    query = release_query(publication, readable_lookups(publication.hierarchies))
    new = source.engine.unused_database("kanon_new")
    rewrite = rewrite_of(source.engine, [substitute_of(facts_of(source), publication, query)], new)
    made = rewrite.statements(source.database, catalog_of(source.database).name)
    return made, rewrite.tables[0].target


def require_same(old: Engine, rewrite: Rewrite, new_file: Path) -> None:
    """Raise unless everything that stays is unchanged in the new database, and views over the tables can be read."""
    facts = [*(one.facts for one in rewrite.tables), *rewrite.left_out]
    try_views(old, lambda: open_database(new_file, writable=False), rewrite.views, [one.name for one in facts])
    with open_database(new_file, writable=False) as new:
        going = frozenset((one.schema, one.name) for one in facts)
        for one in rewrite.tables:
            _require_same_definition(one, facts_of_table(new, one.facts.schema, one.facts.name, going))
        for each in facts:
            require_no_lists(new, each.listed)


def _require_same_definition(one: Replaced, made: TableFacts) -> None:
    facts, same = one.facts, one.unchanged
    defaults = {column.name: column.default for column in facts.columns if not column.generated}
    collations = {column.name: column.collation for column in facts.columns}
    kept = [one for one in made.columns if one.name in same]
    other = [f"default of {one.name}" for one in kept if one.default != defaults.get(one.name)]
    other += [f"collation of {one.name}" for one in kept if one.collation != collations[one.name]]
    other += [constraint.name for constraint in set(one.constraints) - set(made.constraints)]
    other += [f"index {index.name}" for index in made.indexes if index not in facts.indexes]
    if other:
        why = f"cannot be carried over unchanged ({', '.join(other)}): drop it first. Nothing was changed."
        raise UsageError(f"What {facts.name!r} asks of its columns {why}")


class _DataFileSink(FileSink):
    """The CSV, Parquet or JSON file that a release was made from."""

    kind = "in place"

    def __init__(self, released: OneTable, backup: Path | None, *, dry_run: bool) -> None:
        self.file, self.backup, self.dry_run = _file_of(released.source), backup, dry_run
        super().__init__(released, require_replaceable(self.file), check_format(self.file))
        self.name = str(self.file)

    def complete(self) -> None:
        sizes = self.path.stat().st_size, self.partial.stat().st_size
        self.outcome = InPlace(not self.dry_run, self.file, *sizes, backup=self.backup)

    def take_name(self, rows: int, ledger: Ledger | None) -> None:  # noqa: ARG002 - a file has no ledger
        if self.backup is not None:
            back_up(self.path, self.backup)
        take_place(self.partial, self.path)


def _file_of(source: Source) -> Path:
    """Return the file of a source; refuse a file that cannot be replaced."""
    if source.address is not None:
        raise UsageError(f"{source.address.shown} is only read, never written: give --out FILE instead of --in-place.")
    file = source.database or source.file
    if file is None:
        why = "open its database by its path, or make a table of the release"
        raise UsageError(f"{source.name} cannot be anonymized in place: {why}.")
    if not file.is_file():
        raise UsageError(f"{file} is not one file: name the file that is to be anonymized in place.")
    return file


def check_backup(file: Path, backup: Path | None) -> None:
    if backup is None:
        return
    if not backup.parent.is_dir():
        raise SourceError(f"The directory {backup.parent}, where the backup should be, does not exist.")
    if backup.is_dir():
        raise SourceError(f"{backup} is a directory: say after --backup which file in it.")
    if backup.resolve() in {file.resolve(), Path(f"{file.resolve()}.wal")}:
        raise UsageError("The backup cannot be the file itself: give another name after --backup.")
    require_no_backup(backup)


def bytes_used(engine: Engine) -> int:
    """Return the number of used bytes of a database file."""
    ((used,),) = engine.rows(sql.statement("catalog/size_of_database"), "size of the database")
    return int(used)


# Other tables that hold, or may hold, raw values: they have a column that is not published; or a quasi-identifier
# beside any other column, because the exact value and the other one lead to a row of the release. Columns match by name
# and kind of type; in tables with as many rows as the raw one, also by their values, whatever their names.

_ROWS = "a table of as many rows as the raw one?"


def siblings_of(
    engine: Engine, raw: Sequence[Column], tells: Callable[[Sequence[str]], bool], facts: TableFacts
) -> dict[str, tuple[str, ...]]:
    """Return other tables that may hold the same raw values by names and types, each with the matching columns.

    ``raw`` are the columns of the table. ``tells`` returns True if some of them, by their folded names, lead to rows of
    the release or name people (see ``telling``).
    """
    here = {folded(column.name): column for column in raw}
    found: dict[str, tuple[str, ...]] = {}
    for other in _others(facts):
        if not {folded(name) for name in other.columns} & here.keys():
            continue
        columns = engine.columns(sql.relation(other.name, other.schema))
        same = [
            column
            for column in columns
            if (own := here.get(folded(column.name))) is not None
            and (column.type == own.type or column.family == own.family != "other")
        ]
        if tells([folded(column.name) for column in same]):
            found[_shown(other, facts)] = tuple(column.name for column in same)
    return found


def _copies_of(
    source: Source, publication: Publication, facts: TableFacts, known: dict[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return other tables that hold the same values under other names or types, each with these columns.

    Each table with as many rows as the raw one is scanned once, except ``known`` ones. If there are any, so is the raw
    table.
    """
    engine, tells = source.engine, _telling(source, publication)
    others = [other for other in _others(facts) if other.columns and _shown(other, facts) not in known]
    if not others:
        return {}
    rows = _rows(engine, source.relation)
    alike = [other for other in others if _rows(engine, sql.relation(other.name, other.schema)) == rows]
    if not alike:
        return {}
    names = [column.name for column in source.columns]
    by_values = {total: folded(name) for name, total in _totals(engine, source.relation, names).items()}
    found: dict[str, tuple[str, ...]] = {}
    for other in alike:
        totals = _totals(engine, sql.relation(other.name, other.schema), other.columns)
        same = {name: by_values[total] for name, total in totals.items() if total in by_values}
        if tells([*same.values()]):
            found[_shown(other, facts)] = tuple(same)
    return found


def _telling(source: Source, publication: Publication) -> Callable[[Sequence[str]], bool]:
    hidden = [column for column in source.columns if column.name not in publication.published_types]
    return telling(publication.roles.quasi_identifiers, [*publication.roles.identifying, *hidden])


def telling(quasi_identifiers: Iterable[Column], hidden: Iterable[Column]) -> Callable[[Sequence[str]], bool]:
    """Return a function: True if columns (folded names) lead to rows of the release, or name people (``hidden``)."""
    generalized, secret = ({folded(column.name) for column in columns} for columns in (quasi_identifiers, hidden))
    return lambda columns: bool(secret & {*columns} or (generalized & {*columns} and len(columns) > 1))


def _others(facts: TableFacts) -> list[OtherTable]:
    """Return the other tables with rows of people: neither the ledger nor hierarchies."""
    return [other for other in facts.others if other.schema != SCHEMA or other.name.startswith(WAITING)]


def _shown(other: OtherTable, facts: TableFacts) -> str:
    return other.name if other.schema == facts.schema else f"{other.schema}.{other.name}"


def _rows(engine: Engine, relation: exp.Table) -> int:
    (rows,) = engine.row(exp.select(sql.count_rows()).from_(relation.copy()), _ROWS)
    return int(rows)


def _totals(engine: Engine, relation: exp.Table, names: Sequence[str]) -> dict[str, int]:
    """Return a number for each column that is equal if the values are equal; none for columns with a single value."""
    hashes = [exp.Anonymous(this="HASH", expressions=[sql.cast(sql.column(name), "VARCHAR")]) for name in names]
    figures = [f(this=hashed.copy()) for hashed in hashes for f in (exp.Sum, exp.Min, exp.Max)]
    row = engine.row(exp.select(*figures).from_(relation.copy()), _ROWS)
    each = zip(names, row[::3], row[1::3], row[2::3], strict=True)
    return {name: int(total) for name, total, least, most in each if total is not None and least != most}
