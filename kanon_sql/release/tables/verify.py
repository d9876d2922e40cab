"""Verification of released tables, by statements of their own that read nothing but these tables and the hierarchies.

1. The promise: people with the same published values, and combinations of at most ``km`` of their events, are counted
   in the tables as a reader would join them, by pseudonyms.
2. Integrity: every row leads to a released person, and to the row that it goes through.
3. Keys: each is written as a pseudonym, none is NULL, and those that name persons or rows do not repeat.
4. Labels: each is of its level in the hierarchy of its column.
5. Rows: as many as were found before.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.equality import as_text
from kanon_sql.errors import VerificationError, counted
from kanon_sql.hierarchy.expressions import level_name
from kanon_sql.release.tables.opened import beside
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.tables.found import TableCounts
    from kanon_sql.release.tables.opened import Member, OpenedTables

_ONES = (1 << 76) | (1 << 60)
"""A 1 in each of the two digits of a UUID that say its version and its variant: both are 8 in a pseudonym."""
_PERSON, _CLASS, _EVENT, _KEY = "person", "class", "event", "key"


@dataclass(frozen=True)
class Promise:
    """What was counted of combinations of so many known events.

    Attributes:
        events: how many; 0 is what is published of a person alone.
        combinations: how many there are, each of one class of people.
        fewest: the people of the rarest; None where there is none.
        too_rare: how many fewer than k people share.
    """

    events: int
    combinations: int
    fewest: int | None
    too_rare: int


@dataclass(frozen=True)
class TablesVerification:
    """What was found in released tables.

    Attributes:
        k: the people who must share each combination.
        promises: by the number of known events.
        rows: of each table.
        orphans: by table, rows that lead to no released row.
        raw_keys: by column, values that are no pseudonyms, NULL among them.
        repeated_keys: by column that names persons or rows of its table, rows with the value of another one.
        foreign_labels: by column, labels that its hierarchy does not have at its level.
        wrong_rows: tables with another number of rows than was found before.
        identifying: columns that are never published, and are there.
        unforeseen: columns that the policy does not publish, and are there.
        schema: the schema that they are in; None where they are files, or in several.
        others: beside them, tables and views of their schemas, or files of their directory, that the policy does not
            publish; nothing was looked for in them, so that the promise is not known to hold.
        elsewhere: how many tables and views other schemas of the database have; nothing was looked for in them.
        findings: what the checks of roles and of people refuse (docs/guarantees.md#checks), as sentences.
    """

    k: int
    promises: tuple[Promise, ...]
    rows: dict[str, int]
    orphans: dict[str, int]
    raw_keys: dict[str, int]
    repeated_keys: dict[str, int]
    foreign_labels: dict[str, int]
    wrong_rows: tuple[str, ...]
    identifying: tuple[str, ...] = ()
    unforeseen: tuple[str, ...] = ()
    schema: str | None = None
    others: tuple[str, ...] = ()
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[str, ...] = ()

    @property
    def fewest(self) -> int | None:
        """The people of the rarest combination of any kind."""
        return min((one.fewest for one in self.promises if one.fewest is not None), default=None)

    @property
    def holds(self) -> bool:
        """Whether the tables keep the promise, nothing is beside them, and no check refused them."""
        return not self.fails and not self.others and not self.findings

    @property
    def fails(self) -> bool:
        """Whether the tables of the policy do not keep the promise, whatever is beside them."""
        promised = not any(one.too_rare for one in self.promises)
        others = (self.orphans, self.raw_keys, self.repeated_keys, self.foreign_labels)
        columns = (*self.identifying, *self.unforeseen)
        return not promised or bool(any(map(sum, (found.values() for found in others))) or self.wrong_rows or columns)

    def problems(self) -> list[str]:
        """Return what is wrong, in words."""
        said = [
            f"{counted(one.too_rare, 'combination')} of what is published of a person"
            + (f" and of {counted(one.events, 'known event')}" if one.events else "")
            + f" {'is' if one.too_rare == 1 else 'are'} shared by fewer than {self.k:,} people"
            for one in self.promises
            if one.too_rare
        ]
        said += [
            f"{name}: {counted(n, 'row')} that lead{'s' if n == 1 else ''} to no released row"
            for name, n in self.orphans.items()
            if n
        ]
        said += [
            f"{name}: {counted(n, 'key')} that {'is' if n == 1 else 'are'} no pseudonym"
            for name, n in self.raw_keys.items()
            if n
        ]
        said += [f"{name}: {counted(n, 'key')} that another row has too" for name, n in self.repeated_keys.items() if n]
        said += [
            f"{name}: {counted(n, 'label')} that the hierarchy does not have"
            for name, n in self.foreign_labels.items()
            if n
        ]
        said += [f"{name}: an identifying column, which is never published" for name in self.identifying]
        said += [f"{name}: a column that the policy does not publish" for name in self.unforeseen]
        said += [f"{name}: another number of rows than was found before" for name in self.wrong_rows]
        if self.others:
            it = "it" if len(self.others) == 1 else "them"
            number = counted(len(self.others), "table, view or file", "tables, views or files")
            said.append(
                f"not looked at, since the policy does not publish {it}: {', '.join(self.others)} ({number}); drop or "
                f'move {it}, or name {it} in the policy ([tables.NAME], with rows = "kept" if they are about nobody)'
            )
        return [*said, *self.findings]

    def summary(self) -> dict[str, Any]:
        """Return it as plain values: what ``--format json`` prints."""
        verdict = {"holds": self.holds, "fails": self.fails}
        return {**asdict(self), **verdict, "fewest": self.fewest, "problems": self.problems()}

    def require(self) -> None:
        """Raise unless everything holds."""
        if not self.holds:
            raise VerificationError(
                f"The release is not what it should be: {'; '.join(self.problems())}. It was taken back: please report "
                "this as a bug."
            )


@dataclass(frozen=True)
class ReleasedTables:
    """Released tables as statements read them.

    Attributes:
        engine: that reads them.
        opened: what they were made from.
        outputs: each by the name of its table.
        levels: of quasi-identifiers, by the names that these have where rows are put together.
        keys_are_texts: whether some keys may be UUIDs in several spellings, or texts that a collation takes for the
            same: they are compared by the bytes of one spelling then.
    """

    engine: Engine
    opened: OpenedTables
    outputs: Mapping[str, exp.Expr]
    levels: Mapping[str, int]
    keys_are_texts: bool = False

    def verified(self, counts: Sequence[TableCounts] | None = None, *, promise: bool = True) -> TablesVerification:
        """Return what is found in the tables; with ``counts``, whether they have the rows that were found before.

        Without ``promise``, people are not counted.
        """
        of_people = self._of_people()
        rows = {member.name: self._count(member) for member in self.opened.members}
        promises: list[Promise] = []
        of_persons: dict[str, int] = {}
        for events in range(self.opened.policy.km + 1) if promise else ():
            found, joined = self._promise(events)
            promises.append(found)
            of_persons |= joined
        repeated = {f"{member.name}.{name}": n for member in of_people for name, n in self._repeated_keys(member)}
        # With keys that do not repeat, a table all of whose rows were joined to persons has no row that leads nowhere.
        whole = {name for name, n in of_persons.items() if n == rows[name]} if not any(repeated.values()) else set()
        orphans = {member.name: 0 if member.name in whole else self._orphans(member) for member in of_people}
        raw = ((member, self._raw_keys(member, orphans[member.name])) for member in of_people)
        return TablesVerification(
            self.opened.policy.k,
            tuple(promises),
            rows,
            orphans,
            {f"{member.name}.{name}": n for member, keys in raw for name, n in keys},
            repeated,
            {f"{member.name}.{name}": n for member in of_people for name, n in self._foreign(member)},
            tuple(one.name for one in counts or () if rows[one.name] != one.rows_out),
        )

    def _of_people(self) -> list[Member]:
        return [member for member in self.opened.members if member.roles is not None]

    def _output(self, member: Member, alias: str | None = None) -> exp.Expr:
        output = self.outputs[member.name].copy()
        output.set("alias", exp.TableAlias(this=sql.identifier(alias or member.name)))
        return output

    def _key_value(self, name: str, table: str | None = None) -> exp.Expr:
        """Return what a key is compared by."""
        value = sql.column(name, table)
        if not self.keys_are_texts:
            return value
        return sql.as_bytes(
            exp.Coalesce(this=sql.cast(_as_uuid(value), "VARCHAR"), expressions=[sql.cast(value, "VARCHAR")])
        )

    def _count(self, member: Member) -> int:
        query = exp.select(sql.count_rows()).from_(self._output(member))
        return int(self.engine.row(query, f"rows of the released {member.name}")[0])

    # 1. The promise

    def _persons(self, member: Member) -> tuple[exp.Expr, list[tuple[exp.Expr, exp.Expr]]]:
        """Return the pseudonym of the person of a row, and the joins that lead to it."""
        path = self.opened.path(member)
        joins: list[tuple[exp.Expr, exp.Expr]] = []
        for own, referred in pairwise(path):
            key = self._key_value(self.opened.referred_column(referred).name, referred.name)
            same = exp.EQ(this=self._key_value(own.reference_column.name, own.name), expression=key)
            joins.append((self._output(referred), same))
        last = path[-1].reference
        if last is None:
            raise TypeError(f"{path[-1].name} names no person")
        return self._key_value(last.name, path[-1].name), joins

    def people(self) -> exp.Query:
        """Return the query of the people of the release, each with what is published of it, as a list in JSON."""
        people = self.opened.people
        if people is not None:
            person, _ = self._persons(people)
            texts = self._texts(people)
            return exp.select(sql.named(person, _PERSON), sql.named(_listed(texts), _CLASS)).from_(self._output(people))
        nothing = sql.named(_listed([]), _CLASS)
        queries = []
        for member in self.opened.events:
            person, joins = self._persons(member)
            query = exp.select(sql.named(person, _PERSON), nothing.copy()).from_(self._output(member))
            for relation, condition in joins:
                query = query.join(relation, on=condition)
            queries.append(query)
        return sql.union_distinct(queries)

    def _texts(self, member: Member) -> list[exp.Expr]:
        """Return what is published of a row, as texts."""
        return [
            sql.cast(sql.column(column.name, member.name), "VARCHAR")
            if self.levels.get(member.names[column.name], 0)
            else sql.qualified(as_text(sql.column(column.name), column), member.name)
            for column in member.quasi_identifiers
        ]

    def events(self) -> exp.Query:
        """Return the query of the events that each person of the release has, as a list of texts in JSON."""
        queries: list[exp.Query] = []
        for member in self.opened.events:
            if not member.quasi_identifiers:
                continue
            person, joins = self._persons(member)
            texts = [sql.literal(member.name), *(text for own in self.opened.path(member) for text in self._texts(own))]
            query = exp.select(sql.named(person, _PERSON), sql.named(_listed(texts), _EVENT)).from_(
                self._output(member)
            )
            for relation, condition in joins:
                query = query.join(relation, on=condition)
            queries.append(query.distinct())
        if not queries:
            nobody = exp.select(sql.named(sql.cast(exp.null(), "VARCHAR"), _PERSON), sql.named(_listed([]), _EVENT))
            queries = [nobody.where(exp.false())]
        return sql.union_all(queries)

    def _promise(self, events: int) -> tuple[Promise, dict[str, int]]:
        """Return what is counted of so many known events; with one, also the rows of each table that have a person."""
        by_event = [member for member in self.opened.events if member.quasi_identifiers] if events == 1 else []
        title = "people who share what is published of them" + (f" and of {counted(events, 'event')}" if events else "")
        query = self._of_single_events(by_event) if by_event else self._of_combinations(events)
        combinations, fewest, too_rare, *rows = self.engine.row(query, title)
        promise = Promise(events, int(combinations), None if fewest is None else int(fewest), int(too_rare))
        return promise, {member.name: int(n or 0) for member, n in zip(by_event, rows, strict=True)}

    def _of_single_events(self, members: Sequence[Member]) -> exp.Query:
        """Return the query of what is counted of people and single events, and of the rows of these tables.

        1. A step for each table: its rows with their keys, the person, and a number for what is published of the person
           and of each event on the way. It is made of the number of the row that it refers to, and of one for what is
           published of its own.
        2. The people who share these numbers.
        """
        known: dict[str, str] = {}
        steps: list[tuple[str, exp.Query]] = []
        events: list[exp.Query] = []
        for member in self._of_people():
            is_referred_to = member is self.opened.people or self.opened.is_referred_to(member)
            if is_referred_to or member in members:
                known[member.name] = f"kanon_known_{len(steps) + 1}"
                steps.append((known[member.name], self._known(member, known, has_key=is_referred_to)))
            if member in members:
                place = sql.named(sql.literal(len(events)), "place")
                events.append(exp.select(place, sql.column("kind"), sql.column(_PERSON)).from_(known[member.name]))
        rows = [
            exp.select(exp.Sum(this=sql.column("n")))
            .from_("combinations")
            .where(exp.EQ(this=sql.column("place"), expression=sql.literal(place)))
            .subquery()
            for place in range(len(events))
        ]
        return sql.query(
            "tables/promise_of_events",
            values={"k": self.opened.policy.k, "rows": rows},
            steps={"events": [*steps, ("events", sql.union_all(events))]},
        )

    def _known(self, member: Member, known: Mapping[str, str], *, has_key: bool) -> exp.Query:
        """Return the rows of a table with what is known of them: key, person, and a number for the rest."""
        joins: list[tuple[exp.Expr, exp.Expr]] = []
        person = self._key_value(member.reference_column.name, member.name)
        kind: exp.Expr | None = None
        if (referred := self.opened.referred(member)) is not None:
            alias = beside(member.name, "kanon_referred")
            same = exp.EQ(this=person, expression=sql.column(_KEY, alias))
            joins.append((sql.aliased(sql.relation(known[referred.name]), alias), same))
            person, kind = sql.column(_PERSON, alias), sql.column("kind", alias)
        if texts := [*map(sql.as_bytes, self._texts(member))]:
            alias = beside(member.name, "kanon_alike")
            labels = [sql.named(text, f"text_{number}") for number, text in enumerate(texts, 1)]
            alike = sql.query(
                "tables/alike", values={"labels": labels, "texts": texts}, relations={"own": self._output(member)}
            )
            is_alike = sql.all_of(sql.same(one.this, sql.column(one.alias, alias)) for one in labels)
            joins.append((alike.subquery(alias), is_alike))
            own, kinds = sql.column("kind", alias), sql.column("kinds", alias)
            kind = own if kind is None else exp.Add(this=exp.Mul(this=kind, expression=kinds), expression=own)
        columns = [sql.named(person, _PERSON), sql.named(sql.literal(0) if kind is None else kind, "kind")]
        if has_key:
            columns.insert(0, sql.named(self._key_value(self.opened.referred_column(member).name, member.name), _KEY))
        return sql.query(
            "tables/known",
            values={"columns": columns},
            relations={"own": self._output(member)},
            joins={"referred": joins},
        )

    def _of_combinations(self, events: int) -> exp.Query:
        """Return the query of what is counted of people and so many events of each."""
        steps: list[tuple[str, exp.Query]] = [("people", self.people())]
        if events:
            steps.append(("events", self.events()))
        names = [f"events_{number}" for number in range(1, events + 1)]
        query = exp.select(sql.named(sql.count_distinct(sql.column(_PERSON, "people")), "people")).from_("people")
        for before, own in zip([None, *names], names, strict=False):
            same = exp.EQ(this=sql.column(_PERSON, own), expression=sql.column(_PERSON, "people"))
            later = (
                [] if before is None else [exp.GT(this=sql.column(_EVENT, own), expression=sql.column(_EVENT, before))]
            )
            query = query.join(sql.aliased(sql.relation("events"), own), on=exp.and_(same, *later))
        query = query.group_by(sql.column(_CLASS, "people"), *(sql.column(_EVENT, own) for own in names))
        return sql.query(
            "tables/promise",
            values={"k": self.opened.policy.k},
            steps={"combinations": [*steps, ("combinations", query)]},
        )

    # 2. Integrity

    def _orphans(self, member: Member) -> int:
        if (referred := self.opened.referred(member)) is None:
            return 0
        same = exp.EQ(
            this=self._key_value(self.opened.referred_column(referred).name, "referred"),
            expression=self._key_value(member.reference_column.name, "own"),
        )
        # No subquery: a name of an outer table in it may be that of a column with fields.
        query = exp.select(sql.count_rows()).from_(self._output(member, "own"))
        query = query.join(self._output(referred, "referred"), on=same, join_type="ANTI")
        return int(self.engine.row(query, f"rows of the released {member.name} that lead to no row")[0])

    # 3. Keys

    def _raw_keys(self, member: Member, orphans: int) -> list[tuple[str, int]]:
        """Return how many values of keys are no pseudonyms.

        A column whose rows all lead to one of a released table has values of its key alone, which is looked at there.
        """
        found = []
        refers = self.opened.referred(member) is not None
        for key in member.keys:
            name = key.column.name
            if refers and not orphans and name == member.reference_column.name:
                found.append((name, 0))
                continue
            wrong = sql.negated(_is_pseudonym(sql.column(name)))
            query = exp.select(sql.count_rows()).from_(self._output(member)).where(wrong)
            (n,) = self.engine.row(query, f"keys of the released {member.name} that are no pseudonyms")
            found.append((name, int(n)))
        return found

    def _repeated_keys(self, member: Member) -> list[tuple[str, int]]:
        policy, found = member.policy, []
        of_rows = [policy.person] if policy.rows == "people" and isinstance(policy.person, str) else []
        for name in [*of_rows, *([policy.key] if policy.key is not None else [])]:
            own = self._key_value(name)
            query = exp.select(exp.Sub(this=sql.count_rows(), expression=sql.count_distinct(own)))
            (n,) = self.engine.row(query.from_(self._output(member)), f"keys of the released {member.name} that repeat")
            found.append((name, int(n)))
        return found

    # 4. Labels

    def _foreign(self, member: Member) -> list[tuple[str, int]]:
        found = []
        for column, hierarchy in zip(member.quasi_identifiers, member.hierarchies, strict=bool(self.levels)):
            level = self.levels[member.names[column.name]]
            if not level:
                continue
            known, is_known = _known_labels(hierarchy, level)
            values: dict[str, sql.Given] = {
                "column": column.name,
                "label": sql.column(column.name),
                "is_known": is_known,
            }
            query = sql.query(
                "verify/labels", values=values, relations={"release": self._output(member), "known": known}
            )
            _, foreign = self.engine.row(query, f"labels of {member.name}.{column.name}")
            found.append((column.name, int(foreign)))
        return found


def _is_pseudonym(value: exp.Expr) -> exp.Expr:
    """Return whether a value is a UUID as pseudonyms are: of version 8, of which databases make no keys."""
    version_and_variant = exp.BitwiseAnd(this=sql.cast(_as_uuid(value), "UHUGEINT"), expression=sql.literal(15 * _ONES))
    is_own = exp.EQ(this=version_and_variant, expression=sql.literal(8 * _ONES))
    return exp.Coalesce(this=is_own, expressions=[exp.false()])


def _as_uuid(value: exp.Expr) -> exp.Expr:
    return exp.TryCast(this=value.copy(), to=exp.DataType.build("UUID"))


def _known_labels(hierarchy: Hierarchy, level: int) -> tuple[exp.Expr, exp.Expr]:
    label = sql.column("label", "published")
    if level == hierarchy.height:
        root = exp.select(sql.named(sql.literal(hierarchy.root), "label")).subquery("known")
        return root, sql.same(sql.column("label", "known"), label)
    lookup = sql.aliased(hierarchy.readable, "known")
    return lookup, sql.same(sql.column(level_name(level), "known"), label)


def _listed(texts: Sequence[exp.Expr]) -> exp.Expr:
    """Return a list of texts as bytes, in JSON: grouping them takes less time than grouping lists."""
    listed = sql.cast(exp.Array(expressions=list(texts)), "VARCHAR[]")
    return sql.as_bytes(sql.cast(exp.Anonymous(this="TO_JSON", expressions=[listed]), "VARCHAR"))
