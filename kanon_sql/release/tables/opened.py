"""The tables of a policy in their database: roles, hierarchies, keys, and the rows of each with the person of each.

In joined rows, the name of a column includes its table: ``visits.day``. The attacker knows an event with the published
values of the events that it goes through: a prescription with its own quasi-identifiers and those of its visit.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.base import Closing, Column, closed_on_error, resolve_columns
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.equality import require_identity
from kanon_sql.engine.sources.open_source import OpenDatabase, Source, open_tables
from kanon_sql.engine.sources.reading import read_from, text_reader
from kanon_sql.engine.warehouse.workbench import Workbench
from kanon_sql.errors import UsageError, counted, in_policy_file
from kanon_sql.hierarchy.given import make_hierarchies
from kanon_sql.hierarchy.vocabulary import is_number, parts_of_name
from kanon_sql.policy.gate import pass_before
from kanon_sql.policy.roles import NamedColumns, Roles, assign_roles
from kanon_sql.policy.tables import Through
from kanon_sql.release.pseudonyms import require_canonical
from kanon_sql.release.statements.full_domain import labelled
from kanon_sql.release.tables.views import views_of_release
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.keys import Secret
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.policy.tables import TablePolicy, TablesPolicy

PERSON, PERSON_NUMBER = "kanon_person", "number"
_PEOPLE = "people"
_BITS_OF_A_KEY, _MOST_BITS = 64, 10**9
"""Bits for integers between the minimum and the maximum: as many as a key takes, and the limit of BITSTRING_AGG."""
_VIEWS = {"VIEW", "MATERIALIZED VIEW"}


@dataclass(frozen=True)
class KeyColumn:
    """A column that names persons or rows, and is published as pseudonyms."""

    column: Column
    # table and kind of its values; the table is None for persons if no table has one row for each
    domain: tuple[str | None, str]


@dataclass(frozen=True)
class Member:
    """One of the tables."""

    policy: TablePolicy
    source: Source
    roles: Roles | None  # of its columns; None for a table that is kept unchanged
    # of its quasi-identifiers, with their names in joined rows
    hierarchies: tuple[Hierarchy, ...]
    keys: tuple[KeyColumn, ...]
    names: Mapping[str, str]  # names of its columns in joined rows

    @property
    def name(self) -> str:
        return self.policy.name

    @property
    def relation(self) -> exp.Table:
        return self.source.relation

    @property
    def published(self) -> tuple[Column, ...]:
        """Its published columns, in their order."""
        if self.roles is None:
            return self.source.columns
        left_out = {column.name for column in (*self.roles.identifying, *self.roles.dropped)}
        left_out -= {*self.key_names}
        return tuple(column for column in self.source.columns if column.name not in left_out)

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(key.column.name for key in self.keys)

    @property
    def labels(self) -> list[str]:
        """The names of its quasi-identifiers in joined rows."""
        return [hierarchy.column.name for hierarchy in self.hierarchies]

    @property
    def quasi_identifiers(self) -> tuple[Column, ...]:
        return () if self.roles is None else self.roles.quasi_identifiers

    @property
    def reference(self) -> Column:
        """The column that leads to the person, or to the row that does; the first of its keys."""
        return self.keys[0].column

    @property
    def own_key(self) -> Column | None:
        """The key of its rows, to which other tables refer."""
        return next((key.column for key in self.keys if key.domain[0] == self.name), None)

    @property
    def key_column(self) -> Column:
        """The key of its rows, for a table that others refer to."""
        if (found := self.own_key) is None:
            raise TypeError(f"{self.name} has no key")
        return found


@dataclass(frozen=True)
class OpenedTables(Closing):
    """The tables of a policy, ready for the search."""

    engine: DuckDBEngine
    place: str  # the name of the database in messages
    policy: TablesPolicy
    members: tuple[Member, ...]  # people first, each table after those that it goes through; no dropped tables
    schema: str | None = None  # of released tables; None if they are files
    # beside released tables: tables and views of their schemas, or files of their directory, that the policy does not
    # publish; without views that show only released tables
    not_in_policy: tuple[str, ...] = ()
    # beside released tables: the number of tables and views of other schemas
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    dropped: tuple[exp.Table, ...] = ()
    file: Path | None = None  # of a DuckDB database that was opened by its path

    def close(self) -> None:
        self.engine.close()

    @property
    def people(self) -> Member | None:
        """The table that has a row for each person, if there is one."""
        return next((member for member in self.members if member.policy.rows == _PEOPLE), None)

    @property
    def events(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.policy.rows == "events")

    @property
    def hierarchies(self) -> list[Hierarchy]:
        """The hierarchies of all quasi-identifiers, in the order of the lattice."""
        return [hierarchy for member in self.members for hierarchy in member.hierarchies]

    def member(self, name: str) -> Member:
        return next(member for member in self.members if member.name == name)

    def place_of(self, table: exp.Table) -> tuple[str, str]:
        """Return the schema and the name of a table of the database."""
        return table.db or self.engine.current_schema(), table.name

    def path(self, member: Member) -> list[Member]:
        """Return a table and those that it goes through, up to the table that has the person."""
        return [self.member(table.name) for table in self.policy.path(member.policy)]

    def referred(self, member: Member) -> Member | None:
        """Return the table that the rows of a table refer to: the one that they go through, or the table of people."""
        person = member.policy.person
        if isinstance(person, Through):
            return self.member(person.table)
        return None if member is self.people else self.people

    def known_with(self, member: Member) -> list[Hierarchy]:
        """Return the hierarchies by which an event is known: its own, and those of the events that it goes through."""
        return [hierarchy for own in self.path(member) for hierarchy in own.hierarchies]

    def kind_of(self, member: Member) -> Member | None:
        """Return the table whose kinds of events decide about a row: its own, or the next one that has kinds."""
        return next((own for own in self.path(member) if own.quasi_identifiers), None)

    def above(self, member: Member) -> Member | None:
        """Return the table whose kinds of events the rows of a table go through, if any."""
        return next((own for own in self.path(member)[1:] if own.quasi_identifiers), None)

    def is_referred_to(self, member: Member) -> bool:
        """Return True if events of another table go through the events of this one."""
        return any(self.referred(own) is member for own in self.events)

    def rows(
        self, member: Member, columns: Sequence[exp.Expr], lookups: Sequence[tuple[exp.Expr, exp.Expr]] = ()
    ) -> exp.Select:
        """Return the query of the rows of a table with the person of each, and ``lookups`` joined.

        Columns of the table, and of the tables that lead from it to the person, are qualified by table names.
        """
        path, joins = [member], []
        while (referred := self.referred(path[-1])) is not None:
            own, key = of_table(path[-1], path[-1].reference.name), referred.key_column.name
            joins.append((sql.aliased(referred.relation, referred.name), own.eq(of_table(referred, key))))
            path.append(referred)
        return sql.select(
            "tables/rows",
            values={"person": of_table(path[-1], path[-1].reference.name), "columns": list(columns)},
            relations={"source": sql.aliased(member.relation, member.name)},
            joins={"referred": [*joins, *lookups]},
        )

    def raw_rows(self, member: Member) -> exp.Select:
        """Return the rows of a table with the values that form its classes."""
        owners = {own.name: own for own in (self.people or member, *self.path(member))}.values()
        columns = [(own, column.name) for own in owners for column in own.quasi_identifiers]
        return self.rows(member, [sql.named(of_table(own, name), own.names[name]) for own, name in columns])

    def labelled(
        self, member: Member, levels: Mapping[str, int]
    ) -> tuple[list[exp.Expr], list[tuple[exp.Expr, exp.Expr]]]:
        """Return the published columns of a table without keys, with labels for values; and the joins to the labels."""
        hierarchies = dict(zip(member.labels, member.hierarchies, strict=True))
        kept = [one for one in member.published if one not in member.quasi_identifiers]
        columns = [*member.quasi_identifiers, *(one for one in kept if one.name not in member.key_names)]
        lookups = {name: sql.aliased(one.readable, name) for name, one in hierarchies.items()}
        named = [(column, member.names[column.name]) for column in columns]
        return labelled(named, hierarchies, levels, lookups, member.name)


class Temporary:
    """Temporary tables and views, in the order of their dependencies, which are dropped together."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._made: list[tuple[exp.Table, str]] = []

    def make(
        self,
        name: exp.Table,
        query: exp.Query,
        title: str,
        secrets: Mapping[str, Secret] | None = None,
        kind: str = "TABLE",
    ) -> exp.Table:
        statement = (sql.create_view if kind == "VIEW" else sql.create_table)(name, query, temporary=True)
        if secrets:
            self._engine.rows(statement, title, secrets)
        else:
            self._engine.run(statement, title)
        self._made.append((name, kind))
        return name

    def drop(self, title: str) -> None:
        while self._made:
            self._engine.run(sql.drop(*self._made.pop()), title)


