"""Released tables in a schema, in a new DuckDB file, as files of a directory, or in place: all of them or none.

The steps are those of every release (``kanon_sql.release.publish.publisher``). The ledger refuses a second release of
the same tables, because no check covers what both reveal together.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from kanon_sql.engine.files import private_directory, require_parent
from kanon_sql.engine.keys import require_apart
from kanon_sql.engine.warehouse.workbench import Workbench
from kanon_sql.errors import JointReleaseError, UsageError, VerificationError, command_line
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import Roles
from kanon_sql.release.ledger import fingerprint
from kanon_sql.release.ledger.ledger import Ledger
from kanon_sql.release.ledger.store import OF_SEVERAL_TABLES, Entry, KeptHierarchy, remembered_policy
from kanon_sql.release.publish.files import (
    DATABASE,
    DatabaseSink,
    check_format,
    file_as_rows,
    finish_file,
    plain_copy,
    require_elsewhere,
    require_not_behind,
    require_types,
)
from kanon_sql.release.publish.publisher import PublishedRelease, Releasing, Sink, publish, require_unused
from kanon_sql.release.tables.verify import ReleasedTables, TablesVerification
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from kanon_sql.release.ledger.ledger import Target
    from kanon_sql.release.tables.opened import Member
    from kanon_sql.release.tables.statements import FoundTables

Format = Literal["csv", "parquet"]
MEMORY = "memory"
"""The name of the in-memory database beside a file."""


@dataclass(frozen=True, kw_only=True)
class PublishedTables(PublishedRelease):
    """Released tables that were made and verified: their destination and their verification."""

    verification: TablesVerification


class SeveralTables(Releasing[PublishedTables]):
    """Tables that are released together; raises if their rows are gone."""

    published = PublishedTables

    def __init__(self, found: FoundTables) -> None:
        if found.gone:
            raise UsageError(
                f"{found.opened.place} was anonymized in place: the rows that they had are gone. Open it again."
            )
        self.found, self.opened, self.engine = found, found.opened, found.opened.engine
        self.members = {member.name: member for member in found.opened.members}
        self.names = [*self.members]

    def require_own_names(self) -> None:
        """Raise if two tables of different schemas have the same name."""
        names: dict[str, str] = {}
        for name, member in self.members.items():
            if (other := names.setdefault(folded(member.relation.name), name)) != name:
                raise UsageError(f"{other} and {name} would have one name in the release: rename one of them.")

    def query(self, name: str) -> exp.Select:
        return self.found.rows.released(self.members[name], self.found.policy.seed or 0)

    def table_in(self, name: str, database: str) -> exp.Table:
        return sql.relation(self.members[name].relation.name, "main", database)

    def verified(self, outputs: Mapping[str, exp.Expr]) -> TablesVerification:
        released = ReleasedTables(self.engine, self.opened, outputs, self.found.rows.levels)
        verification = released.verified(self.found.counts)
        verification.require()
        return verification


def to_schema(
    found: FoundTables, name: str, *, replace: bool, ignore_ledger: bool, dry_run: bool = False
) -> PublishedTables:
    """Write the tables to a schema of their database; see ``TablesRelease.to_schema``."""
    tables = SeveralTables(found)
    of_place = _SchemaInWarehouse if isinstance(found.opened.engine, Workbench) else SchemaSink
    sink: SchemaSink = of_place(tables, name, replace=replace)  # refuses names that are taken, in a dry run too
    if dry_run:
        sink = _PreviewSink(tables, name)
    return publish_tables(found, sink, ignore=ignore_ledger, dry_run=dry_run)


def preview(found: FoundTables, name: str) -> TablesVerification:
    """Make and verify the tables of a schema in memory, drop them, and keep the statements in the log."""
    published = publish(_PreviewSink(SeveralTables(found), name), dry_run=True)
    found.seconds.update(published.seconds)
    return published.verification


def to_database(
    found: FoundTables, path: Path, *, replace: bool, ignore_ledger: bool, dry_run: bool = False
) -> PublishedTables:
    """Write the tables to a new DuckDB file; see ``TablesRelease.to_database``."""
    tables = SeveralTables(found)
    tables.require_own_names()
    if check_format(path) != DATABASE:
        raise UsageError(f"{path} would hold one table: name a DuckDB file, such as FILE.duckdb.")
    require_apart(found.policy.key_file, [path], "the release")
    require_elsewhere(path, Path(found.opened.place), replace=replace)
    for member in found.opened.members:
        require_not_behind(member.source, path)
    return publish_tables(found, DatabaseSink(tables, path), ignore=ignore_ledger, dry_run=dry_run)


def to_directory(
    found: FoundTables, path: Path, *, format_name: Format, ignore_ledger: bool, dry_run: bool = False
) -> PublishedTables:
    """Write the tables as files of a new directory; see ``TablesRelease.to_directory``."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} exists already and is not an empty directory: give another name.")
    require_parent(path)
    sink = _DirectorySink(SeveralTables(found), path, format_name)
    return publish_tables(found, sink, ignore=ignore_ledger, dry_run=dry_run)


