"""The ledger of a release that is about to be published: compares it with earlier releases, and remembers it.

Two runs that publish from the same database take turns: while one run checks and until it has its ledger entry, the
other waits. A DuckDB file is open for writing in one process at a time; PostgreSQL has a lock instead
(``Warehouse.alone``). Spark has neither: there, the ledger is read again after the release has its entry. If another
entry appeared, the release is undone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from sqlglot import exp

from kanon_sql.engine.base import find_column, make_table
from kanon_sql.errors import InUseError, JointReleaseError, SourceError, command_line, counted
from kanon_sql.hierarchy.given import given_rules
from kanon_sql.hierarchy.rules import ListedRule
from kanon_sql.hierarchy.spec import LevelsRule
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.release.ledger import fingerprint
from kanon_sql.release.ledger.earlier import CannotBeCheckedError
from kanon_sql.release.ledger.fingerprint import NOT_TAKEN
from kanon_sql.release.ledger.store import (
    HOLD_OUT,
    Entry,
    KeptHierarchy,
    alone,
    entries_of,
    remember,
    remembered_policy,
    take_back,
)
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.ledger.store import ReleaseKind
    from kanon_sql.release.ledger.two_releases import Joiner
    from kanon_sql.release.publication import Publication
    from kanon_sql.risks.attacks.joint import Joint
    from kanon_sql.search.prepare import Prepared

_WAYS_OUT = (
    "Publish one of them only; or make both with --max-suppressed 0, this one by generalizing the earlier one further; "
    "or publish all the same (--ignore-ledger); or forget the earlier one if it was given to nobody:\n  {forget}"
)


_COPY = "the release, to be read often"
Target: TypeAlias = "exp.Table | Path | Mapping[str, exp.Table] | Mapping[str, Path]"
"""The location of a release, or of each of several tables."""


@dataclass(frozen=True)
class LedgerOutcome:
    """The outcome of a release in the ledger."""

    remembered: bool  # True if the ledger has the release
    not_remembered: str | None  # why it could not be written; None if it was
    warnings: tuple[str, ...]  # what the release reveals together with earlier releases that it replaces, as sentences
    beside_replaced: tuple[dict[str, Any], ...]  # the same as numbers, with the number of each replaced release


class Ledger(ABC):
    """Compares a release with earlier ones of the same tables, and remembers it.

    It is a context: other runs wait until its end. With ``ignore``, a release is published regardless of earlier
    releases, and still remembered.
    """

    def __init__(self, engine: DuckDBEngine, *, ignore: bool = False, unwritable: str | None = None) -> None:
        self._engine, self.ignore = engine, ignore
        self.unwritable = unwritable  # why the release cannot be remembered; None if it can
        self.warnings: list[str] = []  # about the release together with earlier ones that it replaces
        self.beside_replaced: list[dict[str, object]] = []  # the same as numbers
        self._seen: list[Entry] = []
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def outcome(self, *, dry_run: bool = False) -> LedgerOutcome:
        remembered = self.unwritable is None and not dry_run
        return LedgerOutcome(remembered, self.unwritable, tuple(self.warnings), tuple(self.beside_replaced))

    @abstractmethod
    def make_writable(self) -> None:
        """Open the database for writing, once other processes release it; refuse if its rows changed."""

    def open(self) -> None:
        """Open the database for writing; if it is write-protected, note the reason."""
        try:
            self.make_writable()
        except InUseError as error:
            if not self.ignore:
                raise InUseError(
                    f"{error} The release was not published, since the ledger there cannot remember it. Run it again "
                    "later, or publish it all the same (--ignore-ledger)."
                ) from None
            self.unwritable = str(error)
        except SourceError as error:
            self.unwritable = str(error)

    def check(self, outputs: Mapping[str, exp.Expr], target: exp.Table | Path | None) -> None:
        """Raise if earlier releases forbid a verified release. From here on, other runs wait.

        ``target`` is the name that it will have; None if it replaces its tables.
        """
        self._held.enter_context(alone(self._engine))
        self._seen = entries_of(self._engine)
        if not self.ignore:
            self._require_together(outputs, target)

    @abstractmethod
    def _require_together(self, outputs: Mapping[str, exp.Expr], target: exp.Table | Path | None) -> None:
        """Raise unless a release may be published beside the earlier ones in the ledger."""

    def recording(self) -> AbstractContextManager[None]:
        """Return a context in which a file gets its name and a ledger entry, or neither."""
        return nullcontext() if self.unwritable is not None else self._engine.keeping()

    def remember(
        self,
        kind: ReleaseKind,
        target: Target,
        rows: Any,  # noqa: ANN401 - a number, or one for each table
        *,
        written: Target | None = None,
    ) -> None:
        """Write the release into the ledger.

        ``target`` is the table or view in its present location, or the future path of the file. If the release is
        readable elsewhere now, ``written`` is that location.
        """
        if self.unwritable is not None:
            return
        number = max((each.number for each in self._seen), default=0) + 1
        now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)  # as the ledger stores it
        common = {"number": number, "made_at": now, "kind": kind}
        for entry in self._entries(common, target, rows, target if written is None else written):
            remember(self._engine, entry)
            self._require_no_other(entry)

    @abstractmethod
    def _entries(
        self,
        common: dict[str, Any],
        target: Target,
        rows: Any,  # noqa: ANN401 - a number, or one for each table
        made: Target,
    ) -> Iterator[Entry]:
        """Yield the entries of a release; ``common`` has the kind and time of all, and the first number."""

    def _require_no_other(self, entry: Entry) -> None:
        """Forget the release and raise if another run wrote into the ledger meanwhile, which only Spark allows."""
        engine = self._engine
        if engine.all_or_nothing:
            return
        with alone(engine):
            others = [each for each in entries_of(engine) if each not in self._seen and not each.is_record_of(entry)]
        if others and not self.ignore:
            take_back(engine, entry)
            raise JointReleaseError(
                f"Not published: another release, {others[-1].name}, was made while this one was checked. Run it again."
            )

    def _place(self, target: exp.Table | Path) -> tuple[str | None, str]:
        """Return the name of a target in the ledger."""
        if isinstance(target, Path):
            return None, str(target.resolve())
        return target.db or self._engine.current_schema(), target.name


class LedgerOfTable(Ledger):
    """The ledger of a release of one table.

    Nested recodings of the same columns pass, unless rows can be joined by another column or the two releases cannot be
    compared. Otherwise the two are joined if the earlier one can be read; if not, the new one is refused. An earlier
    release that the new one replaces only causes a warning.
    """

    def __init__(
        self,
        policy: Policy,
        prepared: Prepared,
        publication: Publication,
        suppressed: int,  # rows of the table that are left out
        *,
        ignore: bool = False,
        appends: bool = False,  # to the target; its earlier entries are not compared
        unwritable: str | None = None,
    ) -> None:
        super().__init__(prepared.source.engine, ignore=ignore, unwritable=unwritable)
        self.policy, self.prepared, self.publication = policy, prepared, publication
        self.suppressed, self.appends = suppressed, appends
        self._source_print: str | None = None
        self._prints: dict[tuple[exp.Table, tuple[str, ...]], str] = {}

    def make_writable(self) -> None:
        source = self.prepared.source
        if source.engine.is_writable:
            return

        def of_rows() -> str:
            lists = [self._fingerprinted_source, [column.name for column in source.columns]]
            self._source_print, whole = fingerprint.quick(
                self._engine, source.relation, lists, "fingerprints of the table"
            )
            return whole

        source.make_writable(of_rows)

    def recording(self) -> AbstractContextManager[None]:
        # A sink holds the transaction of a warehouse from the start.
        return nullcontext() if self.unwritable is not None else self._engine.transaction()

    def _require_together(self, outputs: Mapping[str, exp.Expr], target: exp.Table | Path | None) -> None:
        source = self._source()
        replaced = self._replaced(target)
        earlier = [entry for entry in self._seen if entry.is_of(source) and self._promise_something(entry)]
        if self.appends:
            earlier = [entry for entry in earlier if not _same_place(entry.target, replaced)]
        if not earlier:
            return
        self._warn_of_changes(earlier)
        doubtful = [
            entry
            for entry in earlier
            if not self._nested(entry) or self._can_be_joined(entry) or self._apart(entry) is not None
        ]
        if doubtful:
            self._require_tuples(doubtful[-1])
            (output,) = outputs.values()
            self._check(output, doubtful, replaced)

    def _is_of_other_rows(self, entry: Entry) -> bool:
        """Return True if rows were held out of this release or an earlier one, and both may be of different rows.

        If so, their difference shows people who were held out, and the check of the ledger proves nothing: it looks up
        every row of one table in both releases.

        What stays allowed: the earlier release was made from rows R, and this one from rows T that agree with R in
        the columns C that the earlier one is made from (its published columns, and the person), as multisets: the
        fingerprint, a sum of hashes of rows, is the same. The earlier release is a function f of R in C, and of chance
        that is independent of the rows. R and T agree in C, so f(T) = f(R): the published release is the one that would
        have been published of T. So both are releases of T, and the check on T is the check of any two releases. The
        people who were held out have no part in f(T), nor in this release, unless they are in T themselves. If the
        ledger has nothing about the rows of the earlier one, and this one holds rows out, this cannot be known.
        """
        apart, source = entry.hold_out, self.prepared.source
        if apart is None:
            return source.held_out is not None
        known = all(find_column(name, source.columns) is not None for name in apart["columns"])
        return not known or self._print_of(apart["columns"]) != apart["fingerprint"]

    def _warn_of_changes(self, earlier: list[Entry]) -> None:
        """Warn that rows were added, removed or changed since earlier releases: the check uses the current rows."""
        rows = self.prepared.frequency.rows
        of_the_table = [entry for entry in earlier if not self._is_of_other_rows(entry)]
        if changed := [entry for entry in of_the_table if entry.rows_in != rows or not self._is_source_of(entry)]:
            last = changed[-1]
            others = f", and {len(changed) - 1:,} before it," if len(changed) > 1 else ""
            self.warnings.append(
                f"{self.prepared.source.name} had {last.rows_in:,} rows when {last.name} was made "
                f"({last.made_at:%Y-%m-%d}){others} and has {rows:,} rows now, or other ones: the releases were "
                "checked together on the rows of now. Who has both sees what changed between them, and a few rows that "
                "came or went may show by the difference."
            )

    def _is_source_of(self, entry: Entry) -> bool:
        """Return True if the columns of the table are those of an earlier release, as far as is known."""
        before = entry.source_fingerprint
        return before == NOT_TAKEN or any(now in {before, NOT_TAKEN} for now in self._prints_of(entry))

    def _prints_of(self, entry: Entry) -> Iterator[str]:
        """Yield the current fingerprints of the columns that the fingerprint of an earlier release may cover."""
        source, alone = self.prepared.source, entry.quasi_identifiers
        for names in (alone,) if source.in_warehouse else (entry.fingerprinted_source, alone):
            if all(find_column(name, source.columns) is not None for name in names):
                yield self._print_of(names)

    @property
    def _sensitive(self) -> list[str]:
        return [column.name for column in self.publication.roles.sensitive]

    @property
    def _fingerprinted_source(self) -> list[str]:
        """Names of the columns of the table in its fingerprint; for a warehouse, the quasi-identifiers only."""
        if self.prepared.source.in_warehouse:
            return self.publication.quasi_identifiers
        entity = self.publication.roles.entity
        named = [] if entity is None else [entity.name]
        return list(dict.fromkeys([*self.publication.quasi_identifiers, *self._sensitive, *named]))

    @property
    def _rows_of_source(self) -> exp.Table:
        """The relation whose columns are fingerprinted.

        For appended rows, it has the new ones without the rows that earlier appends kept back; with them if rules
        prepare the new ones.
        """
        source = self.prepared.source
        only_read = self.appends and source.preparation is not None and not source.preparation.rules
        return source.table if only_read else source.relation

    def _print_of(self, names: Sequence[str], rows: exp.Table | None = None) -> str:
        rows = rows or self.prepared.source.relation
        key = (rows, tuple(names))
        if key not in self._prints:
            self._prints[key] = fingerprint.of_source(self._engine, rows, names)
        return self._prints[key]

    def _entries(self, common: dict[str, Any], target: Target, rows: int, made: Target) -> Iterator[Entry]:
        """Yield the entry, unless an equal one exists for the same target."""
        engine, publication = self._engine, self.publication
        if isinstance(target, Mapping) or isinstance(made, Mapping):
            raise TypeError("A release of one table has one target")
        if isinstance(made, Path):
            own = fingerprint.of_file(made)
        elif common["kind"] == "view":
            own = fingerprint.of_view(engine, made)
        else:
            own = fingerprint.of_rows(
                engine, made, publication.quasi_identifiers, "fingerprint of the release", self._sensitive
            )
        remembered = remembered_policy(self.policy, publication.roles, self.prepared.source.time_zone, self._prepared)
        if (apart := self.prepared.source.held_out) is not None:
            named = [publication.roles.entity] if publication.roles.entity else []
            columns = list(dict.fromkeys(column.name for column in (*publication.columns, *named)))
            remembered[HOLD_OUT] = {"rows": apart.rows, "columns": columns, "fingerprint": self._print_of(columns)}
        entry = Entry(
            **common,
            source=self._source(),
            target=self._place(target),
            rows_in=self.prepared.frequency.rows,
            rows_out=rows,
            policy=remembered,
            levels=publication.recoding.levels(publication.hierarchies),
            hierarchies=self._hierarchies,
            fingerprint=own,
            source_fingerprint=self._source_print or self._print_of(self._fingerprinted_source, self._rows_of_source),
        )
        if not any(each.is_of(entry.source) and each.says_the_same(entry) for each in self._seen):
            yield entry

    def _promise_something(self, entry: Entry) -> bool:
        """Return True if this release and an earlier one both promise a privacy model."""
        from kanon_sql.risks.attacks.joint import least_values

        own = least_values((model.name, model.required, model.sensitive) for model in self.publication.models)
        theirs = least_values((model["model"], model["required"], model["sensitive"]) for model in entry.models)
        return min(entry.k, self.policy.k) > 1 or bool(own and theirs)

    def _replaced(self, target: exp.Table | Path | None) -> tuple[str | None, str] | None:
        """Return the ledger name of the relation that this release replaces; None if it replaces nothing."""
        if target is None:
            return None
        there = target.exists() if isinstance(target, Path) else self._engine.kind_of(target) is not None
        return self._place(target) if there else None

    def _require_tuples(self, entry: Entry) -> None:
        """Raise if people cannot be looked up because the tuples of the table stay in their warehouse."""
        engine = self._engine
        if engine.engine_of(self.prepared.source.relation) is not engine:
            raise JointReleaseError(
                f"Whether this release goes together with the earlier release {entry.name} ({entry.made_at:%Y-%m-%d}) "
                "can be checked on the workbench only: it was not published. Leave --search-on warehouse out, or "
                "publish all the same (--ignore-ledger)."
            )

    def _check(self, output: exp.Expr, earlier: list[Entry], replaced: tuple[str | None, str] | None) -> None:
        from kanon_sql.release.ledger.two_releases import Joiner

        self._engine.work_alone(alone=False)  # two releases of a small table are much work to join
        if isinstance(output, exp.Table):
            relation = output
        else:  # rows of a file are copied because they are read often
            relation = make_table(self._engine, "kanon_release", exp.select("*").from_(output.copy()), _COPY)
        joiner = Joiner(self.prepared, self.publication, relation, self.policy.k)
        alike: dict[tuple[object, ...], list[Entry]] = {}
        for entry in earlier:
            alike.setdefault((_same_place(entry.target, replaced), *entry.alike()), []).append(entry)
        found: list[tuple[Entry, Joint]] = []
        for entries in alike.values():
            is_replaced = _same_place(entries[0].target, replaced)
            try:
                entry, joint = self._joined(joiner, entries)
            except CannotBeCheckedError as error:
                last = entries[-1]
                if not is_replaced:
                    raise JointReleaseError(
                        f"Whether this release goes together with the earlier release {last.name} "
                        f"({last.made_at:%Y-%m-%d}) cannot be checked: {error}. It was not published. {error.way_out}; "
                        "or publish all the same (--ignore-ledger); or forget it if it was given to nobody:\n  "
                        f"{self._forget(last)}"
                    ) from None
                self.warnings.append(
                    f"Whether it goes together with the release {last.number} of that name "
                    f"({last.made_at:%Y-%m-%d %H:%M}), which was replaced, cannot be checked: {error}."
                )
                continue
            if joint.adds and is_replaced:
                self.beside_replaced.append({"number": entry.number, **joint.figures()})
                self.warnings.append(self._warning(entry, joint))
            elif joint.adds:
                found.append((entry, joint))
        if found:
            worst, joint = max(found, key=lambda one: _harm(one[1]))
            raise JointReleaseError(self._why(worst, joint, len(found) - 1))
        joiner.close()
        if relation is not output:
            self._engine.run(sql.drop(relation), "drop the copy of the release")

    def _joined(self, joiner: Joiner, entries: list[Entry]) -> tuple[Entry, Joint]:
        """Join the first readable one of several entries of one release with this release; return both results."""
        if (why := self._of_other_classes(entries[-1]) or self._apart(entries[-1])) is not None:
            raise why
        for entry in entries:
            try:
                return entry, joiner.joined(entry)
            except CannotBeCheckedError as error:
                why = error
        raise why or CannotBeCheckedError

    def _apart(self, entry: Entry) -> CannotBeCheckedError | None:
        """Return why an earlier release cannot be looked up as this one can; None if it can."""
        if self._is_of_other_rows(entry):
            return CannotBeCheckedError(
                "rows were held out of one of the two (--hold-out) and may be in the other, where their difference "
                "would show them",
                "Hold out the same rows in both (same share, same seed, same table), or in none",
            )
        if others := self._prepared_otherwise(entry):
            return CannotBeCheckedError(f"its column {others[0]!r} was prepared otherwise, or is another one now")
        if zoned := self._in_another_zone(entry):
            known = f"{entry.time_zone} (give it with --time-zone)"
            theirs = known if entry.time_zone else "the session that made it, which is not known"
            return CannotBeCheckedError(
                f"labels of this release are those of {self._engine.time_zone}, and those of its column "
                f"{zoned[0]!r} of {theirs}"
            )
        return None

    def _of_other_classes(self, entry: Entry) -> CannotBeCheckedError | None:
        """Return why the classes of an earlier release do not describe it well enough; None if they do."""
        why = None
        if entry.together:
            why = "it was released with other tables, which decide which rows it leaves out"
        elif self._is_of_some_columns(entry):
            why = "k is required of some columns, and classes by all columns are compared"
        return None if why is None else CannotBeCheckedError(why, "Make one release of the table only")

    def _forget(self, entry: Entry, *, by_name: bool = True) -> str:
        """Return the command that forgets an entry."""
        alike = [each for each in self._seen if _same_place(each.target, entry.target)]
        which = entry.name if by_name and len(alike) == 1 else str(entry.number)  # a name forgets all that had it
        return command_line("ledger", [self.prepared.source.place], "--forget", which)

    def _nested(self, entry: Entry) -> bool:
        """Return True if the classes of one release are unions of whole classes of the other, by the levels of both.

        Both are full-domain releases of the same rows. Either they have the same levels, so that a class is in both or
        in one; or the levels of one generalize those of the other, and neither leaves out a row. If a class is left
        out at one level and published at another, other classes can be subtracted from it. If either promises k for
        some columns only, and this release has a lower level, it must promise no less than the earlier one did.
        """
        levels = self.publication.recoding.levels(self.publication.hierarchies)
        same = {(kept.column, kept.fingerprint) for kept in self._hierarchies} == {
            (kept.column, kept.fingerprint) for kept in entry.hierarchies
        }
        if levels is None or entry.levels is None or not same:
            return False
        steps = [level - entry.levels[name] for name, level in levels.items()]
        if min(steps) < 0 and self._is_of_some_columns(entry) and not self._promises_as_much(entry):
            return False
        leave_out = self.suppressed > 0 or entry.rows_out < entry.rows_in
        if min(steps) < 0 < max(steps) or (any(steps) and leave_out):
            return False
        return entry.source_fingerprint in self._prints_of(entry)

    def _is_of_some_columns(self, entry: Entry) -> bool:
        """Return True if this release or an earlier one promises k for some columns, but not for all together."""
        return entry.of_columns is not None or known_subsets_of(self.publication.models) is not None

    def _promises_as_much(self, entry: Entry) -> bool:
        """Return True if this release promises at least the k of an earlier one, for at least as many columns."""
        known, width = known_subsets_of(self.publication.models), len(self.publication.quasi_identifiers)
        own = width if known is None else min(known.m, width)
        theirs = width if entry.of_columns is None else min(entry.of_columns, width)
        return self.policy.k >= entry.k and own >= theirs

    @property
    def _prepared(self) -> dict[str, str]:
        preparation = self.prepared.source.preparation
        return {} if preparation is None else preparation.digests()

    def _prepared_otherwise(self, entry: Entry) -> list[str]:
        """Return the columns of an earlier release that cannot be looked up: missing here, or prepared differently.

        Also the columns that this release shows under another name: rows could be joined by them.
        """
        own, theirs = self._prepared, entry.prepared
        named = [*entry.quasi_identifiers, *entry.published_as_they_are, *([entry.entity] if entry.entity else [])]
        changed = [name for name in named if own.get(name) != theirs.get(name)]
        preparation, roles = self.prepared.source.preparation, self.publication.roles
        if preparation is None:
            return changed
        shown = [column.name for column in (*roles.sensitive, *roles.insensitive)]
        copied = {read for name in shown for read in preparation.reads.get(name, ())}
        return [*changed, *(name for name in entry.published_as_they_are if name in copied)]

    def _in_another_zone(self, entry: Entry) -> list[str]:
        """Return the columns of an earlier release whose labels or texts were computed in another time zone."""
        if entry.time_zone == self.prepared.source.time_zone:
            return []
        own = {(kept.column, kept.fingerprint) for kept in self._hierarchies}
        zoned = {column.name for column in self.prepared.source.columns if column.is_zoned}
        other = [kept for kept in entry.hierarchies if (kept.column, kept.fingerprint) not in own]
        return [name for name in (*(kept.column for kept in other), *entry.sensitive) if name in zoned]

    def _can_be_joined(self, entry: Entry) -> bool:
        """Return True if rows can be joined by a column that both show, and so reveal a sensitive column of one."""
        roles = self.publication.roles
        own = {folded(column.name) for column in (*roles.sensitive, *roles.insensitive)}
        theirs = {folded(name) for name in entry.published_as_they_are}
        sensitive = {folded(name) for name in (*self._sensitive, *entry.sensitive)}
        return bool(own & theirs) and bool((own ^ theirs) & sensitive)

    def _why(self, entry: Entry, joint: Joint, others: int) -> str:
        more = f"; it says too much beside {others} more of the earlier releases" if others else ""
        return (
            f"Together with the earlier release {entry.name} ({entry.made_at:%Y-%m-%d}), this one "
            f"{self._what_is_left(joint)}{more}; it was not published. {_WAYS_OUT.format(forget=self._forget(entry))}"
        )

    def _warning(self, entry: Entry, joint: Joint) -> str:
        return (
            f"Together with the release that it replaces ({entry.number}, {entry.made_at:%Y-%m-%d %H:%M}), this one "
            f"{self._what_is_left(joint)}. Give out this one only if the replaced one was given to nobody; then forget "
            f"that:\n  {self._forget(entry, by_name=False)}"
        )

    def _what_is_left(self, joint: Joint) -> str:
        """Describe the groups that two releases leave, as a sentence about the new one."""
        classes, said, (schema, name) = joint.classes, [], self._source()
        table = name if schema == "main" else f"{schema}.{name}"
        if classes.below_k:
            one, many = ("person", "people") if classes.people_below_k else ("row", "rows")
            least = f"{classes.alone:,} of them alone" if classes.alone else f"the fewest are {classes.smallest}"
            said.append(f"leaves {counted(classes.below_k, one, many)} of {table} among fewer than {joint.k} ({least})")
        for known in joint.known:
            if known.rows_certain_together:
                certain = counted(known.rows_certain_together, "row")
                said.append(f"makes the value of {known.column} certain for {certain}")
            if known.rows_alike:
                alike = counted(known.rows_alike, "row")
                said.append(f"leaves {alike} in groups of enough people with {known.too_few} of {known.column}")
        return ", and ".join(said)

    def _source(self) -> tuple[str, str]:
        source = self.prepared.source.table
        return (source.db or self._engine.current_schema(), source.name)

    @cached_property
    def _hierarchies(self) -> tuple[KeptHierarchy, ...]:
        source, hierarchies = self.prepared.source, self.publication.hierarchies
        rules = given_rules(source, [hierarchy.column for hierarchy in hierarchies], self.policy)
        texts = {
            name: rule.absolute() if isinstance(rule, ListedRule) else str(rule)
            for name, rule in rules.items()
            if not isinstance(rule, LevelsRule)  # nothing could be read again
        }
        return tuple(
            KeptHierarchy(
                hierarchy.column.name,
                texts.get(hierarchy.column.name),
                fingerprint.of_hierarchy(self._engine, hierarchy),
            )
            for hierarchy in hierarchies
        )


def _same_place(one: tuple[str | None, str], other: tuple[str | None, str] | None) -> bool:
    """Return True if two targets are the same; paths are compared literally."""
    if other is None or one[0] is None or other[0] is None:
        return one == other
    return (folded(one[0]), folded(one[1])) == (folded(other[0]), folded(other[1]))


def _harm(joint: Joint) -> tuple[int, int]:
    return joint.classes.below_k, sum(known.rows_certain_together + known.rows_alike for known in joint.known)