def everybody(opened: OpenedTables) -> exp.Subquery:
    if opened.people is not None:
        return opened.rows(opened.people, []).subquery("rows_of_people")
    return sql.union_distinct([opened.rows(member, []) for member in opened.events]).subquery("rows_of_people")


def with_numbers(people: exp.Table) -> exp.Select:
    """Return the query of the rows of a table of people, each with its position there as a number."""
    return exp.select(sql.named(sql.column("rowid"), PERSON_NUMBER), "*").from_(people.copy())


def beside(name: str, wanted: str) -> str:
    """Return the wanted name of a relation, or another name if a relation has that name."""
    return f"{wanted}_" if folded(name) == folded(wanted) else wanted


def of_table(member: Member, column: str) -> exp.Column:
    return sql.column(column, member.name)


def open_policy(source: object, policy: TablesPolicy, resources: Resources | None = None) -> OpenedTables:
    """Open the tables of a policy in their database. Refuse tables to which the policy cannot be applied."""
    database = _database(source, resources, "clinic.duckdb, or postgresql://...")
    with closed_on_error(database.engine):
        tables = _sources(database, policy.tables)
        _require_all(database, tables)
        columns = [(name, column.name) for name, own in tables.items() for column in own.columns]
        names = dict(zip(columns, unused_names([".".join(pair) for pair in columns], [PERSON, *tables]), strict=True))
        members = tuple(
            _said_of(one.name, partial(_member, policy, one, tables[one.name], one.columns, names))
            for one in _in_order(policy)
        )
        dropped = tuple(tables[table.name].relation for table in policy.tables if table.rows == "dropped")
        opened = OpenedTables(database.engine, database.place, policy, members, dropped=dropped, file=database.file)
        refers = _declared_references(database, opened)
        _require_own_rows(opened)
        checked = (_said_of(member.name, partial(_checked, opened, member, refers)) for member in members)
        return replace(opened, members=tuple(checked))


