"""The statements that make a release of several tables from their rows: people, events, what is too rare, the rows.

1. ``kanon_people``: every person with a number, and with that of her class, if k people are in it.
2. ``kanon_kinds_N``: the kinds of events of each table, and ``kanon_left_N``: its rows, each with its kind in the place
   of its labels, and with the person. A row that goes through another one has the person from that.
3. With one event known, kinds are left out that fewer than k people of a class have. A kind of events contains that of
   the event that it goes through, so that what goes through something that is left out is left out as well.
4. With more, ``kanon_events`` has the kinds that each person has. Of each combination of at most ``km`` of them that
   fewer than k people of a class have, the one that fewest have is left out, for the people who have the combination;
   then what goes through it. Again, until no combination is too rare. What is left out makes other combinations rarer,
   never more frequent: so it ends, and what is left keeps the promise, since the last round counted it.
5. The rows of each table: of these people and kinds, with pseudonyms for keys.

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
from kanon_sql.policy.tables import Through
from kanon_sql.release.pseudonyms import INNER, OUTER, TITLE, keyed_hash, require_unprofiled
from kanon_sql.release.tables.opened import PERSON, PERSON_NUMBER, beside, everybody
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import shuffled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kanon_sql.engine.keys import Key
    from kanon_sql.release.tables.opened import KeyColumn, Member, OpenedTables

CLASS, EVENT, THROUGH = "class", "event", "through"
PSEUDONYM_TYPE = "UUID"
_ROWS, _REFERRED, _ROOM = "rows_of_events", "kanon_referred", 1 << 40
"""Numbers of the kinds of events of a table begin at a multiple of the last one."""


@dataclass
class ReleasedRows:
    """The tables on the way to a release, at a node of the lattice.

    Attributes:
        opened: the tables.
        levels: of each quasi-identifier, by the names that these have where rows are put together.
        of_people: for each table, its rows that lead to a person.
    """

    opened: OpenedTables
    levels: Mapping[str, int]

    def __post_init__(self) -> None:
        engine, people = self.opened.engine, self.opened.people
        members = (*([people] if people is not None else []), *self.opened.events)
        self.people = engine.temporary_name("kanon_people")
        self._events = engine.temporary_name("kanon_events")
        self._too_rare = engine.temporary_name("kanon_too_rare")
        self._rows = {member.name: engine.temporary_name("kanon_rows") for member in members}
        self._left = {member.name: engine.temporary_name("kanon_left") for member in self.opened.events}
        self.kinds = {member.name: engine.temporary_name("kanon_kinds") for member in self._with_kinds}
        self.of_people: dict[str, int] = {}
        self._made: list[tuple[exp.Table, str]] = []
        self._pseudonyms: dict[tuple[str | None, str], exp.Table] = {}

    @cached_property
    def _with_kinds(self) -> tuple[Member, ...]:
        return tuple(member for member in self.opened.events if member.hierarchies)

    def make(self) -> None:
        """Find the people and events that are released."""
        self._make_people()
        for member in self.opened.events:
            self._make_rows(member)
        self._leave_out_alone()
        if self.opened.policy.km > 1 and self._with_kinds:
            self._make_events()
            while sum(self._leave_out(events) for events in range(1, self.opened.policy.km + 1)):
                pass
            self._leave_out_rows()

    def close(self) -> None:
        """Drop what was made."""
        for relation, kind in reversed(self._made):
            self.opened.engine.run(sql.drop(relation, kind), "drop what was made on the way")
        self._made.clear()

    def _create(self, statement: exp.Create, title: str) -> None:
        self.opened.engine.run(statement, title)
        self._made.append((statement.this, statement.kind or "TABLE"))

    # 1. People

    def _make_people(self) -> None:
        opened, people = self.opened, self.opened.people
        labels: list[str] = []
        rows: exp.Expr = everybody(opened)
        if people is not None:
            labels = [one.column.name for one in people.hierarchies]
            own = self._rows[people.name]
            with_labels = opened.rows(people, *opened.labelled(people, self.levels))
            self._create(
                sql.create_view(own, with_labels, temporary=True), f"the rows of {people.name} with their labels"
            )
            rows = sql.aliased(own, "rows_of_people")
        is_class = sql.all_of(
            sql.same(sql.column(name, "rows_of_people"), sql.column(name, "classes")) for name in labels
        )
        query = sql.query(
            "tables/people",
            values={"labels": [sql.column(name) for name in labels], "k": opened.policy.k, "is_class": is_class},
            relations={"rows_of_people": rows},
        )
        self._create(
            sql.create_table(self.people, query, temporary=True), "the people, and the classes of those released"
        )
        if people is not None:
            self.of_people[people.name] = self._count(self.people, "people in the tables")

    # 2. Kinds, and rows with their kinds

    def _make_rows(self, member: Member) -> None:
        rows = self._rows[member.name]
        view = sql.create_view(rows, self._rows_of(member), temporary=True)
        self._create(view, f"the rows of {member.name} with the person of each, and their labels")
        labels = [one.column.name for one in member.hierarchies]
        others = [sql.column(name, _ROWS) for name in self._unlabelled(member)]
        event, through, joins = sql.column(THROUGH, _ROWS), _no_kind(), []
        if labels:
            kinds = sql.query(
                "tables/kinds",
                values={
                    "labels": [sql.column(name) for name in labels],
                    "first": self._with_kinds.index(member) * _ROOM,
                },
                relations={_ROWS: rows},
            )
            self._create(
                sql.create_table(self.kinds[member.name], kinds, temporary=True),
                f"the kinds of events of {member.name}",
            )
            event, through = sql.column(EVENT, "kinds"), sql.column(THROUGH, _ROWS)
            alike = [sql.same(sql.column(name, _ROWS), sql.column(name, "kinds")) for name in (*labels, THROUGH)]
            joins = [(sql.aliased(self.kinds[member.name], "kinds"), sql.all_of(alike))]
        query = sql.query(
            "tables/rows_with_kinds",
            values={"event": event, "through": through, "columns": others},
            relations={_ROWS: sql.aliased(rows, _ROWS)},
            joins={"kinds": joins},
        )
        left = self._left[member.name]
        self._create(sql.create_table(left, query, temporary=True), f"the rows of {member.name} with their kinds")
        self.of_people[member.name] = self._count(left, f"rows of {member.name} of people")

    def _rows_of(self, member: Member) -> exp.Query:
        """Return the query of the rows of a table of events with their own labels, and the person of each."""
        opened = self.opened
        person = member.policy.person
        referred, key, through = self.people, PERSON, _no_kind()
        alias = beside(member.name, _REFERRED)
        if isinstance(person, Through):
            further = opened.member(person.table)
            referred, key = self._left[further.name], further.names[further.key_column.name]
            through = sql.column(EVENT, alias)
        own = sql.column(member.reference_column.name, member.name)
        refers = exp.EQ(this=own, expression=sql.column(key, alias))
        columns, lookups = opened.labelled(member, self.levels)
        return sql.query(
            "tables/rows_of_events",
            values={"through": through, "columns": columns},
            relations={"source": sql.aliased(member.relation, member.name)},
            names={"referred": alias},
            joins={"referred": [(sql.aliased(referred, alias), refers), *lookups]},
        )

    def _unlabelled(self, member: Member) -> list[str]:
        """Return what is published of a row of events beside its labels."""
        labelled = {column.name for column in member.quasi_identifiers}
        return [member.names[column.name] for column in member.published if column.name not in labelled]

    def _count(self, table: exp.Table, title: str) -> int:
        return int(self.opened.engine.row(sql.select_count(table), title)[0])

    # 3. One event known

    def _leave_out_alone(self) -> None:
        k = self.opened.policy.k
        rare = [
            sql.query("tables/too_rare_alone", values={"k": k}, relations={_ROWS: self._left[member.name]})
            for member in self._with_kinds
        ] or [exp.select(sql.named(_no_kind(), CLASS), sql.named(_no_kind(), EVENT)).limit(0)]
        title = f"kinds of events that fewer than {k:,} people of a class have"
        self.opened.engine.run(sql.create_table(self._too_rare, sql.union_all(rare), temporary=True), title)
        for member in self.opened.events:
            statement = sql.statement(
                "tables/leave_out_alone", tables={_ROWS: self._left[member.name], "too_rare": self._too_rare}
            )
            self.opened.engine.run(statement, f"leave out what is too rare of {member.name}")
        self.opened.engine.run(sql.drop(self._too_rare), "drop the list of it")

    # 4. Several events known

    def _make_events(self) -> None:
        queries = [
            sql.query("tables/events", relations={_ROWS: self._left[member.name]}) for member in self._with_kinds
        ]
        events = sql.create_table(self._events, sql.union_all(queries), temporary=True)
        self._create(events, "which kinds of events each person has")

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
            relations={"events": self._events},
            joins={"another": joins},
        )
        engine.run(
            sql.create_table(self._too_rare, query, temporary=True),
            f"what fewer than {k:,} people of a class have of {counted(events, 'known event')}",
        )
        title = "leave out what is too rare"
        leave_out = sql.statement("tables/leave_out", tables={"events": self._events, "too_rare": self._too_rare})
        (left_out,) = engine.row(leave_out, title)
        engine.run(sql.drop(self._too_rare), "drop the list of it")
        further = int(left_out)
        if any(self._goes_through(member) is not None for member in self._with_kinds):
            while further:
                stranded = sql.statement(
                    "tables/leave_out_through",
                    tables={"events": self._events},
                    relations={},
                )
                whole = next(table for table in stranded.find_all(exp.Table) if table.alias == "whole")
                whole.replace(sql.aliased(self._events, "whole"))
                (further,) = engine.row(stranded, "leave out what goes through it")
        return int(left_out)

    def _is_another(self, before: str, own: str) -> exp.Expr:
        """Return the condition that joins one more event of the same person."""
        person = exp.EQ(this=sql.column(PERSON_NUMBER, own), expression=sql.column(PERSON_NUMBER, "counted"))
        return exp.and_(person, exp.GT(this=sql.column(EVENT, own), expression=sql.column(EVENT, before)))

    def _goes_through(self, member: Member) -> Member | None:
        """Return the table whose kinds of events a row of a table goes through, if there is one."""
        further = self.opened.path(member)[1:]
        return None if not further else self.opened.kind_of(further[0])

    def _leave_out_rows(self) -> None:
        for member in self.opened.events:
            if self.opened.kind_of(member) is not None:
                statement = sql.statement(
                    "tables/leave_out_rows", tables={_ROWS: self._left[member.name], "events": self._events}
                )
                self.opened.engine.run(statement, f"leave the rows of {member.name} out that are too rare")

    # What is left

    def people_out(self) -> int:
        """Return how many people are released."""
        query = exp.select(exp.Count(this=sql.column(CLASS), big_int=True)).from_(self.people.copy())
        return int(self.opened.engine.row(query, "people who are released")[0])

    def people_in(self) -> int:
        return self._count(self.people, "people in the tables")

    def rows_out(self, member: Member) -> int:
        """Return how many rows of a table are released."""
        if member is self.opened.people:
            return self.people_out()
        return self._count(self._left[member.name], f"rows of {member.name} that are released")

    def left(self, member: Member) -> tuple[exp.Expr, list[tuple[exp.Expr, exp.Expr]], str]:
        """Return the rows of a table that are released; the joins to their labels; and which of these has them."""
        rows = "rows_of_table"
        joins: list[tuple[exp.Expr, exp.Expr]] = []
        if member is self.opened.people:
            same = exp.EQ(this=sql.column(PERSON, "people"), expression=sql.column(PERSON, rows))
            is_released = exp.Is(this=sql.column(CLASS, "people"), expression=exp.null()).not_()
            joins.append((sql.aliased(self.people, "people"), exp.and_(same, is_released)))
            return sql.aliased(self._rows[member.name], rows), joins, rows
        if not member.hierarchies:
            return sql.aliased(self._left[member.name], rows), joins, rows
        same = exp.EQ(this=sql.column(EVENT, "kinds"), expression=sql.column(EVENT, rows))
        joins.append((sql.aliased(self.kinds[member.name], "kinds"), same))
        return sql.aliased(self._left[member.name], rows), joins, "kinds"

    # 5. The rows

    def make_pseudonyms(self, key: Key) -> None:
        """Make the pseudonyms of persons, and of rows that others refer to: equal in all tables, in one domain only."""
        engine = self.opened.engine
        require_unprofiled(engine)
        people = self.opened.people
        for member in (*([people] if people is not None else []), *self.opened.events):
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
                query = sql.query(
                    "tables/pseudonyms",
                    values={"keyed_hash": keyed_hash(message)},
                    relations={"values_of_key": values.subquery("values_of_key")},
                )
                engine.rows(
                    sql.create_table(table, query, temporary=True),
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
        """Return the table of a domain, and the query of its values, each once."""
        owner, kind = column.domain
        if kind == "people":
            released = exp.Is(this=sql.column(CLASS), expression=exp.null()).not_()
            return owner, exp.select(sql.named(sql.column(PERSON), "value")).from_(self.people.copy()).where(released)
        member = self.opened.member(owner or "")
        key = next(one for one in member.keys if one.domain == column.domain)
        own = sql.column(member.names[key.column.name])
        return owner, exp.select(sql.named(own, "value")).from_(self._left[member.name].copy())

    def released(self, member: Member, seed: int) -> exp.Select:
        """Return the query of the rows of a table that are released; made after the pseudonyms."""
        if member.roles is None:
            columns = [sql.named(kept_value(column, member.name), column.name) for column in member.published]
            return exp.select(*columns).from_(sql.aliased(member.relation, member.name))
        keys = {key.column.name: key for key in member.keys}
        labelled = {column.name for column in member.quasi_identifiers}
        relation, joins, has_labels = self.left(member)
        rows_name = relation.alias
        published: list[exp.Expr] = []
        for column in member.published:
            name = member.names[column.name]
            if column.name not in keys:
                own = sql.column(name, has_labels if column.name in labelled else rows_name)
                published.append(sql.named(own, column.name))
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


def _no_kind() -> exp.Expr:
    return sql.cast(exp.null(), "BIGINT")
