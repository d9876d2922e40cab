"""The statements that make a release of several tables: people, events, suppression of rare events, released rows.

1. ``kanon_people``: every person with a pseudonym, a number, the number of the class (if it has k people), and the
   published values of the person.
2. ``kanon_left_N``: the rows of each table, with the person of each and with pseudonyms instead of keys. A row gets
   both from the row that it refers to. Kinds of events need numbers if other tables go through them or several events
   are known. Then ``kanon_kinds_N`` has these kinds, and a row has the number instead of its labels.
3. With one known event: leave out kinds that fewer than k people of a class have. The kind of an event contains the
   kind of the event that it goes through. So an event that goes through one that is left out is left out too.
4. With several: ``kanon_events`` has the kinds that each person has. For each combination of at most ``km`` kinds that
   fewer than k people of a class have, leave out its rarest kind for the people who have the combination; then the
   events that go through it. Repeat until no combination is too rare. Leaving out kinds makes other combinations
   rarer, never more frequent. So this ends, and the remaining rows keep the promise: the last round counted them.
5. The rows of each table: those of these people and kinds.

These statements do not use codes: they join and compare published labels.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import Column, make_table
from kanon_sql.engine.equality import looked_up, published_type
from kanon_sql.errors import counted
from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.policy.tables import TablesPolicy, Through
from kanon_sql.release.pseudonyms import canonical_bytes, require_unprofiled
from kanon_sql.release.release import Made
from kanon_sql.release.tables.opened import PERSON, PERSON_NUMBER, Temporary, beside, everybody, of_table, with_numbers
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import shuffled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kanon_sql.engine.keys import Key, Secret
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.tables.opened import KeyColumn, Member, OpenedTables

CLASS, EVENT, THROUGH, PSEUDONYM = "class", "event", "through", "pseudonym"
PSEUDONYM_TYPE = "UUID"
_PSEUDONYMS_TITLE = (
    "A pseudonym is SHA-256 of ${name} and the value (NIST SP 800-56C, one step). ${name} is not shown: bind the bytes "
    "00 00 00 01, followed by HMAC-SHA256 of {domain} by your key"
)
_ROWS, _ROWS_WITH_VALUES, _REFERRED, _ROOM = "rows_of_events", "rows_with_values", "kanon_referred", 1 << 40
"""The numbers of the kinds of events of a table start at a multiple of the last constant."""


@dataclass(frozen=True)
class TableCounts:
    """The number of rows of a table before and after.

    Attributes:
        rows: their kind: people, events, or kept unchanged.
        rows_in: rows of the table.
        of_nobody: rows that lead to no person, or to a person missing from the table of people. Never released.
        rows_out: rows that are released.
        levels: of its quasi-identifiers; level 0 is the original value.
    """

    name: str
    rows: str
    rows_in: int
    of_nobody: int
    rows_out: int
    levels: dict[str, int]

    @property
    def suppressed(self) -> int:
        return self.rows_in - self.of_nobody - self.rows_out


@dataclass
class ReleasedRows:
    """The tables in preparation for a release, at a node of the lattice."""

    opened: OpenedTables
    levels: Mapping[str, int]  # by the names that quasi-identifiers have in joined rows
    key: Key  # of pseudonyms
    # for each table, the number of its rows that lead to a person
    of_people: dict[str, int] = field(default_factory=dict, init=False)
    people_in: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        new = self.opened.engine.temporary_name
        self.people, self._events, self._too_rare = (new(f"kanon_{name}") for name in ("people", "events", "too_rare"))
        self._rows = {member.name: new("kanon_rows") for member in self.opened.members if member.roles is not None}
        self._left = {member.name: new("kanon_left") for member in self.opened.events}
        self.kinds = {one.name: new("kanon_kinds") for one in self._with_kinds if self._is_numbered(one)}
        self._made = Temporary(self.opened.engine)

    @cached_property
    def _with_kinds(self) -> tuple[Member, ...]:
        return tuple(member for member in self.opened.events if member.hierarchies)

    def _is_numbered(self, member: Member) -> bool:
        """Return True if the rows of a table have numbers for their kinds of events instead of labels."""
        return bool(member.hierarchies) and (self.opened.policy.km > 1 or self.opened.is_referred_to(member))

    def make(self) -> None:
        """Find the released people and events. Refuse if the connection profiles its statements, which show the key."""
        require_unprofiled(self.opened.engine)
        self._make_people()
        for member in self.opened.events:
            self._make_rows(member)
        self._leave_out_alone()
        if self.opened.policy.km > 1 and self._with_kinds:
            events = [sql.query("tables/events", relations={_ROWS: self._left[one.name]}) for one in self._with_kinds]
            self._made.make(self._events, sql.union_all(events), "which kinds of events each person has")
            while sum(self._leave_out(number) for number in range(1, self.opened.policy.km + 1)):
                pass
            self._leave_out_rows()

    def close(self) -> None:
        """Drop the tables that were made."""
        self._made.drop("drop intermediate tables")

    # 1. People

    def _make_people(self) -> None:
        opened, people, own = self.opened, self.opened.people, "rows_of_people"
        labels: list[str] = []
        published: list[str] = []
        rows: exp.Expr = everybody(opened)
        if people is not None:
            labels, view = people.labels, self._rows[people.name]
            published = [people.names[column.name] for column in people.published if column != people.reference]
            with_labels = opened.rows(people, *opened.labelled(people, self.levels))
            self._made.make(view, with_labels, f"the rows of {people.name} with their labels", kind="VIEW")
            rows = sql.aliased(view, own)
        named = people or next(member for member in opened.events if isinstance(member.policy.person, str))
        pseudonym, title, secrets = self._pseudonym(sql.column(PERSON, own), named.keys[0], "kanon_person_key")
        query = sql.query(
            "tables/people",
            values={
                "pseudonym": pseudonym,
                "labels": _columns(labels),
                "k": opened.policy.k,
                "is_class": _alike(labels, own, "classes"),
                "columns": _columns(published, own),
            },
            relations={own: rows},
        )
        title = f"the people, with their pseudonyms, and the classes of those released. {title}"
        everyone = opened.engine.temporary_name("kanon_everyone")
        self._made.make(everyone, query, title, secrets)
        self._made.make(self.people, with_numbers(everyone), "a number for each of them", kind="VIEW")
        self.people_in = self._count(self.people, "people in the tables")
        if people is not None:
            self.of_people[people.name] = self.people_in

    def _pseudonym(
        self, value: exp.Expr, key: KeyColumn, placeholder: str
    ) -> tuple[exp.Expr, str, Mapping[str, Secret]]:
        """Return the pseudonym of a key value, with an explanation, and the secret for its placeholder.

        Pseudonyms are equal in all tables of a release, within one domain only. A pseudonym is 120 bits of SHA-256 of a
        key of the domain and the value. This is the one-step key derivation of NIST SP 800-56C (4.1, option 1) from a
        counter, a secret, and the purpose of the derived key. The secret is HMAC-SHA256 of the domain with the key of
        the release, so one domain reveals nothing about another.
        """
        domain = json.dumps(key.domain, ensure_ascii=False)
        hashed = sql.concatenated(exp.Placeholder(this=placeholder), canonical_bytes(key.column, value))
        digits = exp.SHA2(this=hashed, length=sql.literal(256))
        pseudonym = sql.selected("tables/pseudonyms", PSEUDONYM, columns={"digits": digits})
        title = _PSEUDONYMS_TITLE.format(name=placeholder, domain=domain)
        return pseudonym, title, {placeholder: self.key.of_domain(domain)}

    # 2. Kinds, and rows with their kinds

    def _make_rows(self, member: Member) -> None:
        name, labels, rows = member.name, member.labels, self._rows[member.name]
        title = f"the rows of {name} with the person of each, and their labels"
        self._made.make(rows, self._rows_of(member), title, kind="VIEW")
        through = sql.column(THROUGH, _ROWS)
        columns: list[exp.Expr] = [through if labels else sql.named(through, EVENT)]
        others = [column for column in member.published if column not in member.quasi_identifiers]
        columns += _columns([member.names[column.name] for column in others], _ROWS)
        joins: list[tuple[exp.Expr, exp.Expr]] = []
        if self._is_numbered(member):
            query = sql.query(
                "tables/kinds",
                values={"labels": _columns(labels), "first": self._with_kinds.index(member) * _ROOM},
                relations={_ROWS: rows},
            )
            self._made.make(self.kinds[name], query, f"the kinds of events of {name}")
            columns.append(sql.column(EVENT, "kinds"))
            joins = [(sql.aliased(self.kinds[name], "kinds"), _alike([*labels, THROUGH], _ROWS, "kinds"))]
        else:
            columns += _columns(labels, _ROWS)
        title, secrets = f"the rows of {name} with their kinds", None
        if member.own_key is not None:
            placeholder = f"kanon_key_of_table_{self.opened.members.index(member) + 1}"
            own_key = sql.column(member.names[member.own_key.name], _ROWS)
            pseudonym, what, secrets = self._pseudonym(own_key, member.keys[-1], placeholder)
            columns.append(sql.named(pseudonym, PSEUDONYM))
            title = f"{title}, and pseudonyms of {member.policy.key}. {what}"
        query = sql.query(
            "tables/rows_with_kinds",
            values={"columns": columns},
            relations={_ROWS: sql.aliased(rows, _ROWS)},
            joins={"kinds": joins},
        )
        self._made.make(self._left[name], query, title, secrets)
        self.of_people[name] = self._count(self._left[name], f"rows of {name} of people")

    def _rows_of(self, member: Member, *more: exp.Expr) -> exp.Query:
        """Return the query of the rows of a table of events with their own labels, the person of each, and ``more``.

        A row has the pseudonym of the row that it refers to, and its own key, which other tables may refer to.
        """
        opened, names, alias = self.opened, member.names, beside(member.name, _REFERRED)
        referred, key = self.people, PERSON
        through: exp.Expr = sql.cast(exp.null(), "BIGINT")
        if isinstance(member.policy.person, Through):
            further = opened.member(member.policy.person.table)
            referred, key = self._left[further.name], further.names[further.key_column.name]
            through = sql.column(EVENT, alias)
        refers = exp.EQ(this=of_table(member, member.reference.name), expression=sql.column(key, alias))
        columns, lookups = opened.labelled(member, self.levels)
        keys = [sql.named(sql.column(PSEUDONYM, alias), names[member.reference.name])]
        if member.own_key is not None:
            keys.append(sql.named(of_table(member, member.own_key.name), names[member.own_key.name]))
        return sql.query(
            "tables/rows_of_events",
            values={"through": through, "columns": [*keys, *columns, *more]},
            relations={"source": sql.aliased(member.relation, member.name)},
            names={"referred": alias},
            joins={"referred": [(sql.aliased(referred, alias), refers), *lookups]},
        )

    def _count(self, table: exp.Table, title: str) -> int:
        return int(self.opened.engine.row(sql.select_count(table), title)[0])

    # 3. One event known

    def _leave_out_alone(self) -> None:
        k, engine = self.opened.policy.k, self.opened.engine
        rare: dict[str, exp.Table] = {}
        for member in self._with_kinds:
            kind = self._kind(member)
            query = sql.query(
                "tables/too_rare_alone",
                values={
                    "k": k,
                    "kind": _columns(kind),
                    "own_kind": _columns(kind, _ROWS),
                    "is_kind": _alike(kind, _ROWS, "few"),
                },
                relations={_ROWS: sql.aliased(self._left[member.name], _ROWS)},
            )
            title = f"kinds of {member.name} that fewer than {k:,} people of a class have"
            rare[member.name] = make_table(engine, "kanon_too_rare", query, title)
        for member in self.opened.events:
            left = self._left[member.name]
            leave_out = sql.statement("tables/leave_out_people", tables={_ROWS: left})
            engine.run(leave_out, f"leave the rows of {member.name} out of people who are not released")
            if (decides := self.opened.kind_of(member)) is not None:
                leave_out = sql.statement(
                    "tables/leave_out_alone",
                    values={"is_kind": _alike(self._kind(decides), _ROWS, "too_rare")},
                    tables={_ROWS: left, "too_rare": rare[decides.name]},
                )
                engine.run(leave_out, f"leave out rare events of {member.name}")
        for table in rare.values():
            engine.run(sql.drop(table), "drop the list of it")

    def _kind(self, member: Member) -> list[str]:
        """Return the columns of a table's rows that give the kind of each event."""
        return [EVENT] if self._is_numbered(member) else [THROUGH, *member.labels]

    # 4. Several events known

    def _leave_out(self, events: int) -> int:
        """Leave out rare combinations of ``events`` events; return the number of pairs of a person and a kind."""
        engine, k = self.opened.engine, self.opened.policy.k
        together = ["counted", *(f"another_{number}" for number in range(2, events + 1))]
        joins = []
        for before, own in pairwise(together):
            same_person = sql.column(PERSON_NUMBER, own).eq(sql.column(PERSON_NUMBER, "counted"))
            is_another = exp.and_(same_person, sql.column(EVENT, own) > sql.column(EVENT, before))
            joins.append((sql.aliased(sql.relation("counted"), own), is_another))
        rarest: exp.Expr = sql.column(EVENT, "counted")
        if joins:  # the list that is smaller at the first different number comes first
            ranked = [exp.Array(expressions=_columns(["people", EVENT], own)) for own in together]
            rarest = exp.Bracket(this=sql.least(ranked), expressions=[sql.literal(1)], offset=0, safe=False)
        query = sql.query(
            "tables/too_rare",
            values={"rarest": rarest, "events": [sql.column(EVENT, own) for own in together], "k": k},
            relations={"events": self._events},
            joins={"another": joins},
        )
        title = f"what fewer than {k:,} people of a class have of {counted(events, 'known event')}"
        engine.run(sql.create_table(self._too_rare, query, temporary=True), title)
        leave_out = sql.statement("tables/leave_out", tables={"events": self._events, "too_rare": self._too_rare})
        (left_out,) = engine.row(leave_out, "leave out rare people")
        engine.run(sql.drop(self._too_rare), "drop the list of it")
        further = int(left_out)
        if any(self.opened.above(member) is not None for member in self._with_kinds):
            through = sql.statement("tables/leave_out_through", tables={"events": self._events})
            while further:
                (further,) = engine.row(through, "leave out what goes through it")
        return int(left_out)

    def _leave_out_rows(self) -> None:
        for member in self.opened.events:
            if self.opened.kind_of(member) is not None:
                tables = {_ROWS: self._left[member.name], "events": self._events}
                leave_out = sql.statement("tables/leave_out_rows", tables=tables)
                self.opened.engine.run(leave_out, f"leave the rows of {member.name} out that are too rare")

    # Remaining rows

    def people_out(self) -> int:
        """Count the released people; without a table of people, the people with a remaining row."""
        query = exp.select(exp.Count(this=sql.column(CLASS), big_int=True)).from_(self.people.copy())
        if self.opened.people is None:
            people = sql.union_distinct([exp.select(PERSON_NUMBER).from_(left.copy()) for left in self._left.values()])
            query = exp.select(sql.count_rows()).from_(people.subquery("people"))
        return int(self.opened.engine.row(query, "people who are released")[0])

    def rows_out(self, member: Member) -> int:
        if member is self.opened.people:
            return self.people_out()
        return self._count(self._left[member.name], f"rows of {member.name} that are released")

    def left(self, member: Member) -> tuple[exp.Expr, list[tuple[exp.Expr, exp.Expr]], str]:
        """Return the released rows of a table, the joins to their labels, and the relation that has the labels."""
        rows = "rows_of_table"
        if member is self.opened.people:
            is_released = exp.Is(this=sql.column(CLASS), expression=exp.null()).not_()
            return exp.select("*").from_(self.people.copy()).where(is_released).subquery(rows), [], rows
        left = sql.aliased(self._left[member.name], rows)
        if not self._is_numbered(member):
            return left, [], rows
        return left, [(sql.aliased(self.kinds[member.name], "kinds"), _equal(EVENT, "kinds", rows))], "kinds"

    def published_values(self, member: Member, column: Column, hierarchy: Hierarchy) -> exp.Select:
        """Return the rows of the lookup relation of a quasi-identifier whose values occur in released rows."""
        relation, joins, has_labels = self.left(member)
        value = sql.named(looked_up(of_table(member, column.name), column), VALUE)
        is_people = member is self.opened.people
        rows = self.opened.rows(member, [value]) if is_people else self._rows_of(member, value)
        person, kind = (PERSON, []) if is_people else (PERSON_NUMBER, [THROUGH, *member.labels])
        return sql.select(
            "tables/published_values",
            values={
                "is_person": _equal(person, _ROWS_WITH_VALUES, relation.alias),
                "is_kind": _alike(kind, _ROWS_WITH_VALUES, has_labels) if kind else exp.true(),
                "has_value": sql.same(sql.column(VALUE, _ROWS_WITH_VALUES), sql.column(VALUE, "lookup"), column.family),
            },
            relations={
                "lookup": sql.aliased(hierarchy.relation, "lookup"),
                _ROWS_WITH_VALUES: rows.subquery(_ROWS_WITH_VALUES),
                "rows_of_table": relation,
            },
            joins={"needed": joins},
        )

    def counts(self) -> Iterator[TableCounts]:
        """Yield the number of rows of each table, before and after."""
        for member in self.opened.members:
            name, rows_in = member.name, self._count(member.relation, f"rows of {member.name}")
            if member.roles is None:
                yield TableCounts(name, "kept", rows_in, 0, rows_in, {})
                continue
            of_nobody = rows_in - self.of_people[name]
            out = self.rows_out(member)
            yield TableCounts(name, member.policy.rows, rows_in, of_nobody, out, self._levels_of(member))

    # 5. The rows

    def released(self, member: Member, seed: int) -> exp.Select:
        """Return the query of the released rows of a table."""
        if member.roles is None:
            columns = [sql.named(kept_value(column, member.name), column.name) for column in member.published]
            return exp.select(*columns).from_(sql.aliased(member.relation, member.name))
        relation, joins, has_labels = self.left(member)
        rows = relation.alias
        published: list[exp.Expr] = []
        for column in member.published:
            own = sql.column(member.names[column.name], has_labels if column in member.quasi_identifiers else rows)
            if column == member.own_key:
                own = sql.column(PSEUDONYM, rows)
            published.append(sql.named(own, column.name))
        plain = all(column.family != "other" for column in member.published)
        order = shuffled([one.unalias().copy() for one in published], seed, plain=plain)
        return sql.select(
            "tables/released",
            values={"published": published, "order": [order]},
            relations={rows: relation},
            joins={"needed": joins},
        )

    def as_they_are(self, member: Member) -> list[str]:
        """Return the columns of a table that are published unchanged."""
        levels = self._levels_of(member)
        return [one.name for one in member.published if one.name not in member.key_names and not levels.get(one.name)]

    def published_columns(self, member: Member) -> Iterator[Column]:
        """Yield the columns of a released table, with their types."""
        levels = self._levels_of(member)
        for column in member.published:
            kind = "VARCHAR" if levels.get(column.name) else published_type(column)
            yield Column(column.name, PSEUDONYM_TYPE if column.name in member.key_names else kind)

    def _levels_of(self, member: Member) -> dict[str, int]:
        """Return the levels of the quasi-identifiers of a table, by the names of the columns in that table."""
        return {column.name: self.levels[member.names[column.name]] for column in member.quasi_identifiers}


@dataclass(kw_only=True)
class FoundTables(Made[TablesPolicy]):
    """Tables with their released people and events: the input of publishing."""

    opened: OpenedTables
    rows: ReleasedRows = field(init=False)  # the remaining people and events
    counts: tuple[TableCounts, ...] = field(init=False)
    gone: bool = False  # True once the release has replaced its tables


def kept_value(column: Column, table: str) -> exp.Expr:
    own: exp.Expr = sql.column(column.name, table)
    kind = published_type(column)
    return own if kind == column.type else sql.cast(own, kind)


def _columns(names: Sequence[str], relation: str | None = None) -> list[exp.Expr]:
    return [sql.column(name, relation) for name in names]


def _equal(name: str, own: str, other: str) -> exp.EQ:
    return exp.EQ(this=sql.column(name, own), expression=sql.column(name, other))


def _alike(names: Sequence[str], own: str, other: str) -> exp.Expr:
    """Return the condition that rows of two relations have equal values in these columns."""
    return sql.all_of(sql.same(sql.column(name, own), sql.column(name, other)) for name in names)