def publish_tables(
    found: FoundTables, sink: Sink[PublishedTables], *, ignore: bool, dry_run: bool = False
) -> PublishedTables:
    with LedgerOfTables(found, ignore=ignore) as ledger:
        if sink.kind == "in place" or (sink.kind == "schema" and not dry_run):
            ledger.make_writable()
        elif not dry_run:
            ledger.open()
        published = publish(sink, ledger, dry_run=dry_run, progress=found.progress)
    found.seconds.update(published.seconds)
    return published


def _is_name_of_file(name: str) -> bool:
    """Return True if a name is a file name in its directory on any system, and not hidden."""
    return name.isprintable() and not name.startswith((".", " ")) and not set(name) & set('/\\:*?"<>|')


class SchemaSink(Sink[PublishedTables]):
    """The tables of a schema of their database."""

    kind = "schema"
    released: SeveralTables

    def __init__(
        self, released: SeveralTables, name: str, *, replace: bool = False, catalog: str | None = None
    ) -> None:
        super().__init__(released, None, name)
        released.require_own_names()
        self.replace, self.schema = replace, exp.Table(db=sql.identifier(name))
        members = released.members.items()
        self.targets = {own: sql.relation(member.relation.name, name, catalog) for own, member in members}
        if catalog is not None:
            self.schema.set("catalog", sql.identifier(catalog))
            return
        if not name.strip() or folded(name) in {SCHEMA, "information_schema", "pg_catalog"}:
            raise UsageError(f"{name!r} cannot be the schema of a release: give another name.")
        sources = {tuple(map(folded, released.opened.place_of(member.relation))) for _, member in members}
        for target in self.targets.values():
            if (folded(target.db), folded(target.name)) in sources:
                raise UsageError(
                    f"Schema {name!r} has the tables that are to be anonymized: give the release another schema."
                )
            require_unused(self.engine, target, f"{name}.{target.name}", replace=replace)

    @property
    def outputs(self) -> Mapping[str, exp.Expr]:
        return self.targets

    def opened(self) -> AbstractContextManager[None]:
        return self.engine.keeping()

    def make(self) -> None:
        for place in self.engine.keepers:
            place.run(exp.Create(this=self.schema, kind="SCHEMA", exists=True), f"schema {self.name}")
        self.make_tables()

    def make_tables(self) -> None:
        for target in self.targets.values() if self.replace else ():
            if (kind := self.engine.kind_of(target)) is not None:
                self.engine.run(sql.drop(target, kind), "drop the replaced object")
        super().make()

    def take_name(self, rows: Mapping[str, int], ledger: Ledger | None) -> None:
        if ledger is not None:
            ledger.remember("table", self.targets, rows)


class _SchemaInWarehouse(SchemaSink):
    """The tables of a schema of a warehouse, made on the workbench and sent there."""

    def make_tables(self) -> None:
        bench, rows = self.released.members[self.released.names[0]].source.workbench, self.released.found.rows
        for name, target in self.targets.items():
            member = self.released.members[name]
            if self.replace and (kind := bench.warehouse.kind_of(target)) is not None:
                bench.warehouse.drop(target, kind)
                bench.forget_mirror(target)
            query: exp.Query = self.released.query(name)
            if member.roles is not None:
                typed = {own: sql.column(own, "source") for own in rows.as_they_are(member)}
                query = bench.carried(query, member.relation, typed, f"the rows of the released {name}")
            bench.warehouse.run(sql.create_table(target, query), f"make the released {name}")
            written = bench.mirror(target)
            if member.roles is not None:  # in one scan; of a kept table, only the number of rows
                bench.bring_rows(target, written.columns)


class _PreviewSink(SchemaSink):
    """The tables of a schema in memory, which is dropped."""

    def __init__(self, released: SeveralTables, name: str) -> None:
        super().__init__(released, name, catalog=MEMORY)

    @contextmanager
    def opened(self) -> Iterator[None]:
        self.engine.run(exp.Create(this=self.schema, kind="SCHEMA", exists=True), f"schema {self.name}")
        try:
            yield
        finally:
            self.engine.run_unlogged(exp.Drop(tables=[self.schema.copy()], kind="SCHEMA", exists=True, cascade=True))

    def make(self) -> None:
        self.make_tables()


