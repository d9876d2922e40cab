"""Released tables in a schema, in a new DuckDB file, as files of a directory, or in place: all of them or none.

1. Make the tables where they will not be seen yet.
2. Verify them there.
3. Ask the ledger: a second release of the same tables is refused, since what both say together was not checked.
4. Give them their names, and remember them.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from sqlglot import exp

from kanon_sql.engine.files import private_directory, require_no_log, take_name, workspace
from kanon_sql.engine.progress import lift_deadlines, timed
from kanon_sql.engine.warehouse.workbench import Workbench
from kanon_sql.errors import InUseError, JointReleaseError, SourceError, UsageError, VerificationError, command_line
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import Roles
from kanon_sql.release.ledger import fingerprint
from kanon_sql.release.ledger.store import (
    OF_SEVERAL_TABLES,
    Entry,
    KeptHierarchy,
    alone,
    entries_of,
    remember,
    remembered_policy,
)
from kanon_sql.release.publish.files import file_as_rows, plain_copy
from kanon_sql.release.tables.verify import ReleasedTables, TablesVerification
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kanon_sql.release.ledger.store import ReleaseKind
    from kanon_sql.release.publish.publisher import InPlace
    from kanon_sql.release.tables.opened import Member
    from kanon_sql.release.tables.statements import FoundTables

Format = Literal["csv", "parquet"]
MEMORY = "memory"
"""The database that a connection to a file has beside it."""


@dataclass(frozen=True)
class PublishedTables:
    """Released tables that were made and verified.

    Attributes:
        destination: the schema, the file or the directory.
        seconds: by step.
        not_remembered: why the ledger could not be written; None if it was.
    """

    destination: str
    kind: Literal["schema", "database", "directory", "in place"]
    verification: TablesVerification
    seconds: dict[str, float]
    not_remembered: str | None = None
    in_place: InPlace | None = None


def to_schema(release: FoundTables, name: str, *, replace: bool, ignore_ledger: bool) -> PublishedTables:
    """Make the tables of a schema of the database that they are made from; see ``TablesRelease.to_schema``."""
    engine, members = release.opened.engine, release.opened.members
    if not name.strip() or folded(name) in {SCHEMA, "information_schema", "pg_catalog"}:
        raise UsageError(f"{name!r} cannot be the schema of a release: give another name.")
    targets = {member.name: sql.relation(member.relation.name, name) for member in members}
    _require_own_names(members)
    sources = {tuple(map(folded, release.opened.place_of(one.relation))) for one in members}
    for target in targets.values():
        if (folded(target.db), folded(target.name)) in sources:
            raise UsageError(
                f"Schema {name!r} has the tables that are to be anonymized: give the release another schema."
            )
        if engine.kind_of(target) is not None and not replace:
            raise UsageError(
                f"There is a {name}.{target.name} already: give another schema, or replace it (--replace)."
            )
    publishing = publishing_of(release, ignore=ignore_ledger).open(required=True)
    with alone(engine), engine.keeping():
        publishing.check()
        schema = exp.Create(this=exp.Table(db=sql.identifier(name)), kind="SCHEMA", exists=True)
        for place in engine.keepers:
            place.run(schema, f"schema {name}")
        with timed(release.seconds, "publish"):
            for member in members:
                if replace:
                    publishing.drop(targets[member.name])
                publishing.make(member, targets[member.name])
        verification = publishing.verified(targets)
        lift_deadlines()
        places = {own: (name, target.name) for own, target in targets.items()}
        publishing.remember("table", places, publishing.fingerprints(targets))
    return PublishedTables(name, "schema", verification, release.seconds, publishing.unwritable)


def preview(release: FoundTables, name: str) -> TablesVerification:
    """Make and verify the tables of a schema in memory, drop them again, and leave the statements in the log."""
    engine, members = release.opened.engine, release.opened.members
    _require_own_names(members)
    publishing = publishing_of(release, ignore=True)
    schema = exp.Table(db=sql.identifier(name), catalog=sql.identifier(MEMORY))
    targets = {one.name: sql.relation(one.relation.name, name, MEMORY) for one in members}
    engine.run(exp.Create(this=schema, kind="SCHEMA", exists=True), f"schema {name}")
    try:
        for member in members:
            publishing.make(member, targets[member.name])
        return publishing.verified(targets)
    finally:
        engine.run_unlogged(exp.Drop(tables=[schema.copy()], kind="SCHEMA", exists=True, cascade=True))


def to_database(release: FoundTables, path: Path, *, replace: bool, ignore_ledger: bool) -> PublishedTables:
    """Make the tables of a new DuckDB file; see ``TablesRelease.to_database``."""
    engine, members = release.opened.engine, release.opened.members
    _require_free(release, path, replace=replace)
    require_no_log(path)
    _require_own_names(members)
    publishing = publishing_of(release, ignore=ignore_ledger).open(required=False)
    with workspace(path) as directory:
        attached = engine.attach_new(directory / "new.duckdb")
        try:
            targets = {one.name: sql.relation(one.relation.name, "main", attached) for one in members}
            with timed(release.seconds, "publish"):
                for member in members:
                    publishing.make(member, targets[member.name])
            verification = publishing.verified(targets)
            engine.detach(attached)
        finally:
            engine.abandon(attached)
        new = directory / "new.duckdb"
        files = dict.fromkeys(targets, (path, fingerprint.of_file(new)))
        publishing.take_path(path, files, lambda: take_name(new, path))
    return PublishedTables(str(path), "database", verification, release.seconds, publishing.unwritable)


def to_directory(release: FoundTables, path: Path, *, format_name: Format, ignore_ledger: bool) -> PublishedTables:
    """Write the tables as files of a new directory; see ``TablesRelease.to_directory``."""
    engine, members = release.opened.engine, release.opened.members
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} exists already and is not an empty directory: give another name.")
    _require_free(release, path, replace=True)
    _require_own_names(members)
    if wrong := [one.name for one in members if not _is_name_of_file(one.relation.name)]:
        raise UsageError(
            f"{wrong[0]!r} cannot be the name of a file: release the tables to a database (--out) or to a schema "
            "(--into-schema)."
        )
    publishing = publishing_of(release, ignore=ignore_ledger).open(required=False)
    with private_directory(path.parent) as private:
        made = private.path / path.name
        made.mkdir()
        files = {one.name: made / f"{one.relation.name}.{format_name}" for one in members}
        outputs: dict[str, exp.Expr] = {}
        with timed(release.seconds, "publish"):
            for member in members:
                query = release.rows.released(member, publishing.seed)
                engine.run(plain_copy(query, files[member.name], format_name), f"write {member.name}")
                types = {column.name: column.type for column in release.rows.published_columns(member)}
                outputs[member.name] = file_as_rows(files[member.name], format_name, types)
        verification = publishing.verified(outputs)

        def take_directory() -> None:
            if path.is_dir():
                path.rmdir()
            made.replace(path)

        placed = {name: (path / file.name, fingerprint.of_file(file)) for name, file in files.items()}
        publishing.take_path(path, placed, take_directory)
    return PublishedTables(str(path), "directory", verification, release.seconds, publishing.unwritable)


def _require_free(release: FoundTables, path: Path, *, replace: bool) -> None:
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent} does not exist.")
    database = Path(release.opened.place)
    if path.exists() and database.exists() and path.samefile(database):
        raise UsageError(f"{path} is what is to be anonymized: write the release to another file.")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already: give another name, or replace it (--replace).")


def _is_name_of_file(name: str) -> bool:
    """Whether a name is that of a file in its directory, on any system, and no hidden one."""
    return name.isprintable() and not name.startswith((".", " ")) and not set(name) & set('/\\:*?"<>|')


def _require_own_names(members: tuple[Member, ...]) -> None:
    """Raise where two tables of different schemas have one name."""
    names: dict[str, str] = {}
    for member in members:
        other = names.setdefault(folded(member.relation.name), member.name)
        if other != member.name:
            raise UsageError(f"{other} and {member.name} would have one name in the release: rename one of them.")


@dataclass
class TablesPublishing:
    """The steps of all destinations.

    Attributes:
        ignore: whether to publish whatever earlier releases there are.
        unwritable: why the release cannot be remembered; None if it can.
    """

    release: FoundTables
    ignore: bool
    unwritable: str | None = None

    @property
    def seed(self) -> int:
        return self.release.policy.seed or 0

    def open(self, *, required: bool) -> Self:
        """Open the database for writing; if that is not ``required``, note why it cannot be."""
        release = self.release
        try:
            changed = release.opened.engine.make_writable()
        except SourceError as error:
            if required or (isinstance(error, InUseError) and not self.ignore):
                raise
            self.unwritable = str(error)
            return self
        if changed:
            raise VerificationError(
                f"Another process changed {release.opened.place} after it was read; nothing was written. Run it again."
            )
        return self

    def check(self) -> None:
        """Raise if any of the tables has an earlier release."""
        if self.ignore:
            return
        opened = self.release.opened
        sources = [opened.place_of(member.relation) for member in opened.members if member.roles is not None]
        earlier = [entry for entry in entries_of(opened.engine) if any(map(entry.is_of, sources))]
        if earlier:
            last = earlier[-1]
            forget = command_line("ledger", [opened.place], "--forget", str(last.number))
            raise JointReleaseError(
                f"{last.source_name} has an earlier release, {last.name} ({last.made_at:%Y-%m-%d}), and whether tables "
                "that are released together go with earlier releases cannot be checked. Nothing was published. Publish "
                "them all the same (--ignore-ledger), or forget the earlier one if it was given to nobody:\n  "
                f"{forget}"
            )

    def make(self, member: Member, target: exp.Table) -> None:
        """Make a released table in the database of the originals, or in one that is attached."""
        query = self.release.rows.released(member, self.seed)
        self.release.opened.engine.run(sql.create_table(target, query), f"make the released {member.name}")

    def drop(self, target: exp.Table) -> None:
        self.release.opened.engine.run(sql.drop(target), "drop the table of that name")

    def verified(self, outputs: Mapping[str, exp.Expr]) -> TablesVerification:
        release = self.release
        with timed(release.seconds, "verify"):
            found = ReleasedTables(release.opened.engine, release.opened, outputs, release.rows.levels)
            verification = found.verified(release.counts)
        verification.require()
        return verification

    def take_path(self, path: Path, files: Mapping[str, tuple[Path, str]], take: Callable[[], object]) -> None:
        """Remember the files of a release with their fingerprints, and give it its path: both or none."""
        lift_deadlines()
        engine = self.release.opened.engine
        with alone(engine), nullcontext() if self.unwritable is not None else engine.keeping():
            self.check()
            places = {name: (None, str(file.resolve())) for name, (file, _) in files.items()}
            self.remember("file", places, {name: own for name, (_, own) in files.items()})
            try:
                take()
            except OSError as error:
                raise SourceError(f"{path} cannot be written: {error.strerror}.") from None

    def fingerprints(self, targets: Mapping[str, exp.Table]) -> dict[str, str]:
        engine, title = self.release.opened.engine, "fingerprint of the release"
        return {
            member.name: fingerprint.of_rows(engine, targets[member.name], *_fingerprinted(member, title))
            for member in self.release.opened.members
        }

    def remember(
        self, kind: ReleaseKind, places: Mapping[str, tuple[str | None, str]], prints: Mapping[str, str]
    ) -> None:
        """Write an entry for each table into the ledger, by its place and its fingerprint."""
        if self.unwritable is not None:
            return
        opened = self.release.opened
        engine = opened.engine
        first = max((each.number for each in entries_of(engine)), default=0) + 1
        now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)  # as it is written
        for number, (member, counts) in enumerate(zip(opened.members, self.release.counts, strict=True), first):
            roles = member.roles or Roles((), (), member.source.columns, (), ())
            policy = Policy(columns=member.policy.columns, models=(KAnonymity(opened.policy.k),))
            remembered = remembered_policy(policy, roles, member.source.time_zone)
            remembered[OF_SEVERAL_TABLES] = {"km": opened.policy.km, "tables": [one.name for one in opened.members]}
            if member.roles is None:
                remembered["models"] = []  # nothing is promised of a table that is kept as it is
            quasi_identifiers, _, sensitive = _fingerprinted(member, "")
            hierarchies = tuple(
                KeptHierarchy(column.name, None, fingerprint.of_hierarchy(engine, hierarchy))
                for column, hierarchy in zip(member.quasi_identifiers, member.hierarchies, strict=True)
            )
            entry = Entry(
                number,
                now,
                opened.place_of(member.relation),
                kind,
                places[member.name],
                counts.rows_in,
                counts.rows_out,
                remembered,
                None,
                hierarchies,
                prints[member.name],
                fingerprint.of_source(engine, member.relation, [*quasi_identifiers, *sensitive]),
            )
            remember(engine, entry)


@dataclass
class _PublishingInWarehouse(TablesPublishing):
    """The same from the tables of a warehouse, whose release is made on the workbench and sent there."""

    bench: Workbench = field(kw_only=True)

    def make(self, member: Member, target: exp.Table) -> None:
        if target.catalog:  # a file, which is attached to the workbench
            super().make(member, target)
            return
        query: exp.Query = self.release.rows.released(member, self.seed)
        if member.roles is not None:
            typed = {name: sql.column(name, "source") for name in self.release.rows.as_they_are(member)}
            query = self.bench.carried(query, member.relation, typed, f"the rows of the released {member.name}")
        self.bench.warehouse.run(sql.create_table(target, query), f"make the released {member.name}")
        written = self.bench.mirror(target)
        if member.roles is not None:  # by one scan; of a table that is kept, nothing but its number of rows
            self.bench.bring_rows(target, written.columns)

    def drop(self, target: exp.Table) -> None:
        if (kind := self.bench.warehouse.kind_of(target)) is not None:
            self.bench.warehouse.drop(target, kind)
            self.bench.forget_mirror(target)


def publishing_of(release: FoundTables, *, ignore: bool) -> TablesPublishing:
    """Return what publishes a release; raise if its rows are gone."""
    if release.gone:
        raise UsageError(
            f"The tables of {release.opened.place} were anonymized in place: the rows that they had are gone. Open it "
            "again."
        )
    engine = release.opened.engine
    if isinstance(engine, Workbench):
        return _PublishingInWarehouse(release, ignore, bench=engine)
    return TablesPublishing(release, ignore)


def _fingerprinted(member: Member, title: str) -> tuple[list[str], str, list[str]]:
    """Return the arguments of a fingerprint: quasi-identifiers, its title, and sensitive columns."""
    sensitive = () if member.roles is None else member.roles.sensitive
    return [one.name for one in member.quasi_identifiers], title, [one.name for one in sensitive]
