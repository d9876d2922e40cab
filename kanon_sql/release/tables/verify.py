"""Verification of released tables, by separate statements that read only these tables and the hierarchies.

1. The promise: count people with the same published values and combinations of at most ``km`` of their events in the
   tables, joined by pseudonyms as a reader would join them.
2. Integrity: every row leads to a released person, and to the row that it goes through.
3. Keys: each is written as a pseudonym, none is NULL, and keys that name persons or rows do not repeat.
4. Labels: each belongs to its level in the hierarchy of its column.
5. Rows: as many as the search counted.
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
    from collections.abc import Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.tables.opened import Member, OpenedTables
    from kanon_sql.release.tables.statements import TableCounts

_ONES = (1 << 76) | (1 << 60)
"""A 1 in the two digits of a UUID that hold its version and its variant: both are 8 in a pseudonym."""
_PERSON, _CLASS, _EVENT, _KEY = "person", "class", "event", "key"


@dataclass(frozen=True)
class Promise:
    """Counts of combinations of a number of known events; with 0 events, of the published values of a person alone.

    ``fewest`` is the number of people who share the rarest combination. ``too_rare`` combinations are shared by fewer
    than k people.
    """

    events: int
    combinations: int
    fewest: int | None
    too_rare: int


_COUNTED = (
    ("orphans", "row", "leads to no released row", "lead to no released row"),
    ("raw_keys", "key", "is no pseudonym", "are no pseudonym"),
    ("repeated_keys", "key", "another row has too", "another row has too"),
    ("foreign_labels", "label", "the hierarchy does not have", "the hierarchy does not have"),
)
_NAMED = {
    "identifying": "an identifying column, which is never published",
    "unforeseen": "a column that the policy does not publish",
    "wrong_rows": "another number of rows than was found before",
}
"""Faults of released tables, by field: counts, and names of columns or tables."""


@dataclass(frozen=True)
class TablesVerification:
    """The findings in released tables, by table or column.

    Attributes:
        orphans: rows that lead to no released row.
        raw_keys: values that are not pseudonyms, including NULL.
        repeated_keys: rows that repeat a value of a column that names persons or rows.
        foreign_labels: labels that the hierarchy does not have at the level of the column.
        schema: of the tables; None if they are files, or in several schemas.
        others: other tables and views of their schemas, or other files of their directory, that the policy does not
            publish. They were not checked, so the promise is not known to hold.
        elsewhere: the number of tables and views of other schemas of the database. They were not checked.
        findings: refusals of the checks of roles and of people (docs/guarantees.md#checks), as sentences.
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
        """The number of people who share the rarest combination of any kind."""
        return min((one.fewest for one in self.promises if one.fewest is not None), default=None)

    @property
    def holds(self) -> bool:
        """True if the tables keep the promise, nothing unknown is beside them, and no check refused them."""
        return not self.fails and not self.others and not self.findings

    @property
    def fails(self) -> bool:
        """True if the tables of the policy break the promise, regardless of other tables beside them."""
        return any(one.too_rare for one in self.promises) or next(self._wrong(), None) is not None

    def _wrong(self) -> Iterator[str]:
        for name, what, of_one, of_several in _COUNTED:
            for of, n in getattr(self, name).items():
                if n:
                    yield f"{of}: {counted(n, what)} that {of_one if n == 1 else of_several}"
        for name, wrong in _NAMED.items():
            yield from (f"{of}: {wrong}" for of in getattr(self, name))

    def problems(self) -> list[str]:
        """Return the faults as sentences."""
        said = [
            f"{counted(one.too_rare, 'combination')} of the published values of a person"
            + (f" and of {counted(one.events, 'known event')}" if one.events else "")
            + f" {'is' if one.too_rare == 1 else 'are'} shared by fewer than {self.k:,} people"
            for one in self.promises
            if one.too_rare
        ]
        said += self._wrong()
        if self.others:
            it = "it" if len(self.others) == 1 else "them"
            number = counted(len(self.others), "table, view or file", "tables, views or files")
            said.append(
                f"not looked at, since the policy does not publish {it}: {', '.join(self.others)} ({number}); drop or "
                f'move {it}, or name {it} in the policy ([tables.NAME], with rows = "kept" if they are about nobody)'
            )
        return [*said, *self.findings]

    def summary(self) -> dict[str, Any]:
        """Return the result as plain values, as ``--format json`` prints it."""
        verdict = {"holds": self.holds, "fails": self.fails}
        return {**asdict(self), **verdict, "fewest": self.fewest, "problems": self.problems()}

    def require(self) -> None:
        """Raise unless everything holds."""
        if not self.holds:
            raise VerificationError(
                f"The release fails its verification: {'; '.join(self.problems())}. It was taken back: please report "
                "this as a bug."
            )


@dataclass(frozen=True)
class ReleasedTables:
    """Released tables as statements read them: the ``outputs`` of ``opened`` tables, and the level of each label.

    ``keys_are_texts`` means that keys may be UUIDs in several spellings, or texts that a collation treats as equal.
    They are then compared by the bytes of one spelling.
    """

    engine: Engine
    opened: OpenedTables
    outputs: Mapping[str, exp.Expr]
    levels: Mapping[str, int]
    keys_are_texts: bool = False

    def verified(self, counts: Sequence[TableCounts] | None = None, *, promise: bool = True) -> TablesVerification:
        """Verify the tables; with ``counts``, also check that they have the rows that the search counted.

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
        # If keys do not repeat and all rows of a table were joined to persons, none of its rows leads nowhere.
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
        """Return the expression by which a key is compared."""
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

    def _with_persons(self, member: Member, *columns: exp.Expr) -> exp.Select:
        """Return the query of the rows of a table, each with the pseudonym of its person, and the given columns."""
        path = self.opened.path(member)
        person = self._key_value(path[-1].reference.name, path[-1].name)
        query = exp.select(sql.named(person, _PERSON), *columns).from_(self._output(member))
        for own, referred in pairwise(path):
            key = self._key_value(referred.key_column.name, referred.name)
            same = exp.EQ(this=self._key_value(own.reference.name, own.name), expression=key)
            query = query.join(self._output(referred), on=same)
        return query

    def people(self) -> exp.Query:
        """Return the query of the people of the release, each with its published values as a list in JSON."""
        if (people := self.opened.people) is not None:
            return self._with_persons(people, sql.named(_listed(self._texts(people)), _CLASS))
        nothing = sql.named(_listed([]), _CLASS)
        return sql.union_distinct([self._with_persons(member, nothing.copy()) for member in self.opened.events])

    def _texts(self, member: Member) -> list[exp.Expr]:
        """Return the published values of a row, as texts."""
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
            if member.quasi_identifiers:
                own = [text for each in self.opened.path(member) for text in self._texts(each)]
                event = sql.named(_listed([sql.literal(member.name), *own]), _EVENT)
                queries.append(self._with_persons(member, event).distinct())
        if not queries:
            nobody = exp.select(sql.named(sql.cast(exp.null(), "VARCHAR"), _PERSON), sql.named(_listed([]), _EVENT))
            queries = [nobody.where(exp.false())]
        return sql.union_all(queries)

    def _promise(self, events: int) -> tuple[Promise, dict[str, int]]:
        """Count combinations of ``events`` known events; for one event, also the rows of each table with a person."""
        by_event = [member for member in self.opened.events if member.quasi_identifiers] if events == 1 else []
        title = "people who share their published values" + (f" and of {counted(events, 'event')}" if events else "")
        query = self._of_single_events(by_event) if by_event else self._of_combinations(events)
        combinations, fewest, too_rare, *rows = self.engine.row(query, title)
        promise = Promise(events, int(combinations), None if fewest is None else int(fewest), int(too_rare))
        return promise, {member.name: int(n or 0) for member, n in zip(by_event, rows, strict=True)}

    def _of_single_events(self, members: Sequence[Member]) -> exp.Query:
        """Return the query that counts people, single events, and the rows of these tables.

        1. A step for each table: its rows with their keys, the person, and a number for the published values of the
           person and of each event on the way. This number is built from the number of the row that the row refers to,
           and from a number for its own published values.
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
        """Return the rows of a table with their known values: key, person, and a number for the rest."""
        joins: list[tuple[exp.Expr, exp.Expr]] = []
        person = self._key_value(member.reference.name, member.name)
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
            columns.insert(0, sql.named(self._key_value(member.key_column.name, member.name), _KEY))
        return sql.query(
            "tables/known",
            values={"columns": columns},
            relations={"own": self._output(member)},
            joins={"referred": joins},
        )

    def _of_combinations(self, events: int) -> exp.Query:
        """Return the query that counts the people who share combinations of ``events`` events."""
        steps: list[tuple[str, exp.Query]] = [("people", self.people())]
        if events:
            steps.append(("events", self.events()))
        names = [f"events_{number}" for number in range(1, events + 1)]
        query = exp.select(sql.named(sql.count_distinct(sql.column(_PERSON, "people")), "people")).from_("people")
        for before, own in zip([None, *names], names, strict=False):
            is_another: exp.Expr = sql.column(_PERSON, own).eq(sql.column(_PERSON, "people"))
            if before is not None:
                is_another = exp.and_(is_another, sql.column(_EVENT, own) > sql.column(_EVENT, before))
            query = query.join(sql.aliased(sql.relation("events"), own), on=is_another)
        query = query.group_by(sql.column(_CLASS, "people"), *(sql.column(_EVENT, own) for own in names))
        steps.append(("combinations", query))
        return sql.query("tables/promise", values={"k": self.opened.policy.k}, steps={"combinations": steps})

    # 2. Integrity

    def _orphans(self, member: Member) -> int:
        if (referred := self.opened.referred(member)) is None:
            return 0
        same = exp.EQ(
            this=self._key_value(referred.key_column.name, "referred"),
            expression=self._key_value(member.reference.name, "own"),
        )
        # No subquery: in it, the name of an outer table could be read as a column with fields.
        query = exp.select(sql.count_rows()).from_(self._output(member, "own"))
        query = query.join(self._output(referred, "referred"), on=same, join_type="ANTI")
        return int(self.engine.row(query, f"rows of the released {member.name} that lead to no row")[0])

    # 3. Keys

    def _raw_keys(self, member: Member, orphans: int) -> list[tuple[str, int]]:
        """Count the values of keys that are not pseudonyms.

        A column whose rows all lead to a row of a released table only has values of that table's key. These are checked
        there.
        """
        found = []
        refers = self.opened.referred(member) is not None
        for key in member.keys:
            name = key.column.name
            if refers and not orphans and name == member.reference.name:
                found.append((name, 0))
                continue
            wrong = sql.negated(_is_pseudonym(sql.column(name)))
            query = exp.select(sql.count_rows()).from_(self._output(member)).where(wrong)
            (n,) = self.engine.row(query, f"keys of the released {member.name} that are no pseudonyms")
            found.append((name, int(n)))
        return found

    def _repeated_keys(self, member: Member) -> Iterator[tuple[str, int]]:
        if (key := member.own_key) is not None:
            query = exp.select(exp.Sub(this=sql.count_rows(), expression=sql.count_distinct(self._key_value(key.name))))
            (n,) = self.engine.row(query.from_(self._output(member)), f"keys of the released {member.name} that repeat")
            yield key.name, int(n)

    # 4. Labels

    def _foreign(self, member: Member) -> Iterator[tuple[str, int]]:
        for column, hierarchy in zip(member.quasi_identifiers, member.hierarchies, strict=bool(self.levels)):
            if level := self.levels[member.names[column.name]]:
                known, is_known = _known_labels(hierarchy, level)
                label = sql.column(column.name)
                query = sql.query(
                    "verify/labels",
                    values={"column": column.name, "label": label, "is_known": is_known},
                    relations={"release": self._output(member), "known": known},
                )
                _, foreign = self.engine.row(query, f"labels of {member.name}.{column.name}")
                yield column.name, int(foreign)


def _is_pseudonym(value: exp.Expr) -> exp.Expr:
    """Return the condition that a value is a UUID of version 8, as pseudonyms are; databases make no such keys."""
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
    """Return a list of texts as bytes, in JSON: grouping bytes is faster than grouping lists."""
    listed = sql.cast(exp.Array(expressions=list(texts)), "VARCHAR[]")
    return sql.as_bytes(sql.cast(exp.Anonymous(this="TO_JSON", expressions=[listed]), "VARCHAR"))
