"""A new release together with an earlier one: groups of fewer than k people in all, or of too few sensitive values.

The attack is that of ``kanon_sql.risks.attacks``: an attacker knows the quasi-identifiers of both releases and looks a
person up in each. If one release publishes a quasi-identifier of the other unchanged, that column is read too. A column
with different hierarchies in the two releases is looked up twice, in each release under its own hierarchy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kanon_sql.classes.frequency import build_frequency
from kanon_sql.engine.base import find_column
from kanon_sql.errors import UsageError
from kanon_sql.measures.labels import make_labels, make_places
from kanon_sql.policy.publish_rules import KEYED
from kanon_sql.release.ledger import fingerprint
from kanon_sql.release.ledger.earlier import CannotBeCheckedError, column_of, hierarchy_again, read_earlier
from kanon_sql.risks.attacks.candidates import find_candidates, make_people
from kanon_sql.risks.attacks.joint import InBoth, Side, join, least_values
from kanon_sql.risks.attacks.released import Shared
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Column
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.labels import Places
    from kanon_sql.release.ledger.store import Entry
    from kanon_sql.release.publication import Publication
    from kanon_sql.risks.attacks.candidates import OriginalRows
    from kanon_sql.risks.attacks.joint import Joint
    from kanon_sql.search.prepare import Prepared


@dataclass(frozen=True)
class _Side:
    """One of two releases: its rows, the hierarchies that it was made with, and its other published columns."""

    relation: exp.Table
    hierarchies: Sequence[Hierarchy]
    as_they_are: Sequence[str]
    columns: Sequence[Column]

    def column(self, hierarchy: Hierarchy) -> Column | None:
        """Return the column to read under a hierarchy.

        None if the release does not show the column, or made it with another hierarchy.
        """
        name = hierarchy.column.name
        if any(each is hierarchy for each in self.hierarchies):
            return find_column(name, self.columns)
        return None if name in {each.column.name for each in self.hierarchies} else self.shown(name)

    def shown(self, name: str) -> Column | None:
        """Return a column that it publishes unchanged or by a rule; None if it does not."""
        return find_column(name, self.columns) if _is_in(name, self.as_they_are) else None


@dataclass
class Joiner:
    """A new release, to be joined with earlier ones; ``k`` is its promise."""

    prepared: Prepared
    publication: Publication
    output: exp.Table
    k: int
    _known: dict[tuple[str, str], Hierarchy] = field(default_factory=dict)
    # The new release prepared for lookups, and the places of all columns by which either release is looked up.
    _lookups: dict[tuple[str, ...], tuple[Side, tuple[Places, ...]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for hierarchy in self.publication.hierarchies:
            self._known[self._key_of(hierarchy)] = hierarchy

    def joined(self, entry: Entry) -> Joint:
        """Return what the new release and an earlier one reveal together."""
        source = self.prepared.source
        self._require_comparable(entry)
        new, old = self._new(), self._old(entry)
        both = [*new.hierarchies, *(own for own in old.hierarchies if all(own is not each for each in new.hierarchies))]
        theirs = None if entry.entity is None else find_column(entry.entity, source.columns)
        entities = dict.fromkeys(each for each in (self.publication.roles.entity, theirs) if each is not None)
        persons: list[Column | None] = [*entities] or [None]
        sensitive = self._sensitive(entry, new, old)
        in_one, by = self._joinable(entry, new, old)
        needed = [column.original for column in sensitive]
        own, places = self._lookup(both, new, [*needed, *entities])
        try:
            found = self._find(own.candidates.people, places, old)
        except UsageError as error:
            raise CannotBeCheckedError(f"its labels cannot be read: {error}") from None
        sides, k = (own, found), min(self.k, entry.k)
        wanted = [*sensitive, *in_one]
        joints = [join(sides, wanted, entry.name, k, person, by) for person in persons]
        joint = max(
            joints, key=lambda joint: (joint.succeeded, joint.classes.rows_below_k)
        )  # if the releases count people by different columns
        found.drop()
        found.candidates.drop()
        return joint

    def close(self) -> None:
        for own, places in self._lookups.values():
            people = own.candidates.people
            own.drop()
            own.candidates.drop()
            for table in (people.relation, people.tuples, people.copy, *(each.relation for each in places)):
                self.prepared.source.engine.run(sql.drop(table), "drop the values that were looked up")

    @property
    def _by_rule(self) -> dict[str, tuple[str, ...]]:
        """The rules by which the new release publishes columns, by the folded name of the column."""
        rules = self.publication.rules
        columns = () if rules is None else rules.columns
        return {folded(one.column.name): tuple(sorted(rule.text for rule in one.rules)) for one in columns}

    def _require_comparable(self, entry: Entry) -> None:
        """Raise if one release publishes a column by a rule and the other generalizes it or calls it sensitive."""
        roles = self.publication.roles
        own = {folded(column.name) for column in (*roles.quasi_identifiers, *roles.sensitive)}
        theirs = {folded(name) for name in (*entry.quasi_identifiers, *entry.sensitive)}
        if clash := sorted(self._by_rule.keys() & theirs | entry.published_by_rule.keys() & own):
            raise CannotBeCheckedError(
                f"one of the two publishes column {clash[0]!r} by a rule (--publish), and in the other it is a "
                "quasi-identifier or sensitive"
            )

    def _can_be_joined_by(self, name: str, entry: Entry) -> bool:
        """Return True if published values of a column can be compared directly between the two releases."""
        own, theirs = (rules.get(folded(name), ()) for rules in (self._by_rule, entry.published_by_rule))
        if not own and not theirs:
            return True
        keyed = any(rule.partition(":")[0] in KEYED for rule in own)
        return own == theirs and not keyed

    def _new(self) -> _Side:
        roles, columns = self.publication.roles, self.prepared.source.engine.columns(self.output)
        as_they_are = [column.name for column in (*roles.sensitive, *roles.insensitive)]
        return _Side(self.output, self.publication.hierarchies, as_they_are, columns)

    def _old(self, entry: Entry) -> _Side:
        source = self.prepared.source
        relation = read_earlier(source, entry)
        own = []
        for kept in entry.hierarchies:
            hierarchy = self._known.get((column_of(source, kept).name, kept.fingerprint))
            if hierarchy is None:
                again = hierarchy_again(source, kept)
                hierarchy = self._known.setdefault(self._key_of(again), again)
            own.append(hierarchy)
        return _Side(relation, own, entry.published_as_they_are, source.engine.columns(relation))

    def _key_of(self, hierarchy: Hierarchy) -> tuple[str, str]:
        return hierarchy.column.name, fingerprint.of_hierarchy(self.prepared.source.engine, hierarchy)

    def _joinable(self, entry: Entry, new: _Side, old: _Side) -> tuple[list[InBoth], list[InBoth]]:
        """Return sensitive columns that only one release publishes, and columns by which rows of both can be joined."""
        columns, models = self.prepared.source.columns, self.publication.models
        least = least_values((model.name, model.required, model.sensitive) for model in models)
        least |= least_values((model["model"], model["required"], model["sensitive"]) for model in entry.models)
        sensitive = [*(column.name for column in self.publication.roles.sensitive), *entry.sensitive]
        in_one, joined_by, unlike = [], [], []
        for name in dict.fromkeys([*new.as_they_are, *old.as_they_are]):
            original = find_column(name, columns)
            first, second = new.shown(name), old.shown(name)
            if original is None:
                continue
            in_both = _is_in(name, new.as_they_are) and _is_in(name, old.as_they_are)
            if in_both and not self._can_be_joined_by(name, entry):
                unlike.append(name)
            elif first is not None and second is not None:
                ruled = folded(name) in self._by_rule  # values by a rule are not compared with those of the table
                joined_by.append(_in_both(first, second, None if ruled else original))
            elif (first or second) is not None and _is_in(name, sensitive):
                in_one.append(_in_both(first, second, original, least.get(original.name, 2)))
        if in_one and unlike:
            raise CannotBeCheckedError(
                f"both publish column {unlike[0]!r}, by rules (--publish) whose values cannot be compared here, and "
                f"one alone publishes column {in_one[0].original.name!r}, which is sensitive: whether rows can "
                "be joined by the first is not known"
            )
        return in_one, joined_by

    def _sensitive(self, entry: Entry, new: _Side, old: _Side) -> list[InBoth]:
        """Return the columns that both publish unchanged, and that one of them calls sensitive."""
        columns, models = self.prepared.source.columns, self.publication.models
        own = least_values((model.name, model.required, model.sensitive) for model in models)
        theirs = least_values((model["model"], model["required"], model["sensitive"]) for model in entry.models)
        known = {hierarchy.column.name for side in (new, old) for hierarchy in side.hierarchies}
        found = []
        for name in dict.fromkeys([*(column.name for column in self.publication.roles.sensitive), *entry.sensitive]):
            original = find_column(name, columns)
            if original is None or original.name in known:
                continue
            first, second = new.shown(name), old.shown(name)
            if first is not None and second is not None:
                least = min(own.get(original.name, 2), theirs.get(original.name, 2))
                found.append(_in_both(first, second, original, least))
        return found

    def _lookup(
        self, both: Sequence[Hierarchy], new: _Side, columns: Sequence[Column]
    ) -> tuple[Side, tuple[Places, ...]]:
        """Return the new release, looked up under hierarchies, and their places; cached by hierarchies."""
        key = (*(hierarchy.relation.name for hierarchy in both), "", *(column.name for column in columns))
        if key not in self._lookups:
            source, prepared = self.prepared.source, self.prepared
            frequency, labels = prepared.frequency, prepared.labels
            if len(both) > len(prepared.hierarchies):
                frequency = build_frequency(source.engine, source.relation, both, None)
                labels = make_labels(frequency, both)
            # Not cached with the prepared table: tables that a transaction made are gone after a rollback.
            places = make_places(frequency, both, labels)
            needed = [*(hierarchy.column for hierarchy in both), *columns]
            people = make_people(source.engine, source.relation, list(dict.fromkeys(needed)), places)
            self._lookups[key] = self._find(people, places, new), places
        return self._lookups[key]

    def _find(self, people: OriginalRows, places: Sequence[Places], side: _Side) -> Side:
        found = [(own, side.column(own.hierarchy)) for own in places]
        read = [(own, column) for own, column in found if column is not None]
        engine, columns = self.prepared.source.engine, [column for _, column in read]
        candidates = find_candidates(engine, people, [own for own, _ in read], side.relation, columns)
        return Side(candidates)


def _in_both(first: Column | None, second: Column | None, original: Column | None, least: int = 2) -> InBoth:
    """Return a column as two releases show it; without its ``original``, values are compared directly."""
    one, other = (None if own is None else Shared(own, original or own) for own in (first, second))
    return InBoth(one, other, least)


def _is_in(name: str, names: Sequence[str]) -> bool:
    return folded(name) in {folded(each) for each in names}