def _said_of(name: str, made: Callable[[], Member]) -> Member:
    """Return a member. Errors name the table, and settings of kanon.toml, because options are for one table."""
    try:
        return made()
    except UsageError as error:
        said = in_policy_file(error.args[0])
        raise type(error)(said if name in said else f"{name}: {said}") from None


def _require_own_rows(opened: OpenedTables) -> None:
    """Raise if a table that is kept unchanged is a view: it could show rows of people under other names."""
    for member in opened.members:
        if member.roles is None and "VIEW" in (member.source.holder.kind_of(member.relation) or ""):
            raise UsageError(
                f'{member.name} is a view, and is kept as it is (rows = "kept"): it could show rows of people under '
                'other names. Say whose rows it has (person = ...), drop it (rows = "dropped"), or make a table of '
                "what is about nobody."
            )


def _database(source: object, resources: Resources | None, example: str) -> OpenDatabase:
    if (opened := open_tables(source, resources)) is None:
        raise UsageError(f"Several tables are in one DuckDB file or PostgreSQL database: name it ({example}).")
    return opened


def _member(
    policy: TablesPolicy,
    table: TablePolicy,
    source: Source,
    columns: NamedColumns,
    names: Mapping[tuple[str, str], str],
) -> Member:
    """Return a table with the roles of its columns, without hierarchies yet."""
    own = {one.name: names.get((table.name, one.name), f"{table.name}.{one.name}") for one in source.columns}
    member = Member(table, source, None, (), (), own)
    if table.rows == "kept":
        return member
    keys = tuple(_keys(table, policy, source))
    named = replace(columns, pseudonymize=tuple(key.column.name for key in keys))
    return replace(member, keys=keys, roles=assign_roles(named, source.columns, source.name, may_have_none=True))


def _checked(opened: OpenedTables, member: Member, refers: Mapping[tuple[str, str], str]) -> Member:
    """Return a table with its hierarchies. Refuse columns and keys that cannot be released."""
    source, of_keys = member.source, [key.column for key in member.keys]
    hierarchies: tuple[Hierarchy, ...] = ()
    if member.roles is not None:
        if isinstance(source.engine, Workbench):  # published columns only, by one scan there
            source.engine.bring_rows(source.relation, member.published)
        require_canonical(of_keys)
        pass_before(source, member.policy, member.roles)
        require_identity(opened.engine, source.relation, [*member.quasi_identifiers, *of_keys])
        made = make_hierarchies(source, member.quasi_identifiers, member.policy)
        hierarchies = tuple(
            replace(one, column=replace(one.column, name=member.names[one.column.name])) for one in made
        )
    _require_no_keys(opened, member, refers)
    if member.roles is not None:
        _require_keys(opened, member)
    return replace(member, hierarchies=hierarchies)


