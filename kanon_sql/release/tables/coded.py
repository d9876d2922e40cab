"""The rows of tables with the numbers of their people, and the codes of the values they are known by, for the search.

    kanon_coded(kanon_key, number, code_0_0, code_1_0, ...)

has a row for each row of a table that leads to a person. ``kanon_key`` is the key by which other rows refer to it.
Columns are numbered by their position in the lattice of all tables, followed by the word of their code. A row that goes
through another one has the number and the codes of that one; rows of people have them from the table of people.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.hierarchy.expressions import VALUE
from kanon_sql.hierarchy.lookup_relation import code_name
from kanon_sql.policy.tables import Through
from kanon_sql.release.tables.opened import PERSON, PERSON_NUMBER, Temporary, beside, everybody, of_table, with_numbers
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.release.tables.opened import Member, OpenedTables

KEY = "kanon_key"
_REFERRED = "kanon_referred"


class CodedTables:
    """Coded rows. Each table is made when it is first needed."""

    def __init__(self, opened: OpenedTables) -> None:
        self.opened = opened
        self._made: dict[str, exp.Table] = {}
        self._relations = Temporary(opened.engine)
        self._columns = [hierarchy.column.name for hierarchy in opened.hierarchies]

    @cached_property
    def people(self) -> exp.Table:
        """A view of the people, each once with a number; with their codes, if there is a table of people."""
        opened, people = self.opened, self.opened.people
        source = everybody(opened) if people is None else opened.raw_rows(people).subquery("source")
        hierarchies = () if people is None else people.hierarchies
        source.set("alias", exp.TableAlias(this=sql.identifier("source")))
        names = {own.column.name: sql.column(own.column.name, "source") for own in hierarchies}
        query = self._query(source, [], [sql.column(PERSON, "source")], hierarchies, names)
        coded, numbered = (opened.engine.temporary_name(f"kanon_persons{name}") for name in ("_coded", ""))
        self._relations.make(coded, query, "the people, and their codes")
        return self._relations.make(numbered, with_numbers(coded), "a number for each of them", kind="VIEW")

    def of(self, member: Member) -> exp.Table:
        """Return the coded rows of a table: a view, or a table if others refer to it."""
        if member is self.opened.people:
            return self.people
        if member.name not in self._made:
            relation = self.opened.engine.temporary_name("kanon_coded")
            kind = "TABLE" if self.opened.is_referred_to(member) else "VIEW"
            title = f"the rows of {member.name} with the number of the person and codes"
            self._made[member.name] = self._relations.make(relation, self._events(member), title, kind=kind)
        return self._made[member.name]

    def drop(self) -> None:
        """Drop the tables and views at the end of the search; a release makes its rows from others."""
        self._relations.drop("drop coded rows")

    def codes(self, hierarchy: Hierarchy) -> list[str]:
        """Return the columns that have the words of the codes of a column."""
        place = self._columns.index(hierarchy.column.name)
        return [f"code_{place}_{word}" for word in range(len(hierarchy.words))]

    def known(self, member: Member) -> list[Hierarchy]:
        """Return the hierarchies of all columns that the rows of a table have codes of."""
        people = self.opened.people
        of_people = () if people is None or people is member else people.hierarchies
        return [*of_people, *self.opened.known_with(member)]

    def _events(self, member: Member) -> exp.Query:
        person = member.policy.person
        further = self.opened.member(person.table) if isinstance(person, Through) else None
        referred, key = (self.people, PERSON) if further is None else (self.of(further), KEY)
        alias = beside(member.name, _REFERRED)
        refers = exp.EQ(this=of_table(member, member.reference.name), expression=sql.column(key, alias))
        columns: list[exp.Expr] = [sql.column(PERSON_NUMBER, alias)]
        if member.own_key is not None:
            columns.append(sql.named(of_table(member, member.own_key.name), KEY))
        others = [one for one in self.known(member) if one.column.name not in member.labels]
        columns += [sql.column(code, alias) for one in others for code in self.codes(one)]
        values = {member.names[one.name]: of_table(member, one.name) for one in member.quasi_identifiers}
        source = sql.aliased(member.relation, member.name)
        return self._query(source, [(sql.aliased(referred, alias), refers)], columns, member.hierarchies, values)

    def _query(
        self,
        source: exp.Expr,
        joins: Sequence[tuple[exp.Expr, exp.Expr]],
        columns: list[exp.Expr],
        hierarchies: tuple[Hierarchy, ...],
        values: dict[str, exp.Column],
    ) -> exp.Query:
        lookups: list[tuple[exp.Expr, exp.Expr]] = []
        for number, own in enumerate(hierarchies):
            alias = beside(source.alias, f"kanon_hierarchy_{number + 1}")
            is_value = sql.same(values[own.column.name], sql.column(VALUE, alias))
            lookups.append((sql.aliased(own.relation, alias), is_value))
            codes = enumerate(self.codes(own))
            columns += [sql.named(sql.column(code_name(word), alias), name) for word, name in codes]
        return sql.query(
            "tables/coded",
            values={"columns": columns},
            relations={"source": source},
            joins={"referred": joins, "hierarchy": lookups},
        )
