"""``profile_database``: keys of the tables of a database, and how their rows lead to people.

1. Keys and foreign keys that the database declares.
2. Undeclared keys: columns with the name of a number or a key, without NULL, and with a distinct value in every row.
   One scan of each table counts them.
3. Undeclared references: columns with the name of a key of another table (``patient_id`` or ``patient`` for the ``id``
   of ``patients``), nearly all values of which are values of that key. One join for each counts them.
4. Columns that name people by their name: each row of their table belongs to one person. A path of references leads
   there from another table; there may be several paths, or none.
"""

from __future__ import annotations

from collections import deque
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import Column, find_column
from kanon_sql.engine.sources.open_source import open_tables
from kanon_sql.errors import UsageError, counted
from kanon_sql.hierarchy.vocabulary import is_number, is_of_person, is_person, kinds_of_name, parts_of_name
from kanon_sql.policy.profile.people import numbers_people
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kanon_sql.engine.base import Constraint
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.sources.open_source import OpenDatabase

_KEY_KINDS = frozenset({"record_id", "national_id", "passport", "visit_id", "reference"})
_MOST_UNMATCHED = 0.1  # largest share of rows whose value does not match the key
_LONGEST_WAY = 6  # references
_MOST_WAYS = 10  # for one table
_WHICH_ONE = "which one a row is about, the columns do not say."


@dataclass(frozen=True)
class TableKey:
    """Columns with distinct values in all rows of a table, and without NULL if the database does not declare them."""

    columns: tuple[str, ...]
    declared: bool


@dataclass(frozen=True)
class TableReference:
    """Columns of a table whose values are those of a key of a table.

    Attributes:
        declared: True if the database has it as a foreign key; otherwise names and values suggest it.
        rows: rows that have a value in each column.
        unmatched: rows among these with a value that the other table does not have.
    """

    table: str
    columns: tuple[str, ...]
    to_table: str
    to_columns: tuple[str, ...]
    declared: bool
    rows: int
    unmatched: int


@dataclass(frozen=True)
class TableProfile:
    """A table among others.

    Attributes:
        keys: the declared keys; if there are none, the detected ones, the likeliest first.
        persons: the paths from a row to its person: a column of the table, or a path of columns, each in the table that
            the previous one refers to. The last one names the person.
        rows_of_others: for each path but the first, the number of rows for which it leads to another person than the
            first; None if the two end at columns that do not refer to each other.
        one_each: True if no two rows belong to one person.
        way: the references of the first of ``persons`` without a multi-column reference; of the first if all have one.
        person: the column at the end of ``way``.
    """

    name: str
    rows: int
    columns: tuple[str, ...]
    keys: tuple[TableKey, ...]
    persons: tuple[tuple[str, ...], ...]
    rows_of_others: tuple[int | None, ...]
    one_each: bool
    way: tuple[TableReference, ...] = ()
    person: str | None = None

    @property
    def note_on_ways(self) -> str | None:
        """The decision to make if there are several paths, as a sentence."""
        if not self.persons[1:]:
            return None
        ways = "; ".join(" -> ".join(path) for path in self.persons)
        said = f"{self.name}: a row reaches a person in {len(self.persons)} ways: {ways}."
        others = [rows for rows in self.rows_of_others if rows is not None]
        if len(others) < len(self.rows_of_others):
            return f"{said} They end at columns that do not refer to each other: {_WHICH_ONE}"
        if not any(others):
            return f"{said} They lead to the same person wherever both lead to one."
        rows = f"{counted(max(others), 'row')} of {self.rows:,}"
        return f"{said} In {rows} they lead to different people: {_WHICH_ONE}"