def _sources(
    opened: OpenDatabase, tables: Iterable[TablePolicy], schema: str | None = None, *, released: bool = False
) -> dict[str, Source]:
    """Return tables of a policy by their names: originals, or released ones of a schema.

    A released table has its name in the policy, or that name without a prefix that may be the schema of its original.
    """
    where, views = schema or opened.schema, [place for kind in _VIEWS for place in opened.relations(kind)]
    there = opened.relations() if released else [*opened.tables, *views]
    found = {}
    for table in tables:
        names = _names(table.name) if released else [table.name]
        wanted = [f"{where}.{name}" for name in names] + ([table.name] if schema is None else [])
        place = next(filter(None, (_called(name, there, opened) for name in wanted)), None)
        if place is None:
            in_schema = opened.place if schema is None else f"schema {schema!r} of {opened.place}"
            known = ", ".join(sorted(map(opened.name, opened.tables))) or "none"
            fix = "Say where the released tables are (--schema NAME)." if released else f"It has {known}."
            raise UsageError(f"{in_schema} has no table {names[-1]!r}. {fix}")
        if isinstance(opened.engine, Workbench):
            found[table.name] = replace(opened.source(place), name=table.name)
        else:  # with its schema, a released table is not confused with a step of a statement that has the same name
            relation = sql.relation(*reversed(place)) if released else opened.relation(place)
            found[table.name] = Source(opened.engine, relation, table.name)
    return found


def _called(name: str, there: Sequence[tuple[str, str]], opened: OpenDatabase) -> tuple[str, str] | None:
    """Find a table that is called ``schema.name``: first as written, then in another case."""
    found = [place for place in there if folded(".".join(place)) == folded(name)]
    found = [place for place in found if ".".join(place) == name] or found
    if len(found) > 1:
        raise UsageError(
            f"{name!r} names {len(found)} tables of {opened.place}: write it as the database does, which tells upper "
            "case and lower case apart."
        )
    return next(iter(found), None)


def _require_all(opened: OpenDatabase, tables: Mapping[str, Source]) -> None:
    """Raise if a schema of the tables has other tables that are not in the policy."""
    named = {(source.relation.db or opened.schema, source.relation.name) for source in tables.values()}
    schemas = {schema for schema, _ in named}
    if left := [table for table in opened.tables if table[0] in schemas and table not in named]:
        is_twin = any(folded(".".join(one)) == folded(".".join(other)) for one in left for other in named)
        fix = (
            "Its name differs from that of another table in case only: name views in another schema instead."
            if is_twin
            else 'Give each a section: with rows = "dropped", it is not released.'
        )
        raise UsageError(
            f"The policy says nothing of {counted(len(left), 'table')} of {opened.place}: "
            f"{', '.join(map(opened.name, left))}. {fix}"
        )


def _in_order(policy: TablesPolicy) -> list[TablePolicy]:
    """Sort the tables: people first, then each table after those that it goes through. Dropped tables are omitted."""

    def rank(table: TablePolicy) -> tuple[int, int]:
        return ((_PEOPLE, "events", "kept").index(table.rows), len(policy.path(table)))

    return sorted((table for table in policy.tables if table.rows != "dropped"), key=rank)


def _keys(table: TablePolicy, policy: TablesPolicy, source: Source) -> Iterator[KeyColumn]:
    """Yield the columns of a table that name persons and rows, each once."""
    domain: tuple[str | None, str] = (policy.people.name if policy.people is not None else None, _PEOPLE)
    if isinstance(table.person, Through):
        domain = (table.person.table, "rows")
    for name, of_column in ((table.reference, domain), (table.key, (table.name, "rows"))):
        if name is not None:
            (column,) = resolve_columns([name], source.columns, source.name)
            yield KeyColumn(column, of_column)


