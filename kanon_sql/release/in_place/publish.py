"""Anonymizing a table in place: all or nothing, and nothing of what was there is left in the file.

DuckDB keeps what is deleted: in freed blocks, in its log, in statistics. So the file is not changed at all. A new one
is made beside it, with the release and everything else that is in the database, and takes its name in one step:

1. See what stands around the table, and refuse what cannot go on (``facts``, ``changes``).
2. Merge the log of the database into its file, so that the file is all there is.
3. Make the new database in a directory of our own: definitions, other tables, the release, indexes (``rewrite``).
4. Verify the release in it; ask the ledger; try every view that reads the table.
5. Copy the old file, if a backup was asked for.
6. The new file, all of it on the disk, takes the name of the old one.

Whoever stops this before 6, or pulls the plug, finds the old file; after it, the new one. The lock on the old file is
held from before the new database is made to the end.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.duckdb.connection import catalog_of
from kanon_sql.engine.files import (
    copy_whole,
    remove_spill_of,
    require_no_log,
    require_replaceable,
    require_space,
    take_place,
    workspace,
)
from kanon_sql.engine.progress import timed
from kanon_sql.engine.sources.open_source import open_database
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.hierarchy.given import stored_hierarchies
from kanon_sql.release.in_place.facts import facts_of, facts_of_table
from kanon_sql.release.in_place.rewrite import in_database, rewrite_of
from kanon_sql.release.in_place.siblings import copies_of, siblings_of
from kanon_sql.release.in_place.views import try_views
from kanon_sql.release.publish.files import FileSink, check_format
from kanon_sql.release.publish.publisher import Sink, publish
from kanon_sql.release.published import InPlace, Published
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.in_place.facts import OtherTable, TableFacts
    from kanon_sql.release.in_place.rewrite import Rewrite
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.published import Watch
    from kanon_sql.release.verify.verify import Expected


@dataclass(frozen=True)
class HowInPlace:
    """How a table is anonymized in place.

    Attributes:
        backup: where the file is copied to first.
        dry_run: whether everything is made and checked, and nothing changed.
        replace: whether the backup may replace a file.
    """

    backup: Path | None = None
    dry_run: bool = False
    replace: bool = False


def check_in_place(source: Source, how: HowInPlace) -> None:
    """Refuse what cannot be anonymized in place, before any work is done for it.

    Raises:
        UsageError: the source is no table of a file, something rests on its rows, or the backup has the name of a file.
        SourceError: the file or its directory is read-only, or the disk has no room.
    """
    source.refuse_in_warehouse(
        "whose files and logs keep raw values after a table was changed: --in-place is for DuckDB files. Make a table "
        "(--into NAME), and drop the old one yourself."
    )
    file = _file_of(source)
    real = require_replaceable(file)
    check_backup(file, how)
    if source.database is None:
        check_format(file)
        needed = real.stat().st_size
    else:
        require_copyable(source.engine, facts_of(source).others)
        needed = bytes_used(source.engine)
    require_space(real.parent, needed, f"The new {file.name}")
    if how.backup is not None:
        require_space(how.backup.parent, real.stat().st_size, "The backup")


def publish_in_place(
    source: Source, publication: Publication, expected: Expected, how: HowInPlace, ledger: Watch | None = None
) -> Published:
    """Put a release in the place of its table, which ``check_in_place`` has looked at; see above.

    Raises:
        UsageError: something rests on the rows of the table, or a view would fail.
        SourceError: a file cannot be written; the old one is as it was.
        VerificationError: the output is not what it should be; the file is as it was.
    """
    if source.database is None:
        return _replace_data_file(source, publication, expected, how)
    sink = _DatabaseInPlaceSink(source, publication, source.database, how)
    published = publish(sink, expected, ledger, dry_run=how.dry_run)
    return Published(published.destination, published.verification, published.seconds, in_place=sink.outcome)


class _DatabaseInPlaceSink(Sink):
    """A new database with everything of the old one but the raw table, which takes the name of its file."""

    def __init__(self, source: Source, publication: Publication, file: Path, how: HowInPlace) -> None:
        # 1. What stands around the table.
        self.facts = facts_of(source)
        super().__init__(source, publication, None, f"{file}: {self.facts.name}")
        self.source, self.file, self.how, self.real = source, file, how, require_replaceable(file)
        self.siblings = siblings_of(source, publication, self.facts)
        self.copies = copies_of(source, publication, self.facts, self.siblings)
        self.seconds: dict[str, float] = {}

    @property
    def output(self) -> exp.Table:
        return self.rewrite.target

    @contextmanager
    def opened(self) -> Iterator[None]:
        # 2. The log.
        if not self.how.dry_run:
            self.engine.run(exp.Command(this="CHECKPOINT"), "merge the log into the file")
        with workspace(self.real) as directory:
            self.new_file = directory / self.real.name  # views may name the database by the name of its file
            self.attached = self.engine.attach_new(self.new_file, like_this=True)
            yield

    def make(self) -> None:
        # 3. The new database.
        self.rewrite = _rewrite(self.source, self.publication, self.facts, self.attached)
        _run(self.engine, self.rewrite, current_database(self.engine))

    def complete(self, seconds: dict[str, float]) -> None:
        # 4. What is in it.
        with timed(seconds, "write"):
            self.engine.detach(self.attached)
        _require_same_definitions(self.facts, self.rewrite, self.new_file)
        views, name = self.facts.views, self.facts.name
        try_views(self.engine, lambda: open_database(self.new_file, writable=False), views, name)
        changes = self.rewrite.changes
        self.outcome = InPlace(
            done=not self.how.dry_run,
            file=self.file,
            bytes_before=self.real.stat().st_size,
            bytes_after=self.new_file.stat().st_size,
            kept=changes.kept,
            removed=changes.removed,
            hierarchies=self.rewrite.hierarchies,
            views=changes.views,
            siblings=self.siblings,
            copies=self.copies,
            backup=self.how.backup,
        )
        self.seconds = seconds

    def undo(self) -> None:
        self.engine.abandon(self.attached)

    def take_name(self, rows: int, ledger: Watch | None) -> None:  # noqa: ARG002 - the ledger is in the file
        # 5., 6. The backup, and the new file.
        with timed(self.seconds, "write"):
            change_places(self.new_file, self.real, self.how.backup)
            self.source.gone = True
            remove_spill_of(self.real)
            self.engine.leave_file()


def change_places(new_file: Path, real: Path, backup: Path | None) -> None:
    """Give the new file of a database the name of the old one, which is copied first where a backup is wanted.

    Raises:
        SourceError: it cannot be done; the old one is as it was.
    """
    if backup is not None:
        copy_whole(real, backup)
    require_no_log(real, new_file)
    take_place(new_file, real)


def in_place_statements(source: Source, publication: Publication) -> tuple[tuple[exp.Expr, ...], exp.Table]:
    """Return the statements that make the new database, which is then given the name of the old one, and its table."""
    if source.database is None:
        raise UsageError(f"{source.name} is not in a database: --sql shows how the file is made with --out FILE.")
    name = unused_name("kanon_new", [catalog_of(source.database).name])
    rewrite = _rewrite(source, publication, facts_of(source), name)
    new_file = source.database.with_name(f"{source.database.stem}.new{source.database.suffix}")
    attach = exp.Attach(this=exp.Alias(this=sql.literal(str(new_file)), alias=sql.identifier(name)))
    begin, commit = exp.Transaction(), exp.Commit()
    there, back = in_database(name), in_database(catalog_of(source.database).name)
    made = (attach, begin, *rewrite.schema, commit, *rewrite.rows, rewrite.release, *rewrite.after)
    if rewrite.views or rewrite.triggers:
        made = (*made, there, *rewrite.views, *rewrite.triggers, back)
    return made, rewrite.target


def _rewrite(source: Source, publication: Publication, facts: TableFacts, new: str) -> Rewrite:
    engine = source.engine
    query = release_query(publication, readable_lookups(publication.hierarchies))
    stored = stored_hierarchies(engine).values()
    return rewrite_of(facts, publication, query, stored, current_database(engine), new)


def current_database(engine: Engine) -> str:
    """Return the name of the database we are in."""
    (name,) = engine.row(exp.select(exp.Anonymous(this="current_database")), "the database we are in")
    return str(name)


def require_copyable(engine: Engine, tables: Iterable[OtherTable]) -> None:
    """Raise if a table that is to be copied has rows that refer to rows of its own.

    Raises:
        UsageError: it has, and DuckDB checks each against what was there before.
    """
    for table in tables:
        if folded(table.name) in map(folded, table.referenced):
            rows = exp.select(sql.literal(1)).from_(sql.relation(table.name, table.schema)).limit(1)
            if engine.rows(rows, "has the table rows?"):
                raise UsageError(
                    f"Table {table.name!r} has a foreign key to itself, and DuckDB cannot copy its rows at once: drop "
                    "that key first."
                )


def _run(engine: Engine, rewrite: Rewrite, old: str) -> None:
    copy_definitions(engine, rewrite.schema)
    for statement in rewrite.rows:
        engine.run(statement, "rows of another table")
    engine.run(rewrite.release, "make the release")
    for statement in rewrite.after:
        engine.run(statement, "indexes and comments")
    try:
        engine.run(in_database(rewrite.target.catalog), "views and triggers name what is beside them")
        for statement in rewrite.views:
            with suppress(SourceError):  # one that failed before stays as it was; the others are tried below
                engine.run(statement, "a view over the table")
        make_triggers(engine, rewrite.triggers)
    finally:
        engine.run(in_database(old), "back to the table")


def copy_definitions(engine: Engine, statements: Sequence[exp.Expr]) -> None:
    """Copy all definitions in one transaction, so that what is dropped in it is never written.

    Raises:
        SourceError: DuckDB cannot copy one.
    """
    try:
        with engine.transaction():
            for statement in statements:
                engine.run(statement, "definitions of the new database")
    except SourceError as error:
        raise SourceError(
            f"{error} DuckDB cannot copy every definition: a type that is another name of a list of values (ENUM), for "
            "one. Nothing was changed."
        ) from None


def make_triggers(engine: Engine, statements: Sequence[exp.Expr]) -> None:
    """Make triggers again.

    Raises:
        UsageError: one names a column that is gone.
    """
    try:
        for statement in statements:
            engine.run(statement, "triggers")
    except SourceError:
        raise UsageError(
            "A trigger of another table cannot be made anew: it uses a column that is gone, or takes labels for "
            "numbers. Change or drop it first. Nothing was changed."
        ) from None


def _require_same_definitions(facts: TableFacts, rewrite: Rewrite, new_file: Path) -> None:
    """Raise unless what stays of the table's definition is in the new database as it was.

    Raises:
        UsageError: a default or a constraint reads otherwise there.
    """
    with open_database(new_file, writable=False) as new:
        made = facts_of_table(new, facts.schema, facts.name)
        require_no_lists(new, facts.listed)
    same = rewrite.changes.unchanged
    defaults = {column.name: column.default for column in facts.columns if not column.generated}
    collations = {column.name: column.collation for column in facts.columns}
    kept = [one for one in made.columns if one.name in same]
    other = [f"default of {one.name}" for one in kept if one.default != defaults.get(one.name)]
    other += [f"collation of {one.name}" for one in kept if one.collation != collations[one.name]]
    staying = {constraint for constraint in facts.constraints if constraint.name in rewrite.changes.kept}
    other += [constraint.name for constraint in staying - set(made.constraints)]
    other += [f"index {index.name}" for index in made.indexes if index not in facts.indexes]
    if other:
        raise UsageError(
            f"What {facts.name!r} asks of its columns cannot be carried over unchanged ({', '.join(other)}): drop it "
            "first. Nothing was changed."
        )


def require_no_lists(new: Engine, listed: frozenset[str]) -> None:
    """Raise if a list of values that was to go is still in the new database.

    Raises:
        UsageError: a view that cannot be made again has it in its columns.
    """
    found = new.rows(sql.statement("in_place/enum_columns"), "lists of values in the new database")
    if left := sorted({name for _, name, kind, _ in found if any(each in kind for each in listed)}):
        raise UsageError(
            f"{', '.join(left)} cannot be read, and holds a list of values that are to go: drop it first. Nothing was "
            "changed."
        )


class _DataFileSink(FileSink):
    """The CSV, Parquet or JSON file that a release was made from."""

    def __init__(self, source: Source, publication: Publication, real: Path, how: HowInPlace) -> None:
        super().__init__(source, publication, real, check_format(_file_of(source)))
        self.how, self.bytes_before, self.bytes_after = how, real.stat().st_size, 0

    def complete(self, seconds: dict[str, float]) -> None:  # noqa: ARG002 - nothing takes long
        """Note how large the new file is."""
        self.bytes_after = self.partial.stat().st_size

    def take_name(self, rows: int, ledger: Watch | None) -> None:  # noqa: ARG002 - a file has no ledger
        """Copy the old file where a backup is wanted, and put the new one in its place."""
        if self.how.backup is not None:
            copy_whole(self.path, self.how.backup)
        take_place(self.partial, self.path)


def _replace_data_file(source: Source, publication: Publication, expected: Expected, how: HowInPlace) -> Published:
    """Put a release in the place of the file that it was made from."""
    file = _file_of(source)
    sink = _DataFileSink(source, publication, require_replaceable(file), how)
    published = publish(sink, expected, dry_run=how.dry_run)
    outcome = InPlace(not how.dry_run, file, sink.bytes_before, sink.bytes_after, backup=how.backup)
    return Published(str(file), published.verification, published.seconds, in_place=outcome)


def _file_of(source: Source) -> Path:
    """Return the file that a source is in.

    Raises:
        UsageError: it is in none that could be replaced.
    """
    if source.address is not None:
        raise UsageError(f"{source.address.shown} is only read, never written: give --out FILE instead of --in-place.")
    file = source.database or source.file
    if file is None:
        raise UsageError(
            f"{source.name} cannot be anonymized in place: a new file takes the place of the old one. Open the "
            "database by its path, or make a table of the release."
        )
    if not file.is_file():
        raise UsageError(f"{file} is not one file: name the file that is to be anonymized in place.")
    return file


def check_backup(file: Path, how: HowInPlace) -> None:
    """Refuse a backup that cannot be made.

    Raises:
        UsageError: it has the name of a file that is there.
        SourceError: its directory is not there.
    """
    backup = how.backup
    if backup is None:
        return
    if not backup.parent.is_dir():
        raise SourceError(f"The directory {backup.parent}, where the backup should be, does not exist.")
    if backup.is_dir():
        raise SourceError(f"{backup} is a directory: say after --backup which file in it.")
    if backup.resolve() in {file.resolve(), Path(f"{file.resolve()}.wal")}:
        raise UsageError("The backup cannot be the file itself: give another name after --backup.")
    if backup.exists() and not how.replace:
        raise UsageError(f"{backup} exists already: give another name after --backup, or replace it (--replace).")


def bytes_used(engine: Engine) -> int:
    """Return how many bytes of the file of a database are in use."""
    ((used,),) = engine.rows(sql.statement("catalog/size_of_database"), "size of the database")
    return int(used)
