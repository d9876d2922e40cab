"""The statements that make a release of several tables from their rows: people, events, what is too rare, the rows.

1. ``kanon_people``: the people who are released, each with the number of her class.
2. ``kanon_kinds_N``: the kinds of events of each table, and ``kanon_events``: which of them each person has.
3. What is too rare: of each combination of at most ``km`` kinds of events that fewer than k people of a class have, the
   one that fewest have is left out, for the people who have the combination; then what goes through it. Again, until no
   combination is too rare. What is left out makes other combinations rarer, never more frequent: so it ends, and what
   is left keeps the promise, since the last round counted it.
4. The rows of each table: of these people and events, with pseudonyms for keys.

Nothing here knows of codes: labels are joined and compared as they are published.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import Column
from kanon_sql.engine.equality import published_type
from kanon_sql.errors import counted
from kanon_sql.release.pseudonyms import DIGITS, INNER, OUTER, PSEUDONYM_TYPE, TITLE, keyed_hash, require_unprofiled
from kanon_sql.release.tables.opened import PERSON
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import shuffled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kanon_sql.engine.keys import Key
    from kanon_sql.release.tables.opened import KeyColumn, Member, OpenedTables

EVENT = "event"
_ROOM = 1 << 40
"""Numbers of the kinds of events of a table begin at a multiple of it."""


@dataclass
class ReleasedRows:
    """The tables on the way to a release, at a node of the lattice.

    Attributes:
        opened: the tables.
        levels: of each quasi-identifier, by the names that these have where rows are put together.
    """

    opened: OpenedTables
    levels: Mapping[str, int]

    def __post_init__(self) -> None:
        engine = self.opened.engine
        self.people = engine.temporary_name("kanon_people")
        self.events = engine.temporary_name("kanon_events")
        self._too_rare = engine.temporary_name("kanon_too_rare")
        self.rows = {member.name: engine.temporary_name("kanon_rows") for member in self._members}
        self.kinds = {member.name: engine.temporary_name("kanon_kinds") for member in self._with_kinds}
        self._made: list[tuple[exp.Table, str]] = []
        self._pseudonyms: dict[tuple[str | None, str], exp.Table] = {}

    @property
    def _members(self) -> tuple[Member, ...]:
        people = self.opened.people
        return (*([people] if people is not None else []), *self.opened.events)

    @cached_property
    def _with_kinds(self) -> tuple[Member, ...]:
        return tuple(member for member in self.opened.events if member.hierarchies)

    def make(self) -> None:
        """Find the people and events that are released."""
        self._make_people()
        self._make_events()
        while sum(self._leave_out(events) for events in range(1, self.opened.policy.km + 1)):
            pass

    def close(self) -> None:
        """Drop what was made."""
        for relation, kind in reversed(self._made):
            self.opened.engine.run(sql.drop(relation, kind), "drop what was made on the way")
        self._made.clear()

    def _create(self, statement: exp.Create, title: str) -> None:
        self.opened.engine.run(statement, title)
        table = statement.this
        self._made.append((table, statement.kind or "TABLE"))

    def _make_people(self) -> None:
        opened, k = self.opened, self.opened.policy.k
        for member in self._members:
            view = sql.create_view(self.rows[member.name], opened.labelled_rows(member, self.levels), temporary=True)
            self._create(view, f"the rows of {member.name} with the person of each, and their labels")
        labels = [] if opened.people is None else [sql.column(one.column.name) for one in opened.people.hierarchies]
        query = sql.query(
            "tables/people",
            values={"labels": labels, "k": k},
            relations={"rows_of_people": self.everybody()},
        )
        self._create(sql.create_table(self.people, query, temporary=True), "the people who are released")

    def everybody(self) -> exp.Expr:
        """Return a relation with each person once."""
        people = self.opened.people
        if people is not None:
            return self.rows[people.name].copy()
        persons = [exp.select(PERSON).from_(self.rows[member.name].copy()) for member in self.opened.events]
        first, *others = persons
        everybody: exp.Query = first.distinct()
        for query in others:
            everybody = exp.union(everybody, query, distinct=True, copy=False)
        return everybody.subquery("rows_of_people")

    def _make_events(self) -> None:
        queries = []
        for number, member in enumerate(self._with_kinds):
            labels = [sql.column(one.column.name) for one in self.opened.known_with(member)]
            kinds = sql.query(
                "tables/kinds",
                values={"labels": labels, "first": number * _ROOM},
                relations={"rows_of_events": self.rows[member.name]},
            )
            self._create(
                sql.create_table(self.kinds[member.name], kinds, temporary=True),
                f"the kinds of events of {member.name}",
            )
            queries.append(self._events_of(member))
        if not queries:
            nobody = [sql.named(sql.cast(exp.null(), "BIGINT"), name) for name in ("class", EVENT, "through")]
            person = sql.column(PERSON)
            queries = [exp.select(person, *nobody).from_(self.people.copy()).where(exp.false())]
        events = sql.create_table(self.events, sql.union_all(queries), temporary=True)
        self._create(events, "which kinds of events each person has")

    def _events_of(self, member: Member) -> exp.Query:
        rows, kinds = "rows_of_events", "kinds"
        through = self._goes_through(member)
        joins = [(sql.aliased(self.kinds[member.name], kinds), self._is_kind(member, rows, kinds))]
        reached: exp.Expr = sql.cast(exp.null(), "BIGINT")
        if through is not None:
            joins.append(
                (sql.aliased(self.kinds[through.name], "through_kinds"), self._is_kind(through, rows, "through_kinds"))
            )
            reached = sql.column(EVENT, "through_kinds")
        return sql.query(
            "tables/events",
            values={"event": sql.column(EVENT, kinds), "through": reached},
            tables={"released_people": self.people, rows: self.rows[member.name]},
            joins={kinds: joins},
        )

    def _goes_through(self, member: Member) -> Member | None:
        """Return the table whose kinds of events a row of a table goes through, if there is one."""
        further = self.opened.path(member)[1:]
        return None if not further else self.opened.kind_of(further[0])

    def _is_kind(self, member: Member, rows: str, kinds: str) -> exp.Expr:
        return sql.all_of(
            sql.same(sql.column(one.column.name, rows), sql.column(one.column.name, kinds))
            for one in self.opened.known_with(member)
        )

    def _leave_out(self, events: int) -> int:
        """Leave out what is too rare in combinations of so many events; return of how many people and kinds."""
        engine, k = self.opened.engine, self.opened.policy.k
        others = [f"another_{number}" for number in range(2, events + 1)]
        together = ["counted", *others]
        joins = [
            (sql.aliased(sql.relation("counted"), own), self._is_another(before, own))
            for before, own in zip(together, others, strict=False)
        ]
        ranked = [exp.Array(expressions=[sql.column("people", own), sql.column(EVENT, own)]) for own in together]
        rarest: exp.Expr = sql.column(EVENT, "counted")
        if others:  # the first of two lists is the one whose first number that differs is less
            rarest = exp.Bracket(this=sql.least(ranked), expressions=[sql.literal(1)], offset=0, safe=False)
        query = sql.query(
            "tables/too_rare",
            values={"rarest": rarest, "events": [sql.column(EVENT, own) for own in together], "k": k},
            relations={"events": self.events},
            joins={"another": joins},
        )
        engine.run(
            sql.create_table(self._too_rare, query, temporary=True),
            f"what fewer than {k:,} people of a class have of {counted(events, 'known event')}",
        )
        title = "leave out what is too rare"
        leave_out = sql.statement("tables/leave_out", tables={"events": self.events, "too_rare": self._too_rare})
        (left_out,) = engine.row(leave_out, title)
        engine.run(sql.drop(self._too_rare), "drop the list of it")
        further = int(left_out)
        if any(self._goes_through(member) is not None for member in self._with_kinds):
            while further:
                stranded = sql.statement(
                    "tables/leave_out_through",
                    tables={"events": self.events},
                    relations={},
                )
                whole = next(table for table in stranded.find_all(exp.Table) if table.alias == "whole")
                whole.replace(sql.aliased(self.events, "whole"))
                (further,) = engine.row(stranded, "leave out what goes through it")
        return int(left_out)

    def _is_another(self, before: str, own: str) -> exp.Expr:
        """Return the condition that joins one more event of the same person."""
        person = exp.EQ(this=sql.column(PERSON, own), expression=sql.column(PERSON, "counted"))
        return exp.and_(person, exp.GT(this=sql.column(EVENT, own), expression=sql.column(EVENT, before)))

    # The rows

    def make_pseudonyms(self, key: Key) -> None:
        """Make the pseudonyms of persons, and of rows that others refer to: equal in all tables, in one domain only."""
        engine = self.opened.engine
        require_unprofiled(engine)
        for member in self._members:
            for column in member.keys:
                if column.domain in self._pseudonyms:
                    continue
                owner, values = self._values_of(column)
                table = engine.temporary_name("kanon_pseudonyms")
                # The domain is a JSON array, which ends where it ends: no domain and value read like another pair.
                domain = json.dumps([owner, column.domain[1]], ensure_ascii=False)
                text = exp.DPipe(
                    this=sql.literal(domain), expression=sql.cast(sql.column("value"), "VARCHAR"), safe=True
                )
                message = exp.Encode(this=text, charset=sql.literal("utf-8"))
                pseudonym = exp.Left(this=keyed_hash(message), expression=sql.literal(DIGITS))
                query = exp.select("value", sql.named(pseudonym, "pseudonym")).from_(values.subquery("found"))
                statement = sql.create_table(table, query, temporary=True)
                engine.rows(
                    statement,
                    f"For {owner or 'persons'}: {TITLE}",
                    {INNER: key.inner, OUTER: key.outer},
                )
                self._pseudonyms[column.domain] = table

    def forget_pseudonyms(self) -> None:
        """Drop the pseudonyms, and the values that they stand for."""
        for table in self._pseudonyms.values():
            self.opened.engine.run(sql.drop(table), "drop the pseudonyms")
        self._pseudonyms.clear()

    def _values_of(self, column: KeyColumn) -> tuple[str | None, exp.Select]:
        """Return the table of a domain, and the query of its values."""
        owner, kind = column.domain
        if kind == "people":
            return owner, exp.select(sql.named(sql.column(PERSON), "value")).from_(self.people.copy())
        member = self.opened.member(owner or "")
        key = next(one for one in member.keys if one.domain == column.domain)
        own = sql.column(member.names[key.column.name])
        query = exp.select(sql.named(own, "value")).distinct().from_(self.rows[member.name].copy())
        return owner, query.where(exp.Is(this=own.copy(), expression=exp.null()).not_())

    def left(self, member: Member) -> tuple[exp.Table, list[tuple[exp.Expr, exp.Expr]]]:
        """Return the rows of a table with their labels, and the joins that leave what is released of them."""
        rows_name, opened = "rows_of_table", self.opened
        same_person = exp.EQ(this=sql.column(PERSON, "people"), expression=sql.column(PERSON, rows_name))
        joins: list[tuple[exp.Expr, exp.Expr]] = [(sql.aliased(self.people, "people"), same_person)]
        kind = opened.kind_of(member) if member.policy.rows == "events" else None
        if kind is not None:
            joins.append((sql.aliased(self.kinds[kind.name], "kinds"), self._is_kind(kind, rows_name, "kinds")))
            is_left = exp.and_(
                exp.EQ(this=sql.column(PERSON, "events"), expression=sql.column(PERSON, rows_name)),
                exp.EQ(this=sql.column(EVENT, "events"), expression=sql.column(EVENT, "kinds")),
            )
            joins.append((sql.aliased(self.events, "events"), is_left))
        return sql.aliased(self.rows[member.name], rows_name), joins

    def released(self, member: Member, seed: int) -> exp.Select:
        """Return the query of the rows of a table that are released; made after the pseudonyms."""
        if member.roles is None:
            columns = [sql.named(kept_value(column, member.name), column.name) for column in member.published]
            return exp.select(*columns).from_(sql.aliased(member.relation, member.name))
        keys = {key.column.name: key for key in member.keys}
        relation, joins = self.left(member)
        rows_name = relation.alias
        published: list[exp.Expr] = []
        for column in member.published:
            name = member.names[column.name]
            if column.name not in keys:
                published.append(sql.named(sql.column(name, rows_name), column.name))
                continue
            alias = f"pseudonyms_{len(published) + 1}"
            table = self._pseudonyms[keys[column.name].domain]
            same = exp.EQ(this=sql.column("value", alias), expression=sql.column(name, rows_name))
            joins.append((sql.aliased(table, alias), same))
            published.append(sql.named(sql.column("pseudonym", alias), column.name))
        plain = all(column.family != "other" for column in member.published)
        order = shuffled([one.unalias().copy() for one in published], seed, plain=plain)
        return sql.select(
            "tables/released",
            values={"published": published, "order": [order]},
            relations={rows_name: relation},
            joins={"needed": joins},
        )

    def published_columns(self, member: Member) -> Iterator[Column]:
        """Return the columns of a released table, with their types."""
        keys = {key.column.name for key in member.keys}
        levels = {one.name: self.levels[member.names[one.name]] for one in member.quasi_identifiers}
        for column in member.published:
            labelled = levels.get(column.name, 0) > 0
            kind = PSEUDONYM_TYPE if column.name in keys else "VARCHAR" if labelled else published_type(column)
            yield Column(column.name, kind)


def kept_value(column: Column, table: str) -> exp.Expr:
    own: exp.Expr = sql.column(column.name, table)
    kind = published_type(column)
    return own if kind == column.type else sql.cast(own, kind)