class _DirectorySink(Sink[PublishedTables]):
    """Plain files of a new directory, verified by reading them back."""

    kind = "directory"
    released: SeveralTables

    def __init__(self, released: SeveralTables, path: Path, format_name: Format) -> None:
        super().__init__(released, path, str(path))
        self.path, self.format_name = path, format_name
        released.require_own_names()
        if wrong := [one.name for one in released.members.values() if not _is_name_of_file(one.relation.name)]:
            raise UsageError(f"{wrong[0]!r} cannot be the name of a file: use --out or --into-schema.")
        rows = released.found.rows
        for name, member in released.members.items():
            require_types({f"{name}.{one.name}": one.type for one in rows.published_columns(member)}, format_name)

    @contextmanager
    def opened(self) -> Iterator[None]:
        with private_directory(self.path.parent) as private:
            self.made = private.path / self.path.name
            self.made.mkdir()
            yield

    def _files(self, directory: Path) -> dict[str, Path]:
        members = self.released.members.items()
        return {own: directory / f"{member.relation.name}.{self.format_name}" for own, member in members}

    @property
    def outputs(self) -> Mapping[str, exp.Expr]:
        return {
            name: file_as_rows(file, self.format_name, self.types[name])
            for name, file in self._files(self.made).items()
        }

    def make(self) -> None:
        self.types = dict[str, dict[str, str]]()  # as DuckDB has them: it lacks some types of PostgreSQL
        for name, file in self._files(self.made).items():
            query = self.released.query(name)
            described = self.engine.columns(query.copy().subquery("rows"))
            self.types[name] = {column.name: column.type for column in described}
            self.engine.run(plain_copy(query, file, self.format_name), f"write {name}")

    def take_name(self, rows: Mapping[str, int], ledger: Ledger | None) -> None:
        finish_file(self.made, self.path, rows, ledger, self._take, (self._files(self.path), self._files(self.made)))

    @staticmethod
    def _take(made: Path, path: Path) -> None:
        if path.is_dir():
            path.rmdir()
        made.replace(path)


class LedgerOfTables(Ledger):
    """The ledger of tables that are released together: it refuses any earlier release, and has an entry for each."""

    def __init__(self, found: FoundTables, *, ignore: bool) -> None:
        super().__init__(found.opened.engine, ignore=ignore)
        self.found, self.opened = found, found.opened

    def make_writable(self) -> None:
        if not self._engine.is_writable and self._engine.make_writable():
            raise VerificationError(
                f"Another process changed {self.opened.place} after it was read; nothing was written. Run it again."
            )

    def _require_together(self, *_: object) -> None:
        def is_of(entry: Entry, member: Member) -> bool:
            # A table that is kept unchanged reveals what an earlier release of it protected.
            promised = member.roles is not None or bool(entry.models)
            return promised and entry.is_of(self.opened.place_of(member.relation))

        if earlier := [entry for entry in self._seen if any(is_of(entry, each) for each in self.opened.members)]:
            last = earlier[-1]
            forget = command_line("ledger", [self.opened.place], "--forget", str(last.number))
            raise JointReleaseError(
                f"{last.source_name} has an earlier release, {last.name} ({last.made_at:%Y-%m-%d}), and whether tables "
                "that are released together go with earlier releases cannot be checked. Nothing was published. Publish "
                "them all the same (--ignore-ledger), or forget the earlier one if it was given to nobody:\n  "
                f"{forget}"
            )

    def _entries(
        self, common: dict[str, Any], target: Target, rows: Mapping[str, int], made: Target
    ) -> Iterator[Entry]:
        prints: dict[Path, str] = {}
        for number, (member, counts) in enumerate(zip(self.opened.members, self.found.counts, strict=True)):
            own, written = (each[member.name] if isinstance(each, Mapping) else each for each in (target, made))
            roles = member.roles or Roles((), (), member.source.columns, (), ())
            policy = Policy(columns=member.policy.columns, models=(KAnonymity(self.opened.policy.k),))
            remembered = remembered_policy(policy, roles, member.source.time_zone)
            together = [one.name for one in self.opened.members]
            remembered[OF_SEVERAL_TABLES] = {"km": self.opened.policy.km, "tables": together}
            if member.roles is None:
                remembered["models"] = []  # a table that is kept unchanged has no promise
            names = [one.name for one in member.quasi_identifiers]
            sensitive = [] if member.roles is None else [one.name for one in member.roles.sensitive]
            if isinstance(written, Path):
                print_now = prints[written] = prints.get(written) or fingerprint.of_file(written)
            else:
                title = "fingerprint of the release"
                print_now = fingerprint.of_rows(self._engine, written, names, title, sensitive)
            yield Entry(
                **common | {"number": common["number"] + number},
                source=self.opened.place_of(member.relation),
                target=self._place(own),
                rows_in=counts.rows_in,
                rows_out=rows[member.name],
                policy=remembered,
                levels=None,
                hierarchies=tuple(
                    KeptHierarchy(column.name, None, fingerprint.of_hierarchy(self._engine, hierarchy))
                    for column, hierarchy in zip(member.quasi_identifiers, member.hierarchies, strict=True)
                ),
                fingerprint=print_now,
                source_fingerprint=fingerprint.of_source(self._engine, member.relation, [*names, *sensitive]),
            )