@dataclass(frozen=True)
class DatabaseProfile:
    """The result of ``profile_database``, without tables that the ledger lists as releases."""

    source: str
    tables: tuple[TableProfile, ...]
    references: tuple[TableReference, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Decisions to make and columns to check, as sentences."""
        said = [note for table in self.tables if (note := table.note_on_ways) is not None]
        if without := [table.name for table in self.tables if not table.persons]:
            said.append(
                f"No path to a person was found from {', '.join(without)}. That is no proof that their rows are about "
                "nobody: a table may name people by columns whose names do not say so."
            )
        for one in self.references:
            if one.unmatched:
                rows = f"{counted(one.unmatched, 'row')} of {one.rows:,}"
                column = f"{one.table}.{', '.join(one.columns)}"
                said.append(f"{column}: {rows} with a value that {one.to_table} does not have.")
        return tuple(said)

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values: the output of ``--format json``."""
        return {**asdict(self), "notes": list(self.notes)}


def profile_database(
    source: Any,  # noqa: ANN401 - a path, a URL or a connection; open_tables says which
    *,
    resources: Resources | None = None,
) -> DatabaseProfile:
    """Profile the tables of a database: their keys, and how their rows lead to people. Nothing is changed.

    Args:
        source: path of a DuckDB file, a DuckDB connection, or a PostgreSQL database.
        resources: resource limits; a connection has its own settings.
    """
    with opened_database(source, resources) as database:
        return profile_of_tables(database)


@contextmanager
def opened_database(source: Any, resources: Resources | None) -> Iterator[OpenDatabase]:  # noqa: ANN401 - as above
    """Open a database for the duration of a block, or raise a UsageError."""
    database = open_tables(source, resources)
    if database is None:
        raise UsageError("Only a DuckDB file or a PostgreSQL database has tables that refer to each other.")
    with closing(database.engine):
        yield database


def profile_of_tables(database: OpenDatabase) -> DatabaseProfile:
    constraints = database.holder.constraints()
    tables = [_counted(database, table, constraints) for table in database.tables]
    declared = _declared(database, tables, constraints)
    references = (*declared, *_found(database, tables, declared))
    by_name = {table.name: table for table in tables}
    profiles = tuple(_with_people(database, table, by_name, references) for table in tables)
    return DatabaseProfile(database.place, profiles, references)


# 1 and 2. Tables and keys


@dataclass(frozen=True)
class _Table:
    """A table with its keys; ``unique`` columns have a distinct value in each row."""

    name: str
    own_name: str
    relation: exp.Table
    rows: int
    columns: tuple[Column, ...]
    keys: tuple[TableKey, ...]
    unique: frozenset[str]

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


def _counted(database: OpenDatabase, table: tuple[str, str], constraints: Sequence[Constraint]) -> _Table:
    relation = database.relation(table)
    columns = database.holder.columns(relation)
    declared = [
        TableKey(_as_there(one.columns, columns), declared=True)
        for one in sorted(constraints, key=lambda one: one.kind != "PRIMARY KEY")
        if (one.schema, one.table) == table and one.kind != "FOREIGN KEY"
    ]
    alone = {key.columns[0] for key in declared if len(key.columns) == 1}
    named = [column for column in columns if column.name not in alone and _may_be_key(column)]
    query = sql.select_counts(relation, [sql.column(column.name, "source") for column in named])
    ((rows, *numbers),) = database.holder.rows(query, f"rows and keys of {table[1]}")
    unique = [
        column.name
        for column, known, distinct in zip(named, numbers[::2], numbers[1::2], strict=True)
        if 1 < int(rows) == int(known) == int(distinct)
    ]
    unique.sort(key=lambda name: not _is_own_key(table[1], name))
    keys = declared or [TableKey((name,), declared=False) for name in unique]
    return _Table(
        database.name(table), table[1], relation, int(rows), columns, tuple(keys), frozenset((*alone, *unique))
    )


def _as_there(names: Sequence[str], columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of columns as the table spells them; DuckDB keeps the spelling of the constraint."""
    return tuple(getattr(find_column(name, columns), "name", name) for name in names)


def _may_be_key(column: Column) -> bool:
    """Return True if a column is a number or a key by its name and type."""
    whole = column.family == "integer" or (column.family == "decimal" and not column.decimals)
    if not (whole or column.family == "text" or column.type == "UUID"):
        return False
    kind = next(iter(kinds_of_name(column.name)), None)
    return kind in _KEY_KINDS or is_number(parts_of_name(column.name)[-1:])


def _singular(table: str) -> list[tuple[str, ...]]:
    """Return the singular words of a table name: ``patients`` gives ``patient``."""
    *before, last = parts_of_name(table) or ("",)
    endings = (("", ""), ("s", ""), ("es", ""), ("ies", "y"), ("en", ""), ("n", ""))
    ones = [last.removesuffix(ending) + instead for ending, instead in endings if last.endswith(ending)]
    return [(*before, one) for one in ones if one]


def _is_own_key(table: str, column: str) -> bool:
    """Return True if a column numbers the rows of its table: the ``id`` or the ``patient_id`` of ``patients``."""
    words = parts_of_name(column)
    ones = _singular(table)
    return (
        is_number(words)
        or words in ones
        or any(words[: len(one)] == one and is_number(words[len(one) :]) for one in ones)
    )


# 3. References


def _declared(
    database: OpenDatabase, tables: Sequence[_Table], constraints: Sequence[Constraint]
) -> list[TableReference]:
    """Return the foreign keys. DuckDB keeps the spelling of the referenced table in the constraint."""
    exact = dict(zip(database.tables, tables, strict=True))
    any_case = {(schema, folded(name)): table for (schema, name), table in exact.items()}
    found = []
    for one in constraints:
        if one.referred is None or (table := exact.get((one.schema, one.table))) is None:
            continue
        schema, name = one.referred
        to = exact.get(one.referred) or any_case.get((schema, folded(name)))
        if to is not None:
            own, key = _as_there(one.columns, table.columns), _as_there(one.referred_columns, to.columns)
            found.append(_measured(database, table, own, to, key, declared=True))
    return found


def _found(
    database: OpenDatabase, tables: Sequence[_Table], declared: Sequence[TableReference]
) -> Iterator[TableReference]:
    """Yield references by names and values, for columns that are not foreign keys.

    A column refers to the table of its name. Without such a table, it refers to one that has a column of the same name
    with a distinct value in each row.
    """
    known = {(one.table, one.columns) for one in declared}
    named = [
        (to, key, _names_of_key(to.own_name, key), _is_own_key(to.own_name, key))
        for to in tables
        for key in sorted(to.unique)
    ]
    for table, column in ((one, column) for one in tables for column in one.columns):
        if (table.name, (column.name,)) in known or _numbers_rows(table, column):
            continue
        words = parts_of_name(column.name)
        called_so = [
            (to, key, is_own)
            for to, key, names, is_own in named
            if to is not table
            and _is_called_so(words, names)
            and (column.type == to.column(key).type or column.family == to.column(key).family != "other")
        ]
        for wanted in (True, False):
            candidates = [(to, key) for to, key, is_own in called_so if is_own is wanted]
            found = [_measured(database, table, (column.name,), to, (key,)) for to, key in candidates]
            if refers := [one for one in found if one.rows > 0 and one.unmatched <= _MOST_UNMATCHED * one.rows]:
                yield from refers
                break


def _names_of_key(table: str, key: str) -> list[tuple[str, ...]]:
    """Return the possible endings of the name of a column that refers to a key: ``patient_id`` or ``patient``."""
    ones, words = _singular(table), parts_of_name(key)
    full = [(*one, *words) for one in ones] if is_number(words) else [words]
    return [*full, *ones] if _is_own_key(table, key) else full


def is_called_after(column: str, table: str, key: str) -> bool:
    """Return True if a column has the name of a reference to a key of a table."""
    return _is_called_so(parts_of_name(column), _names_of_key(table, key))


def _numbers_rows(table: _Table, column: Column) -> bool:
    """Return True if a column numbers the rows of its own table. Others may contain each number once by chance."""
    return column.name in table.unique and _is_own_key(table.own_name, column.name)


def _is_called_so(words: tuple[str, ...], names: Sequence[tuple[str, ...]]) -> bool:
    return any(words[-len(name) :] == name or "".join(words) == "".join(name) for name in names)


def _measured(
    database: OpenDatabase,
    table: _Table,
    columns: tuple[str, ...],
    to: _Table,
    to_columns: tuple[str, ...],
    *,
    declared: bool = False,
) -> TableReference:
    own = [_comparable(table.column(name), "referring") for name in columns]
    keys = [_comparable(to.column(name), "referred") for name in to_columns]
    same = sql.all_of(one.eq(key) for one, key in zip(own, keys, strict=True))
    has_value = sql.all_of(one.copy().is_(exp.null()).not_() for one in own)
    query = sql.query(
        "profile/reference",
        values={"key": keys[0], "same": same, "has_value": has_value},
        relations={name: sql.aliased(one.relation, name) for name, one in (("referring", table), ("referred", to))},
    )
    title = f"does {table.name}.{', '.join(columns)} refer to {to.name}?"
    ((rows, matched),) = database.holder.rows(query, title)
    return TableReference(table.name, columns, to.name, to_columns, declared, int(rows), int(rows) - int(matched))


def _comparable(column: Column, relation: str) -> exp.Expr:
    """Return a column for comparison with a key; an ENUM of PostgreSQL also compares with texts."""
    value = sql.column(column.name, relation)
    return sql.cast(value, "VARCHAR") if column.family == "text" else value


# 4. People


@dataclass(frozen=True)
class _Way:
    """References from table to table, and the column of the last table that names the person."""

    references: tuple[TableReference, ...]
    table: _Table
    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the path, qualified by their table except in the first table."""
        tables = ["", *(f"{one.to_table}." for one in self.references)]
        names = [*(", ".join(one.columns) for one in self.references), self.column]
        return tuple(map("".join, zip(tables, names, strict=True)))


def _with_people(
    database: OpenDatabase, table: _Table, tables: dict[str, _Table], references: Sequence[TableReference]
) -> TableProfile:
    ways = _ways_to_people(table, tables, references)
    own = [way.column for way in ways if not way.references]
    usable = [way for way in ways if all(len(one.columns) == 1 for one in way.references)] or ways
    return TableProfile(
        table.name,
        table.rows,
        tuple(column.name for column in table.columns),
        table.keys,
        tuple(way.columns for way in ways),
        _rows_of_others(database, table, ways, tables, references),
        len(own) == 1 and own[0] in table.unique,
        usable[0].references if usable else (),
        usable[0].column if usable else None,
    )


def _columns_of_people(table: _Table) -> list[str]:
    """Return the columns that name people by their names; for a table named after people, only its key."""
    keys = [
        column.name
        for column in table.columns
        if _numbers_rows(table, column)
        and any(numbers_people(Column(" ".join((*one, "id")), column.type)) for one in _singular(table.own_name))
    ]
    numbering = [column.name for column in table.columns if numbers_people(column)]
    # "patient" alone more often leads to a table of patients.
    return keys[:1] or [name for name in numbering if is_of_person(name) and not is_person(name)]


def _ways_to_people(table: _Table, tables: dict[str, _Table], references: Sequence[TableReference]) -> list[_Way]:
    """Return the paths from a row to a person, the shortest first: columns of the table, then paths of references.

    No path visits a table twice. A path stops at the first table that names people.
    """
    found: list[_Way] = []
    waiting: deque[tuple[_Table, tuple[TableReference, ...]]] = deque([(table, ())])
    while waiting and len(found) < _MOST_WAYS:
        at, path = waiting.popleft()
        if people := _columns_of_people(at):
            found += [_Way(path, at, name) for name in people]
        elif len(path) < _LONGEST_WAY:
            seen = {table.name, *(one.to_table for one in path)}
            waiting += [
                (tables[one.to_table], (*path, one))
                for one in references
                if one.table == at.name and one.to_table not in seen
            ]
    return found


def _rows_of_others(
    database: OpenDatabase,
    table: _Table,
    ways: Sequence[_Way],
    tables: dict[str, _Table],
    references: Sequence[TableReference],
) -> tuple[int | None, ...]:
    """Return, for each path but the first, the number of rows for which it leads to another person than the first.

    The number is None if no references relate the column at the end of a path to that of the first.
    """
    if not ways[1:]:
        return ()
    alike = _numbered_alike([one for one in references if len(one.columns) == 1])
    columns = [(way.table.name, way.column) for way in ways]
    ends = [alike.get(column, column) for column in columns]
    compared = [way for way, end in zip(ways, ends, strict=True) if end == ends[0]]
    query, people = exp.select().from_(sql.aliased(table.relation, "source")), []
    for number, way in enumerate(compared):
        at, alias = table, "source"
        for step, one in enumerate(way.references):
            to, of_step = tables[one.to_table], f"way_{number}_{step}"
            same = sql.all_of(
                _comparable(at.column(own), alias).eq(_comparable(to.column(key), of_step))
                for own, key in zip(one.columns, one.to_columns, strict=True)
            )
            query.join(sql.aliased(to.relation, of_step), on=same, join_type="left", copy=False)
            at, alias = to, of_step
        people.append(_comparable(at.column(way.column), alias))
    answers = iter(())
    if counts := [sql.where(sql.count_rows(), people[0].neq(person)) for person in people[1:]]:
        title = f"do the ways from {table.name} lead to the same people?"
        answers = iter(database.holder.rows(query.select(*counts, copy=False), title)[0])
    return tuple(int(next(answers)) if end == ends[0] else None for end in ends[1:])


def _numbered_alike(references: Sequence[TableReference]) -> dict[tuple[str, str], int]:
    """Number the columns that refer to others or are referred to; all columns of a chain share a number."""
    numbers: dict[tuple[str, str], int] = {}
    for number, one in enumerate(references):
        both = [(one.table, one.columns[0]), (one.to_table, one.to_columns[0])]
        joined = {numbers.get(column, number) for column in both}
        numbers |= dict.fromkeys(both, number)
        numbers = {column: number if own in joined else own for column, own in numbers.items()}
    return numbers
