"""Policies for several tables of a database that are released together: a kanon.toml with ``[tables.NAME]``.

``docs/policy.md`` shows a complete one. Paths in the file are relative to its directory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from kanon_sql.engine.capabilities import has, refused, row_of
from kanon_sql.engine.files import write_whole
from kanon_sql.engine.sources.addresses import resolved, seen_from
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.spec import require_in_files
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.destination import NO_BACKUP_ELSEWHERE, Backup, Origin
from kanon_sql.policy.member import BY_COLUMN, COLUMNS, ROLES, MemberPolicy, member_document, member_in
from kanon_sql.policy.policy import ALL_SETTINGS, DEFAULT_K, SECTIONS, SETTINGS, TABLES, SetPolicy
from kanon_sql.policy.settings import (
    as_declared,
    check_settings,
    checked,
    names_in,
    parsed,
    require_known,
    setting,
    settings_by_section,
    settings_in,
    settings_of,
    toml_document,
    toml_of,
)
from kanon_sql.policy.weights import stated_weights, weight_of
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from kanon_sql.policy.roles import NamedColumns

Rows = Literal["people", "events", "kept", "dropped"]
MOST_EVENTS = 3
"""The largest ``km``: combinations of more events are too many to count."""


@dataclass(frozen=True)
class Through:
    """A link from a row to its person through another row: ``column`` has the key of a row of ``table``."""

    column: str
    table: str

    def setting(self) -> dict[str, str]:
        """Return the link as an entry of kanon.toml."""
        return {"through": self.column, "to": self.table}


@dataclass(frozen=True)
class TablePolicy(MemberPolicy):
    """The requirements for one of the tables. Columns that name persons and rows have no role.

    Attributes:
        name: name of the table, with its schema before a dot if that is not the current one.
        rows: people (one row each), events of people, or rows of no person: kept unchanged, or dropped.
        person: the column that names the person, or the link to a row that has it; None if rows belong to no person.
        key: the column that names a row, if other tables refer to it.
        weight: the weight of the table's loss among the tables.
    """

    name: str
    rows: Rows = "events"
    person: str | Through | None = None
    key: str | None = None
    weight: Fraction = Fraction(1)

    how_to_count: ClassVar[str] = "Name the column that numbers people (person = ...)."

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
            object.__setattr__(self, "weight", weight_of(self.weight, "the table"))
        except UsageError as error:
            raise UsageError(f"[tables.{self.name}] {error}") from None
        if (wrong := next(self._wrong(), None)) is not None:
            raise UsageError(f"[tables.{self.name}] {wrong}.")

    @property
    def reference(self) -> str | None:
        """The column that leads to the person, or to the row that does."""
        return self.person.column if isinstance(self.person, Through) else self.person

    @property
    def entity(self) -> str | None:
        """The column that names the person, if the table has it."""
        return self.person if isinstance(self.person, str) else None

    @property
    def named(self) -> NamedColumns:
        """The roles of columns. Columns that name persons and rows become pseudonyms."""
        return replace(self.columns, pseudonymize=tuple(filter(None, (self.reference, self.key))))

    def _wrong(self) -> Iterator[str]:
        if self.rows not in get_args(Rows):
            yield f"rows is {' or '.join(get_args(Rows))}, not {self.rows!r}"
        given = {**vars(self.columns), **vars(self)}
        refused = [name for name in _OF_ONE if given[name] and not has(row_of(name), "several tables")]
        yield from map(_not_of_several, refused)
        if self.rows in {"kept", "dropped"}:
            given = {"person": self.person, "key": self.key, **vars(self.columns), "hierarchies": self.hierarchies}
            given["weight"] = self.weight != 1
            nobody = f"rows that are {self.rows} are about nobody, and so the table has no"
            yield from (f"{nobody} {name}: leave it out" for name, value in given.items() if value)
        elif self.weight != 1 and not self.columns.quasi_identifiers:
            yield "a weight is given for a table that has no quasi-identifier: leave weight out"
        elif self.person is None:
            yield (
                'it is not said how a row reaches its person: write person = "COLUMN" or { through = "COLUMN", to = '
                '"TABLE" }; or, if rows are about nobody, rows = "kept" or "dropped"'
            )
        elif self.rows == "people" and isinstance(self.person, Through):
            yield "each row is a person, and so person is the column that names them, not a path"
        elif self.rows == "people" and self.key is not None:
            yield "each row is a person, and so its key is the column of the person: leave key out"
        yield from self._wrong_columns()

    def _wrong_columns(self) -> Iterator[str]:
        """Yield an error if a column that becomes a pseudonym has another role too."""
        leads = f"refers to {self.person.table}" if isinstance(self.person, Through) else "names the person"
        named = [(name, what) for name, what in ((self.reference, leads), (self.key, "is the key")) if name]
        names = {folded(name): what for name, what in named}
        if len(named) > len(names):
            yield f"column {self.key!r} is the key and the way to the person: leave key out"
        for role in (*ROLES, "hierarchies"):
            for name in self.hierarchies if role == "hierarchies" else getattr(self.columns, role):
                if folded(name) in names:
                    yield f"column {name!r} {names[folded(name)]}, and becomes a pseudonym: leave it out of {role}"
        known = {folded(name) for name in self.columns.quasi_identifiers}
        for name in self.hierarchies:
            if folded(name) not in known:
                yield f"column {name!r} has a hierarchy and is no quasi-identifier: name it as one too"


def _few_events(given: int) -> int:
    if type(given) is not int or not 1 <= given <= MOST_EVENTS:
        raise ValueError
    return given


def _named(given: str) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ValueError
    return given


@dataclass(frozen=True)
class TablesPolicy(SetPolicy):
    """The requirements for tables that are released together.

    Attributes:
        tables: the tables, in the order of the file.
        source: the database.
    """

    tables: tuple[TablePolicy, ...]
    k: int = setting(
        "People who share the published values of a person and of any km of their events.",
        "privacy",
        int,
        default=DEFAULT_K,
        is_written=True,
    )
    km: int = setting(
        "Events that an attacker may know.",
        "privacy",
        int,
        default=1,
        must=f"the number of events that an attacker may know, 1 to {MOST_EVENTS}",
        read=_few_events,
        is_written=True,
    )
    source: str | None = None
    into_schema: str | None = setting(
        "The schema of the release.", "release", str, must="the name of a schema", read=_named
    )
    out: Path | None = setting("The DuckDB file of the release.", "release", Path)
    out_directory: Path | None = setting("The directory of the files of the release.", "release", Path)
    in_place: bool = as_declared(ALL_SETTINGS["in_place"])
    backup: Backup = as_declared(ALL_SETTINGS["backup"])

    def __post_init__(self) -> None:
        for name, one in SETTINGS.items():
            if name not in OF_TABLES and getattr(self, name) != one.default:
                raise UsageError(f"{_not_of_several(name, f'{one.section}.{name}')}.")
        check_settings(self, OF_TABLES)
        KAnonymity(self.k)  # refuses a k below 1
        if self.source is not None:
            Origin(self.source)  # refuses an empty source, or one with a password
        places = (self.into_schema, self.out, self.out_directory)
        if sum(place is not None for place in places) + self.in_place > 1:
            raise UsageError("A release goes to one place: give one of into_schema, out, out_directory and in_place.")
        if self.backup is not None and not self.in_place:
            raise UsageError(NO_BACKUP_ELSEWHERE)
        self._require_names()
        self._require_paths()
        # A link spells its table as the section does, whatever its case was.
        named = []
        for table in self.tables:
            way = table.person
            if isinstance(way, Through):
                way = replace(way, table=self.path(table)[1].name)
            named.append(replace(table, person=way, directory=self.directory))
        object.__setattr__(self, "tables", tuple(named))

    def _require_names(self) -> None:
        names = [folded(table.name) for table in self.tables]
        if twice := [table.name for table in self.tables if names.count(folded(table.name)) > 1]:
            raise UsageError(f"Table {twice[0]!r} is in the policy twice: names must differ in more than case.")
        people = [table.name for table in self.tables if table.rows == "people"]
        if len(people) > 1:
            raise UsageError(f'rows = "people" is said of {" and ".join(people)}: keep it for one, and say "events".')
        of_persons = [table for table in self.tables if table.person is not None]
        if not of_persons:
            raise UsageError("No table has rows of people or their events: name one with person.")
        generalized = [table for table in of_persons if table.columns.quasi_identifiers]
        if not generalized:
            raise UsageError("No table has a quasi-identifier: name columns that others could know as such.")
        if not any(table.weight for table in generalized):
            raise UsageError("The weight of each table with quasi-identifiers is 0: at least one must be above 0.")

    def _require_paths(self) -> None:
        for table in self.tables:
            if isinstance(way := table.person, Through) and (wrong := self._wrong_way(table, way)) is not None:
                raise UsageError(f"[tables.{table.name}] {way.column} goes through {way.table}, {wrong}.")
        for table in self.tables:
            self.path(table)  # refuses a cycle

    def _wrong_way(self, table: TablePolicy, way: Through) -> str | None:
        through = self.table(way.table)
        if through is None:
            return f"which is not in the policy: there is no [tables.{way.table}]"
        if through.rows == "people":
            return (
                f'each row of which is a person: write person = "{way.column}", where that column has the values of '
                f"{through.name}.{through.person}"
            )
        if through.rows != "events":
            return f"the rows of which are {through.rows}, and so about nobody: give {table.name} another path"
        if through.key is None:
            return f"which has no key: say with key which of its columns {table.name}.{way.column} has the values of"
        return None

    @property
    def weights(self) -> dict[str, Fraction]:
        """The given weights, of tables and of columns as TABLE.COLUMN."""
        of_tables = {table.name: table.weight for table in self.tables if table.weight != 1}
        of_columns = {f"{one.name}.{column}": weight for one in self.tables for column, weight in one.weights.items()}
        return of_tables | of_columns

    @property
    def people(self) -> TablePolicy | None:
        """The table with one row for each person, if there is one."""
        return next((table for table in self.tables if table.rows == "people"), None)

    def table(self, name: str) -> TablePolicy | None:
        """Return the policy of a table by its name, ignoring case, or None."""
        return next((table for table in self.tables if folded(table.name) == folded(name)), None)

    def path(self, table: TablePolicy) -> tuple[TablePolicy, ...]:
        """Return a table and the tables that link it to the person column. Raises an error for a cycle."""
        found = [table]
        while isinstance(through := found[-1].person, Through):
            following = self.table(through.table)
            if following is None:
                raise UsageError(f"There is no table {through.table!r} in the policy.")
            if following in found:
                circle = " -> ".join(one.name for one in (*found, following))
                raise UsageError(f"The path to a person goes round in a circle: {circle}. One of them needs a column.")
            found.append(following)
        return tuple(found)


OF_TABLES = {
    name: one
    for name, one in settings_of(TablesPolicy).items()
    if name not in SETTINGS or has(row_of(name), "several tables")
}
"""The settings of a policy of several tables, by name."""
_SECTIONS: dict[str, set[str]] = {
    "source": {"from"},
    **{section: names_in(section, OF_TABLES) for section in ("privacy", "search", "release")},
}
_OF_ONE = ("entity", "pseudonymize", "hierarchy_directory", "prepare", "publish", "levels")
"""Settings of a member that not every place has (``kanon_sql.engine.capabilities``)."""
_OF_TABLE = {"rows", "person", "key", "weight", *COLUMNS, *BY_COLUMN}


def _not_of_several(name: str, called: str | None = None) -> str:
    return refused(row_of(name), "several tables", called or name).removesuffix(".")


def has_tables(given: str | os.PathLike[str] | Mapping[str, Any]) -> bool:
    """Return True if a kanon.toml, given as path or content, is a policy of several tables."""
    return TABLES in (given if isinstance(given, Mapping) else toml_document(Path(given)))


def read_tables_policy(path: str | os.PathLike[str]) -> TablesPolicy:
    """Read a policy of several tables from a kanon.toml, or raise a PolicyError."""
    return parsed(Path(path), None, _from_document)


def parse_tables_policy(text: str, path: Path) -> TablesPolicy:
    """Parse a kanon.toml of several tables. Its relative paths start from the directory of ``path``."""
    return parsed(path, text, _from_document)


def write_tables_policy(policy: TablesPolicy, path: str | os.PathLike[str]) -> None:
    """Write a policy of several tables as a kanon.toml that reads back as the same, atomically.

    Raises a UsageError if a hierarchy is a mapping or a data frame, which the file cannot name.
    """
    for table in policy.tables:
        require_in_files(table.hierarchies, "kanon.toml")
    write_whole(Path(path), tables_policy_text(policy, Path(path).parent), "The policy")


def tables_policy_text(policy: TablesPolicy, directory: Path) -> str:
    """Return the text of a kanon.toml in a directory that reads back as the policy."""
    source = {"from": None if policy.source is None else seen_from(directory, policy.source)}
    tables = {table.name: _table_document(table, directory) for table in policy.tables}
    return toml_of({"source": source, **settings_by_section(policy, OF_TABLES, directory), TABLES: tables})


def _table_document(table: TablePolicy, directory: Path) -> dict[str, Any]:
    person = table.person.setting() if isinstance(table.person, Through) else table.person
    own = member_document(table, directory)
    document = {"rows": table.rows, "person": person, "key": table.key, **own.pop("columns"), **own}
    weight = stated_weights({} if table.weight == 1 else {"weight": table.weight})
    return {name: value for name, value in document.items() if value} | weight


def _from_document(document: dict[str, Any], directory: Path) -> TablesPolicy:
    tables = document.get(TABLES)
    if tables is None:
        raise UsageError(
            "there is no section [tables.NAME]: this is a policy of one table, and one of several is needed. kanon "
            "init DATABASE writes one."
        )
    if not isinstance(tables, dict) or not all(isinstance(settings, dict) for settings in tables.values()):
        raise UsageError("tables is a section for each table: [tables.NAME].")
    for section, settings in document.items():
        if section in {"columns", *BY_COLUMN}:
            raise UsageError(f"{_not_of_several(section, f'[{section}]')}.")
        for name in settings if section in _SECTIONS and isinstance(settings, dict) else ():
            if name in SECTIONS[section] - _SECTIONS[section]:
                raise UsageError(f"{_not_of_several(name, f'{section}.{name}')}.")
    require_known(document, _SECTIONS, (TABLES,))
    undecided = [name for name, settings in tables.items() if settings.get("rows") == ""]
    if undecided:
        raise UsageError(
            f'it is not decided what the rows of {", ".join(undecided)} are: rows = "kept" publishes them as they '
            'are, "dropped" leaves the table out, and "events" is for rows about people, with person and roles.'
        )
    source = checked(document.get("source", {}).get("from"), str, "source.from")
    return TablesPolicy(
        tables=tuple(_table(name, settings, directory) for name, settings in tables.items()),
        **settings_in(document, OF_TABLES, directory),
        source=resolved(source, directory) if source else source,
        directory=directory,
    )


def _table(name: str, settings: dict[str, Any], directory: Path) -> TablePolicy:
    where = f"{TABLES}.{name}"
    for own in settings.keys() - _OF_TABLE:
        why = f"there is no setting {own}"
        if isinstance(settings[own], dict):
            why += f'; a table of the schema {name} is written [{TABLES}."{name}.{own}"]'
        raise UsageError(f"[{where}] {why}.")
    return TablePolicy(
        name=name,
        rows=settings.get("rows", "events"),
        person=_person(settings.get("person"), f"{where}.person"),
        key=checked(settings.get("key"), str, f"{where}.key"),
        weight=settings.get("weight", Fraction(1)),
        **member_in(settings, settings, directory, f"{where}."),
    )


def _person(value: Any, where: str) -> str | Through | None:  # noqa: ANN401 - any TOML value
    if isinstance(value, dict):
        if set(value) != {"through", "to"} or not all(isinstance(name, str) for name in value.values()):
            raise UsageError(f'{where} is a column, or {{ through = "COLUMN", to = "TABLE" }}.')
        return Through(value["through"], value["to"])
    found: str | None = checked(value, str, where)
    return found
