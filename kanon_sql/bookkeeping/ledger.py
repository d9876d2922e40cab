"""The ledger of a release that is about to be published: checks it against earlier ones, and remembers it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.bookkeeping import fingerprint
from kanon_sql.bookkeeping.earlier import CannotBeCheckedError
from kanon_sql.bookkeeping.entry import Entry, KeptHierarchy, remembered_policy
from kanon_sql.bookkeeping.joint import Joiner
from kanon_sql.bookkeeping.store import entries_of, remember
from kanon_sql.engine.workbench import Workbench
from kanon_sql.errors import JointReleaseError, SourceError
from kanon_sql.hierarchy.rules.prefix_file import PrefixRule
from kanon_sql.hierarchy.spec import FileRule
from kanon_sql.preparation import given_rules
from kanon_sql.timing import timed

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.attacks.joint import JointClasses
    from kanon_sql.bookkeeping.entry import ReleaseKind
    from kanon_sql.engine.base import Engine
    from kanon_sql.policy import Policy
    from kanon_sql.preparation import Prepared
    from kanon_sql.publication import Publication

_NOT_TAKEN = "not taken: the tuples stayed in their warehouse"

_WAYS_OUT = (
    "Generalize both alike, publish one of them only, forget the earlier one if nobody was given it ({forget}), "
    "or publish all the same (--ignore-ledger)."
)


@dataclass
class Ledger:
    """Checks a release against earlier ones of the same table, and remembers it.

    Attributes:
        policy: what was asked for.
        prepared: the table that it is made from.
        publication: how it is made.
        ignore: whether to publish it whatever earlier releases say; it is remembered all the same.
        unwritable: why it cannot be remembered; None if it can.
    """

    policy: Policy
    prepared: Prepared
    publication: Publication
    ignore: bool = False
    unwritable: str | None = None

    @property
    def _engine(self) -> Engine:
        return self.prepared.source.engine

    def open(self) -> None:
        """Open the database for writing, or note why that cannot be: another process reads it, or nobody may write."""
        try:
            self.prepared.source.make_writable()
        except SourceError as error:
            self.unwritable = str(error)

    def check(self, output: exp.Expr, seconds: dict[str, float]) -> None:
        """Raise unless a verified release can go beside the earlier ones.

        Raises:
            JointReleaseError: it cannot, or an earlier one cannot be told any more.
        """
        if self.ignore:
            return
        source = self._source()
        earlier = [
            entry for entry in entries_of(self._engine) if entry.is_of(source) and min(entry.k, self.policy.k) > 1
        ]
        if not earlier:
            return
        with timed(seconds, "ledger"):
            own = self._hierarchies()
            if doubtful := [entry for entry in earlier if not self._nested(entry, own)]:
                self._require_tuples(doubtful[-1])
                self._check(output, doubtful)

    def remember(
        self, kind: ReleaseKind, target: exp.Table | Path, rows_out: int, *, written: Path | None = None
    ) -> None:
        """Write the release into the ledger.

        Args:
            kind: what it is.
            target: the table or view as it can be read now, or the path that the file will have.
            rows_out: its rows.
            written: the file as it can be read now.
        """
        if self.unwritable is not None:
            return
        engine, publication = self._engine, self.publication
        if isinstance(target, exp.Table):
            names = publication.quasi_identifiers
            own = (
                fingerprint.of_view(engine, target)
                if kind == "view"
                else fingerprint.of_rows(engine, target, names, "fingerprint of the release")
            )
            place: tuple[str | None, str] = (target.db or self._schema(), target.name)
        else:
            own, place = fingerprint.of_file(written or target), (None, str(target.resolve()))
        entry = Entry(
            0,
            datetime.now(UTC).replace(tzinfo=None),
            self._source(),
            kind,
            place,
            self.prepared.frequency.rows,
            rows_out,
            remembered_policy(self.policy, publication.roles),
            publication.recoding.levels(publication.hierarchies),
            self._hierarchies(),
            own,
            source_fingerprint(engine, self.prepared.source.relation, publication.quasi_identifiers),
        )
        known = entries_of(engine)
        if not any(each.is_of(entry.source) and each.says_the_same(entry) for each in known):
            remember(engine, entry)

    def _require_tuples(self, entry: Entry) -> None:
        """Raise where people cannot be looked up, since the tuples of the table stay in their warehouse."""
        engine = self._engine
        if isinstance(engine, Workbench) and engine.is_sealed(self.prepared.source.relation):
            raise JointReleaseError(
                f"Whether this release goes together with the earlier release {entry.name} ({entry.made_at:%Y-%m-%d}) "
                "can be checked on the workbench only: it was not published. Leave --search-on warehouse out, or "
                "publish all the same (--ignore-ledger)."
            )

    def _check(self, output: exp.Expr, earlier: list[Entry]) -> None:
        relation = self._as_table(output)
        joiner = Joiner(self.prepared, self.publication, relation, self.policy.k)
        alike: dict[tuple[object, ...], list[Entry]] = {}
        for entry in earlier:
            alike.setdefault(entry.alike(), []).append(entry)
        found = []
        for entries in alike.values():
            entry, classes = self._first_that_can_be_told(joiner, entries)
            if classes.rows_below_k:
                found.append((classes.rows_below_k, entry, classes))
        if found:
            _, worst, classes = max(found, key=lambda one: one[0])
            raise JointReleaseError(self._why(worst, classes, len(found) - 1))
        joiner.close()
        if relation is not output:
            self._engine.run(sql.drop(relation), "drop the copy of the release")

    def _first_that_can_be_told(self, joiner: Joiner, entries: list[Entry]) -> tuple[Entry, JointClasses]:
        """Return the outcome of the first of several entries that say the same and that can be told today.

        Raises:
            JointReleaseError: none can.
        """
        why = ""
        for entry in entries:
            try:
                return entry, joiner.joined(entry)
            except CannotBeCheckedError as error:
                why = str(error)
        last = entries[-1]
        raise JointReleaseError(
            f"Whether this release goes together with the earlier release {last.name} ({last.made_at:%Y-%m-%d}) cannot "
            f"be checked: {why}. It was not published. Put it back as it was, forget it if nobody was given it "
            f"({self._forget(last)}), or publish all the same (--ignore-ledger)."
        )

    def _forget(self, entry: Entry) -> str:
        """Return the command that forgets an entry."""
        return f"kanon ledger {shlex.quote(self.prepared.source.place)} --forget {shlex.quote(entry.name)}"

    def _nested(self, entry: Entry, own: tuple[KeptHierarchy, ...]) -> bool:
        """Tell whether both are full-domain releases of the same rows, one of them on the way up from the other.

        Then every class of the one lies in a class of the other, and is all that both have in common.
        """
        levels = self.publication.recoding.levels(self.publication.hierarchies)
        same = {(kept.column, kept.fingerprint) for kept in own} == {
            (kept.column, kept.fingerprint) for kept in entry.hierarchies
        }
        if levels is None or entry.levels is None or not same:
            return False
        steps = [level - entry.levels[name] for name, level in levels.items()]
        if min(steps) < 0 < max(steps):
            return False
        return source_fingerprint(self._engine, self.prepared.source.relation, entry.quasi_identifiers) == (
            entry.source_fingerprint
        )

    def _as_table(self, output: exp.Expr) -> exp.Table:
        """Return a release as a table that can be read often; a file is copied."""
        if isinstance(output, exp.Table):
            return output
        copy = self._engine.temporary_name("kanon_release")
        query = exp.select("*").from_(output.copy())
        self._engine.run(sql.create_table(copy, query, temporary=True), "the release, to be read often")
        return copy

    def _why(self, entry: Entry, classes: JointClasses, others: int) -> str:
        k = min(entry.k, self.policy.k)
        who = "people" if entry.entity or self.publication.roles.entity else "rows"
        more = f", and {others} more of the earlier releases leave some too" if others else ""
        return (
            f"Together with the earlier release {entry.name} ({entry.made_at:%Y-%m-%d}), this one leaves "
            f"{classes.rows_below_k:,} {who} of {entry.source_name} among fewer than {k} (the fewest are "
            f"{classes.smallest}){more}; it was not published. {_WAYS_OUT.format(forget=self._forget(entry))}"
        )

    def _source(self) -> tuple[str, str]:
        source = self.prepared.source.relation
        return (source.db or self._schema(), source.name)

    def _schema(self) -> str:
        query = exp.select(exp.Anonymous(this="current_schema"))
        ((schema,),) = self._engine.rows(query, "the schema we are in")
        return str(schema)

    def _hierarchies(self) -> tuple[KeptHierarchy, ...]:
        source, hierarchies = self.prepared.source, self.publication.hierarchies
        rules = given_rules(source, [hierarchy.column for hierarchy in hierarchies], self.policy)
        texts = {
            name: rule.absolute() if isinstance(rule, FileRule | PrefixRule) else str(rule)
            for name, rule in rules.items()
        }
        return tuple(
            KeptHierarchy(
                hierarchy.column.name,
                texts.get(hierarchy.column.name),
                fingerprint.of_hierarchy(self._engine, hierarchy),
            )
            for hierarchy in hierarchies
        )


def source_fingerprint(engine: Engine, source: exp.Table, quasi_identifiers: list[str]) -> str:
    """Return the fingerprint of the quasi-identifiers of a table; none of one whose tuples stay in their warehouse."""
    if isinstance(engine, Workbench) and engine.is_sealed(source):
        return _NOT_TAKEN
    return fingerprint.quick(engine, source, quasi_identifiers, "fingerprint of the quasi-identifiers")
