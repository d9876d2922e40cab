"""``init_tables_policy``: a commented kanon.toml for a whole database, from its profile and those of its tables.

1. The table of people: no two rows belong to one person. If there are several, take the one that most others lead to.
2. The path from a row to its person: a column that has the person, or a reference to a row of another table.
3. The roles of columns, as for one table. A column that refers to a person or an event by another path is left out:
   unchanged, it would name a row whose key becomes a pseudonym.
4. Tables without a path to a person wait for a decision, and so do those that may be about other people: if numbers of
   patients and of employees counted as the same people, k would hold for neither. Until then the file is not usable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.engine.files import require_free, write_whole
from kanon_sql.engine.sources.addresses import seen_from
from kanon_sql.engine.sources.data_files import require_not_read
from kanon_sql.errors import UsageError, counted
from kanon_sql.policy.destination import origin_of
from kanon_sql.policy.policy import DEFAULT_K
from kanon_sql.policy.profile.database import is_called_after, opened_database, profile_of_tables
from kanon_sql.policy.profile.profiler import POLICY_FILE, profile_of
from kanon_sql.policy.profile.result import (
    HEAD,
    PROPOSED,
    ROLES,
    column_lines,
    commented,
    hierarchy_lines,
    search_lines,
    section_lines,
    source_lines,
    toml_key,
    toml_line,
    toml_value,
)
from kanon_sql.policy.profile.words import without_rules
from kanon_sql.policy.schema import FIRST_LINE
from kanon_sql.policy.tables import OF_TABLES, Through, parse_tables_policy
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.sources.open_source import OpenDatabase, Source
    from kanon_sql.policy.destination import Origin
    from kanon_sql.policy.profile.database import DatabaseProfile, TableProfile, TableReference
    from kanon_sql.policy.profile.result import Profile
    from kanon_sql.policy.tables import Rows


_LISTS_OF_TABLES = (
    *(f"{name}: {text}" for name, (_, text) in ROLES.items()),
    f"proposed: {PROPOSED}",
    "person, key: published as pseudonyms, by which tables join.",
)
_OR_EACH = "or write a policy for each table by itself."


@dataclass(frozen=True)
class TableProposal:
    """The proposal for one of the tables.

    Attributes:
        rows: kind of rows; ``undecided`` if no path to a person was found, or only one that may lead to other people.
        person: the column that names the person, or the link to a row that has it.
        key: the column that links from other tables use.
        profile: its columns with their roles, without those that become pseudonyms; None if there is no path.
        notes: the evidence for the path and the roles, and columns to check.
    """

    table: TableProfile
    rows: Rows | Literal["undecided"]
    person: str | Through | None = None
    key: str | None = None
    profile: Profile | None = None
    notes: tuple[str, ...] = ()

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        return () if self.profile is None else self.profile.quasi_identifiers

    @property
    def awaiting_decision(self) -> tuple[str, ...]:
        """The columns that would be published unchanged and need a decision."""
        return () if self.profile is None else self.profile.awaiting_decision

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values: the output of ``--format json``."""
        person = self.person
        columns = () if self.profile is None else self.profile.columns
        return {
            "name": self.table.name,
            "rows": self.table.rows,
            "rows_are": self.rows,
            "person": person.setting() if isinstance(person, Through) else person,
            "key": self.key,
            "columns": [{"name": one.name, "role": one.role, "reason": one.reason} for one in columns],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class TablesProposal:
    """The proposal for the tables of a database, in their order there."""

    source: str
    tables: tuple[TableProposal, ...]

    @property
    def undecided(self) -> tuple[str, ...]:
        """The tables whose rows need a decision."""
        return tuple(one.table.name for one in self.tables if one.rows == "undecided")

    @property
    def has_quasi_identifiers(self) -> bool:
        return any(one.quasi_identifiers for one in self.tables)

    def decided(self) -> TablesProposal:
        """Return a proposal in which nothing waits for a decision."""
        rows: dict[bool, Rows] = {True: "events", False: "dropped"}
        undecided = {one.table.name: rows[one.profile is not None] for one in self.tables if one.rows == "undecided"}
        tables = (replace(one, rows=undecided.get(one.table.name, one.rows)) for one in self.tables)
        return replace(self, tables=tuple(tables))

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values: the output of ``--format json``."""
        return {
            "source": self.source,
            "tables": [one.summary() for one in self.tables],
            "undecided": list(self.undecided),
        }


def init_tables_policy(
    source: Any,  # noqa: ANN401 - a path, a URL or a connection; open_tables says which
    *,
    out: str | os.PathLike[str] = POLICY_FILE,
    replace: bool = False,
    k: int = DEFAULT_K,
    sample: int | None = None,
    resources: Resources | None = None,
) -> TablesProposal:
    """Write a commented policy file for all tables of a database, and return its proposal.

    Args:
        source: path of a DuckDB file, a DuckDB connection, or a PostgreSQL database.
        out: the file.
        replace: replace an existing file of that name.
        k: the smallest class to write into it.
        sample: as for ``profile``, of each table.
        resources: resource limits; a connection has its own settings.

    Raises:
        UsageError: the file exists, the source is not such a database, or its tables have no path to a person that a
            policy can express.
        SourceError: the source cannot be read, or the file cannot be written.
    """
    require_free(Path(out), replace=replace)
    with opened_database(source, resources) as database:
        found = propose_tables(database, sample=sample)
        write_tables_proposal(found, database, source, Path(out), k=k, replace_existing=replace)
        return found


def propose_tables(database: OpenDatabase, *, sample: int | None = None) -> TablesProposal:
    profile = profile_of_tables(database)
    ways = _Ways(profile)
    tables = {database.name(table): table for table in database.tables}
    proposed = [_of_people(one, ways) for one in profile.tables if one.persons]
    if not proposed:
        raise UsageError(
            f"No way to a person was found from any table of {profile.source}: the names of columns do not say who a "
            f"row is about. Write the policy by hand (docs/policy.md); {_OR_EACH}"
        )
    keys = ways.keys()
    found = {}
    for one in proposed:
        name = one.table.name
        found[name] = _with_roles(replace(one, key=keys.get(name)), database.source(tables[name]), ways, sample)
    every = (found.get(one.name) or TableProposal(one, "undecided") for one in profile.tables)
    return TablesProposal(profile.source, tuple(every))


class _Ways:
    """The one path from the rows of each table to their people that a policy can express."""

    def __init__(self, profile: DatabaseProfile) -> None:
        self.references = profile.references
        self.tables = {table.name: table for table in profile.tables}
        for table in profile.tables:
            if several := next((one for one in table.way if len(one.columns) > 1), None):
                raise UsageError(
                    f"{table.name} reaches its person by {several.table} ({', '.join(several.columns)}), which refers "
                    f"to a key of several columns of {several.to_table}. Add a key of one column, and a column that "
                    f"refers to it; {_OR_EACH}"
                )
        self._ends = {table.name: self._end(table) for table in profile.tables}
        led_to = [to for to, _ in self._ends.values()]
        candidates = [table for table in profile.tables if table.one_each]
        self.people = max(candidates, key=lambda table: led_to.count(table.name), default=None)
        self.person = None if self.people is None else self._column_of(self.people)

    def _end(self, table: TableProfile) -> tuple[str | None, str | None]:
        """Return the table that a path leads to, and the column by which it enters."""
        if table.way:
            return table.way[-1].to_table, table.way[-1].to_columns[0]
        to_people = self.reference(table.name, table.person)
        return (None, None) if to_people is None else (to_people.to_table, to_people.to_columns[0])

    def reference(self, table: str, column: str | None) -> TableReference | None:
        """Return the reference of a column of a table, preferring one to the table of people."""
        found = [one for one in self.references if one.table == table and one.columns == (column,)]
        return min(found, key=lambda one: not self.tables[one.to_table].one_each, default=None)

    def _column_of(self, people: TableProfile) -> str | None:
        """Return the column that names people in their table: the one that other tables refer to."""
        ends = {name: column for name, (to, column) in self._ends.items() if to == people.name != name}
        by_column = {column: name for name, column in ends.items()}
        if len(by_column) > 1:
            columns = ", ".join(f"{column} (by {name})" for column, name in by_column.items())
            raise UsageError(
                f"Other tables refer to {people.name} by several of its columns: {columns}. Let all refer to one; "
                f"{_OR_EACH}"
            )
        return next(iter(by_column), people.person)

    def step(self, table: TableProfile) -> tuple[str | Through | None, str]:
        """Return the column of a table that names the person, or its link; and the key of the linked table."""
        if table is self.people:
            return self.person, ""
        if not table.way:
            return table.person, ""
        first = table.way[0]
        column, key, to = first.columns[0], first.to_columns[0], self.tables[first.to_table]
        above, key_above = self.step(to)
        if above == key:
            return column, ""
        if isinstance(above, Through) and above.column == key:  # the key of a row there is that of the row above it
            return Through(column, above.table), key_above
        return Through(column, to.name), key

    def keys(self) -> dict[str, str]:
        """Return, by table, the one key that others use."""
        found: dict[str, tuple[str, str]] = {}
        for table in self.tables.values():
            person, key = self.step(table)
            if not isinstance(person, Through):
                continue
            other, its_key = found.setdefault(person.table, (table.name, key))
            if its_key != key:
                raise UsageError(
                    f"{other} and {table.name} refer to {person.table} by two of its keys, {its_key} and {key}. Let "
                    f"both refer to one; {_OR_EACH}"
                )
        return {table: key for table, (_, key) in found.items()}

    def other_people(self, table: TableProfile) -> str | None:
        """Return the column that names people if the column that a table leads to may name other people.

        Columns name the same people if one refers to the other or is named after it.
        """
        columns = [folded(one.person) for one in self.tables.values() if one.person is not None]
        end = self.tables[table.way[-1].to_table] if table.way else table
        if self.people is None:
            most = max(columns, key=columns.count)
            return None if folded(str(end.person)) == most else most
        refers = self._ends[end.name][0] == self.people.name
        alike = is_called_after(str(end.person), self.people.name.rpartition(".")[2], str(self.person))
        return None if end is self.people or refers or alike else f"{self.people.name}.{self.person}"


def _of_people(table: TableProfile, ways: _Ways) -> TableProposal:
    """Return the path from the rows of a table to their people, with its figures as notes."""
    person, _ = ways.step(table)
    is_people = table is ways.people
    column = person.column if isinstance(person, Through) else person
    reference = table.way[0] if table.way else ways.reference(table.name, column)
    notes = [] if table.note_on_ways is None else [f"{table.note_on_ways} The first is written here."]
    if is_people:
        notes.append(f"{table.name}.{column} has a value of its own in each of {counted(table.rows, 'row')}.")
    elif reference is not None:
        by = "a foreign key" if reference.declared else "by names and values"
        notes.append(
            f"{table.name}.{column} refers to {reference.to_table}.{reference.to_columns[0]} ({by}): "
            f"{counted(reference.rows, 'row')} of {table.rows:,} with a value, {reference.unmatched:,} of them without "
            "a match."
        )
    else:
        notes.append(f"{table.name}.{column} is the number of a person, as its name says.")
    other = None if is_people else ways.other_people(table)
    if other is not None:
        notes.append(
            f"{table.name} reaches people by {' -> '.join(table.persons[0])}, and other tables by {other}: nothing "
            "says that both name the same people."
        )
    elif ways.people is not None and reference is None and not is_people:
        notes.append(
            f"Values of {table.name}.{column} are not those of {ways.people.name}.{ways.person}, as far as was found: "
            "look whether both name the same people."
        )
    if table.one_each and not is_people and ways.people is not None:
        notes.append(
            f"{table.name} has a row for each person too, as {ways.people.name} has: its rows are taken as events."
        )
    rows: Rows = "people" if is_people else "events"
    return TableProposal(table, rows if other is None else "undecided", person, notes=tuple(notes))


def _with_roles(one: TableProposal, source: Source, ways: _Ways, sample: int | None) -> TableProposal:
    """Return a proposal with the roles of its columns, except those that become pseudonyms."""
    column = one.person.column if isinstance(one.person, Through) else one.person
    left_out = {
        name: "it is a key, and names a row" for key in one.table.keys if len(key.columns) == 1 for name in key.columns
    }
    left_out |= {
        name: f"it refers to {reference.to_table} in another way than the one to a person that was taken, and names a "
        "row of it"
        for reference in ways.references
        if reference.table == one.table.name and ways.tables[reference.to_table].persons
        for name in reference.columns
    }
    pseudonyms = {name: "it becomes a pseudonym" for name in (column, one.key) if name is not None}
    entity = column if one.rows != "people" and column == one.person else None
    profile = profile_of(source, entity=entity, sample=sample, left_out=left_out | pseudonyms)
    columns = tuple(
        replace(each, hints=tuple(map(without_rules, each.hints)))
        for each in profile.columns
        if each.name not in pseudonyms
    )
    return replace(one, profile=replace(profile, entity=None, columns=columns))


def write_tables_proposal(
    found: TablesProposal,
    database: OpenDatabase,
    source: Any,  # noqa: ANN401 - the source as given
    path: Path,
    *,
    k: int,
    replace_existing: bool,
) -> bool:
    """Write the policy file of a proposal atomically. It can be read once its tables are decided.

    Return True if it names ``source``, from which the database was opened.
    """
    require_free(path, replace=replace_existing)
    require_not_read(path, source)
    origin = origin_of(source, None, database.source(database.tables[0]))
    seen = None if origin is None else replace(origin, source=seen_from(path.parent, origin.source), table=None)
    schema = unused_name("released", {own for own, _ in database.relations()})
    if found.has_quasi_identifiers:  # the text reads back once it is decided
        parse_tables_policy(policy_of_tables(found.decided(), k=k, schema=schema, origin=seen), path)
    write_whole(path, policy_of_tables(found, k=k, schema=schema, origin=seen), "The policy")
    return origin is not None


def policy_of_tables(found: TablesProposal, *, k: int, schema: str, origin: Origin | None) -> str:
    also = ", from keys, and from references between tables"
    parts = [
        FIRST_LINE,
        *commented(f"What a release of the tables of {found.source} must be, together.", HEAD.format(also=also)),
        *commented(*_LISTS_OF_TABLES),
        *source_lines(origin),
        *section_lines("privacy", {"k": k, "km": OF_TABLES["km"].default}, OF_TABLES),
        *search_lines(),
        f"\n[release]\n{toml_line('into_schema', schema).rstrip()}",
        '  # a schema in the database; or out = "released.duckdb", or out_directory = "released"\n',
        *(line for one in found.tables for line in _table(one, found.source)),
    ]
    return "".join(parts)


def _table(one: TableProposal, source: str) -> Iterable[str]:
    name, rows, profile = one.table.name, counted(one.table.rows, "row"), one.profile
    yield "\n"
    if profile is None:
        yield from commented(
            f"{name}: {rows}. No way to a person was found. That is no proof that the rows are about nobody: look at "
            f"the columns ({', '.join(one.table.columns)}).",
            'Decide: rows = "kept" publishes the table as it is, "dropped" leaves it out. Until then, this file is '
            "refused.",
        )
    else:
        are = "one for each person" if one.rows == "people" else "events of people"
        yield from commented(f"{name}: {rows}, {are}.", *one.notes)
        if one.rows == "undecided":
            yield from commented(
                'Decide: rows = "events" where both name the same people; else rows = "dropped", without person, key '
                "and roles, and a policy of its own for this table. Until then, this file is refused."
            )
    yield f"[tables.{toml_key(name)}]\n"
    yield toml_line("rows", "" if one.rows == "undecided" else one.rows)
    if profile is None:
        return
    if isinstance(one.person, Through):
        way = ", ".join(f"{key} = {toml_value(value)}" for key, value in one.person.setting().items())
        yield f"person = {{ {way} }}\n"
    elif one.person is not None:
        yield toml_line("person", one.person)
    if one.key is not None:
        yield toml_line("key", one.key)
    yield from column_lines(profile, alone=False)
    if profile.quasi_identifiers:
        yield from hierarchy_lines(profile, (source, name), f"tables.{toml_key(name)}.")