def _declared_references(database: OpenDatabase, opened: OpenedTables) -> Mapping[tuple[str, str], str]:
    """Return the columns that refer to a key of the policy by a foreign key of the database, with that key."""
    keys = {
        (folded(member.relation.name), folded(key.column.name)): f"{member.name}.{key.column.name}"
        for member in opened.members
        for key in member.keys
        if key.domain[0] == member.name or key.domain[1] == _PEOPLE
    }
    references = {
        (constraint.table, column): (folded(constraint.referred[1]), folded(referred))
        for constraint in database.holder.constraints()
        if constraint.referred is not None
        for column, referred in zip(constraint.columns, constraint.referred_columns, strict=True)
    }
    # A key may itself refer to a table that is not released. Other columns that refer there have the same numbers.
    for (table, column), referred in references.items():
        if (key := keys.get((folded(table), folded(column)))) is not None:
            keys.setdefault(referred, key)
    return {own: keys[referred] for own, referred in references.items() if referred in keys}


def keys_published(opened: OpenedTables, member: Member, refers: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """Yield the columns of a table that would be published unchanged and have the name of a key or refer to one.

    A table that is kept unchanged may have its own key with such a name, if the name is as generic as "id".
    """
    names = {folded(name) for own in opened.members for name in own.key_names}
    for column in member.published:
        owner = refers.get((member.relation.name, column.name))
        if column in member.quasi_identifiers or column.name in member.key_names:
            continue
        if owner is None and (folded(column.name) not in names or _is_key_of_its_own(member, column)):
            continue
        why = f"refers to {owner}" if owner is not None else "is called like a key of people or of their events"
        yield f"Column {column.name!r} of {member.name} would be published as it is, and {why}"


def _require_no_keys(opened: OpenedTables, member: Member, refers: Mapping[tuple[str, str], str]) -> None:
    if (found := next(keys_published(opened, member, refers), None)) is not None:
        of_people = f"name it as the way of {member.name} to a person (person = ...) or in identifying"
        fix = "keep a view without it" if member.roles is None else of_people
        raise UsageError(f'{found}: {fix}, or drop the table (rows = "dropped").')


def _is_key_of_its_own(member: Member, column: Column) -> bool:
    if member.roles is not None or not is_number(parts_of_name(column.name)):
        return False
    own = sql.column(column.name)
    query = exp.select(exp.Count(this=own), sql.count_distinct(own.copy())).from_(member.relation.copy())
    ((known, values),) = member.source.holder.rows(query, f"does {column.name} tell the rows of {member.name} apart?")
    return int(known) == int(values)


def _counted_values(member: Member, column: Column) -> tuple[int, int, int]:
    """Count the rows of a table, the rows with a value in a column, and the distinct values.

    Dense integers are counted with one bit each, in a tenth of the time.
    """
    engine, own, rows = member.source.engine, sql.column(column.name), exp.Count(this=sql.column(column.name))
    values: exp.Expr = sql.count_distinct(own)
    if column.family == "integer":
        query = exp.select(rows, exp.Min(this=own), exp.Max(this=own)).from_(member.relation.copy())
        known, least, most = engine.row(query, f"{column.name} of {member.name}")
        if known and most - least < min(_BITS_OF_A_KEY * known, _MOST_BITS):
            bits = exp.Anonymous(this="BITSTRING_AGG", expressions=[own, sql.literal(least), sql.literal(most)])
            values = exp.Anonymous(this="BIT_COUNT", expressions=[bits])
    query = exp.select(sql.count_rows(), rows.copy(), values).from_(member.relation.copy())
    everything, known, different = engine.row(query, f"does {column.name} tell the rows of {member.name} apart?")
    return int(everything), int(known), int(different)


def _require_keys(opened: OpenedTables, member: Member) -> None:
    """Raise unless keys are unique, and columns that refer to them have comparable types."""
    name, reference = member.name, member.reference
    for key in (key for key in member.keys if key.domain[0] == name):
        column, is_person = key.column, key.domain[1] == _PEOPLE
        everything, rows, values = _counted_values(member, column)
        if not is_person and everything != rows:
            raise UsageError(
                f"{name}: {counted(everything - rows, 'row')} without a value of {column.name!r}, which is to be its "
                "key: give them one, or leave key out if no other table refers to it."
            )
        if rows != values:
            raise UsageError(
                f"{name}: {rows - values:,} of the {rows:,} values of {column.name!r}, which is to be its "
                f"{'person' if is_person else 'key'}, are repeated: rows that refer to them would be of several."
                + (' Is each row an event (rows = "events")?' if is_person else "")
            )
    owner = opened.referred(member)
    first = next(one for one in opened.members if isinstance(one.policy.person, str))  # instead of a table of people
    referred, of_table = (first.reference, first.name) if owner is None else (owner.key_column, owner.name)
    if reference.family != referred.family:
        raise UsageError(
            f"{name}.{reference.name} is of type {reference.type} and refers to {of_table}.{referred.name}, of type "
            f"{referred.type}: cast one of them in the database."
        )


def open_released(
    source: object, policy: TablesPolicy, schema: str | None, resources: Resources | None = None
) -> OpenedTables:
    """Open released tables as a policy describes them, without hierarchies and facts of their originals."""
    directory = Path(source) if isinstance(source, str | os.PathLike) and Path(source).is_dir() else None
    if directory is None:
        database = _database(source, resources, "or a directory of their files")
    else:
        database = _open_files(directory, policy, resources)
    opened = _described(database, policy, schema, released=True)
    is_file, is_warehouse = directory is not None, isinstance(opened.engine, Workbench)
    alike = str if is_warehouse else folded  # PostgreSQL names are case-sensitive
    where = alike(schema or database.schema)
    named = {(alike(own.db) or where, alike(own.name)) for own in (member.relation for member in opened.members)}
    schemas = {own for own, _ in named}
    with closed_on_error(opened.engine):
        there = database.tables if is_file else database.relations()
        views = set() if is_file or is_warehouse else views_of_release(opened.engine, named, database.schema)
    others = [(own, name) for own, name in there if (alike(own), alike(name)) not in named]
    return replace(
        opened,
        schema=(schema or database.schema) if not is_file and schemas == {where} else None,
        not_in_policy=tuple(
            name if schemas == {where} else f"{own}.{name}"
            for own, name in others
            if alike(own) in schemas and (alike(own), alike(name)) not in views
        ),
        elsewhere=dict(Counter(own for own, _ in others if alike(own) not in schemas)),
    )


def open_originals(source: object, policy: TablesPolicy, resources: Resources | None = None) -> OpenedTables:
    """Open the tables that a release was made from, as ``open_released`` does, to count people in them."""
    database = _database(source, resources, "--original")
    return _described(database, policy)


def _described(
    opened: OpenDatabase, policy: TablesPolicy, schema: str | None = None, *, released: bool = False
) -> OpenedTables:
    members = []
    with closed_on_error(opened.engine):
        found = _sources(opened, _in_order(policy), schema, released=released)
        for table in _in_order(policy):
            columns = NamedColumns(quasi_identifiers=table.columns.quasi_identifiers, rest="keep")
            members.append(_member(policy, table, found[table.name], columns, {}))
    return OpenedTables(opened.engine, opened.place, policy, tuple(members))


def _open_files(directory: Path, policy: TablesPolicy, resources: Resources | None) -> OpenDatabase:
    """Read the files of released tables into memory. CSV values are read as written."""
    engine = DuckDBEngine.in_memory(resources)
    with closed_on_error(engine):
        read = {_read_file(engine, directory, table.name) for table in _in_order(policy)}
        others = sorted(file.name for file in directory.iterdir() if file not in read)
        schema = engine.current_schema()
        return OpenDatabase(engine, str(directory), schema, tuple((schema, name) for name in others))


def _read_file(engine: DuckDBEngine, directory: Path, name: str) -> Path:
    names = _names(name)
    files = (directory / f"{own}.{kind}" for own in names for kind in ("csv", "parquet"))
    file = next((one for one in files if one.is_file()), None)
    if file is None:
        raise UsageError(f"{directory} has no file of the table {name}: {names[-1]}.csv or .parquet.")
    if file.suffix == ".csv":  # as ``plain_copy`` writes it: types are not guessed
        try:
            with file.open(newline="", encoding="utf-8-sig") as text:
                header = next(csv.reader(text), [])
        except UnicodeDecodeError:
            header = []
        if not all(header) or not header or len(set(map(folded, header))) < len(header):
            raise UsageError(
                f"{file} is not a CSV file of a release: it needs a header with all names, each once, in UTF-8."
            )
        reader = text_reader(file, dict.fromkeys(header, "VARCHAR"), csv=True)
    else:
        reader = read_from("read_parquet", str(file), {})
    engine.run(sql.create_table(sql.relation(file.stem), exp.select("*").from_(reader)), f"read {file.name}")
    return file


def _names(table: str) -> list[str]:
    """Return the possible names of a released table: as in the policy, then without a prefix that may be its schema."""
    parts = table.split(".")
    return [".".join(parts[place:]) for place in range(len(parts))]
