"""What is required of several tables of a database that are released together: a kanon.toml with ``[tables.NAME]``.

    [source]
    from = "clinic.duckdb"

    [privacy]
    k = 5
    km = 1                                  # events that an attacker may know

    [search]
    max_suppressed = 0.02                   # of the people, and of the events of each table
    time_limit = 60

    [release]
    into_schema = "released"                # or out = "released.duckdb", or out_directory = "released",
                                            # or in_place = true (with backup = "FILE" or false)
    seed = 42
    time_zone = "Europe/Berlin"             # of labels and texts of a TIMESTAMP WITH TIME ZONE; without it, UTC
    key_file = "pseudonyms.key"

    [tables.patients]
    rows = "people"                         # one row for each person
    person = "patient_id"                   # the column that names the person
    quasi_identifiers = ["birth_date", "sex"]
    rest = "drop"
    hierarchies = { birth_date = "date:year,decade" }

    [tables.visits]                         # rows are events, unless something else is said
    person = "patient_id"
    key = "visit_id"                        # to which other tables refer
    quasi_identifiers = ["day"]

    [tables.prescriptions]
    person = { through = "visit_id", to = "visits" }
    quasi_identifiers = ["drug"]

    [tables.wards]
    rows = "kept"                           # about nobody: published as it is; or "dropped"

Paths in the file start from the directory of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from kanon_sql.engine.files import relative_path, write_whole
from kanon_sql.engine.sources.addresses import resolved, seen_from
from kanon_sql.engine.time_zones import UTC
from kanon_sql.errors import PolicyError, UsageError
from kanon_sql.hierarchy.spec import all_given, require_in_files, rule_text
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.destination import NO_BACKUP_ELSEWHERE, Backup, Origin
from kanon_sql.policy.policy import (
    BY_COLUMN,
    DEFAULT_K,
    DEFAULT_MAX_SUPPRESSED,
    SECTIONS,
    SETTINGS,
    TABLES,
)
from kanon_sql.policy.roles import NamedColumns, Rest
from kanon_sql.policy.settings import (
    backup_in,
    backup_setting,
    check_settings,
    checked,
    column_names,
    moved_rule,
    names_in,
    one_of,
    settings_in,
    settings_of_section,
    toml_document,
    toml_text,
)
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from kanon_sql.hierarchy.spec import Given

Rows = Literal["people", "events", "kept", "dropped"]
MOST_EVENTS = 3
"""The largest ``km``: combinations of more events than that are too many to count."""


@dataclass(frozen=True)
class Through:
    """How a row reaches its person by another row: ``column`` has the key of a row of ``table``."""

    column: str
    table: str


@dataclass(frozen=True)
class TablePolicy:
    """What is required of one of the tables.

    Attributes:
        name: of the table; with its schema before a point, where that is not the current one.
        rows: what they are: people (one row each), events of people, or of nobody: kept as they are, or dropped.
        person: the column that names the person, or how a row reaches the row that has it; None where rows are of
            nobody.
        key: the column that names a row, where other tables refer to it.
        columns: the roles of its columns. Those that name persons and rows have none: they become pseudonyms.
        hierarchies: for quasi-identifiers, a rule or a file; or, from Python, a mapping or a data frame.
    """

    name: str
    rows: Rows = "events"
    person: str | Through | None = None
    key: str | None = None
    columns: NamedColumns = field(default_factory=NamedColumns)
    hierarchies: Mapping[str, Given] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", all_given(self.hierarchies))
        if self.rows not in get_args(Rows):
            raise self._error(f"rows is {' or '.join(get_args(Rows))}, not {self.rows!r}")
        for name, value in (("entity", self.columns.entity), ("pseudonymize", self.columns.pseudonymize)):
            if value:
                raise self._error(f"{name}: {_NOT_YET}")
        if self.rows in {"kept", "dropped"}:
            self._require_nothing_of_persons()
        elif self.person is None:
            raise self._error(
                'it is not said how a row reaches its person: write person = "COLUMN", or person = { through = '
                '"COLUMN", to = "TABLE" }; or, where rows are about nobody, rows = "kept" or rows = "dropped"'
            )
        elif self.rows == "people":
            self._require_people()
        self._require_columns_once()

    @property
    def reference(self) -> str | None:
        """The column that leads to the person, or to the row that does."""
        return self.person.column if isinstance(self.person, Through) else self.person

    def _require_nothing_of_persons(self) -> None:
        given = {"person": self.person, "key": self.key, **vars(self.columns), "hierarchies": self.hierarchies}
        if said := [name for name, value in given.items() if value]:
            raise self._error(
                f"rows that are {self.rows} are about nobody, and so the table has no {said[0]}: leave it out, or say "
                "how a row reaches its person"
            )

    def _require_people(self) -> None:
        if isinstance(self.person, Through):
            raise self._error("each row is a person, and so person is the column that names her, not a path")
        if self.key is not None:
            raise self._error(
                "each row is a person, and so its key is the column of the person: leave key out. In tables that "
                "refer to it, person is the column that does"
            )

    def _require_columns_once(self) -> None:
        """Raise where a column that becomes a pseudonym is named as something else too."""
        column = self.person.column if isinstance(self.person, Through) else self.person
        names = {folded(name): what for name, what in ((column, "names the person"), (self.key, "is the key")) if name}
        if isinstance(self.person, Through):
            names[folded(self.person.column)] = f"refers to {self.person.table}"
        if None not in (column, self.key) and len(names) == 1:
            raise self._error(
                f"column {self.key!r} is the key and the way to the person: leave key out, and let the tables that "
                f"refer to it go where {self.name} goes"
            )
        for role in (*_ROLES, "hierarchies"):
            listed: Iterable[str] = self.hierarchies if role == "hierarchies" else getattr(self.columns, role)
            if twice := [name for name in listed if folded(name) in names]:
                raise self._error(
                    f"column {twice[0]!r} {names[folded(twice[0])]}, and becomes a pseudonym: leave it out of {role}"
                )
        known = {folded(name) for name in self.columns.quasi_identifiers}
        if others := [name for name in self.hierarchies if folded(name) not in known]:
            raise self._error(f"column {others[0]!r} has a hierarchy and is no quasi-identifier: name it as one too")

    def _error(self, text: str) -> UsageError:
        return UsageError(f"[tables.{self.name}] {text}.")


@dataclass(frozen=True)
class TablesPolicy:
    """What is required of tables that are released together.

    Attributes:
        tables: in the order of the file.
        k: people that share what is published of a person, and of any ``km`` of her events.
        km: events that an attacker may know.
        max_suppressed: the share of the people, and of the events of each table, that may be left out; as for one
            table.
        time_limit: seconds for all of the work.
        seed: of the order of rows; drawn when not given.
        time_zone: in which labels and texts of a TIMESTAMP WITH TIME ZONE are computed.
        key_file: the file with the key of pseudonyms; drawn for this release if there is none.
        source: the database, where the file names it.
        into_schema: the schema that the release is written to, where the file names it.
        out: the DuckDB file that it is written to.
        out_directory: the directory that files are written to.
        in_place: whether it takes the place of its tables.
        backup: where the file of those tables is copied to first, or False; one of both is required in place.
        directory: of the policy file, from which paths start.
    """

    tables: tuple[TablePolicy, ...]
    k: int = DEFAULT_K
    km: int = 1
    max_suppressed: float | str = DEFAULT_MAX_SUPPRESSED
    time_limit: float | None = None
    seed: int | None = None
    key_file: Path | None = None
    source: str | None = None
    into_schema: str | None = None
    out: Path | None = None
    out_directory: Path | None = None
    in_place: bool = False
    backup: Backup = None
    directory: Path = Path()
    time_zone: str = UTC

    def __post_init__(self) -> None:
        KAnonymity(self.k)  # complains of a k that is none
        if isinstance(self.km, bool) or not isinstance(self.km, int) or not 1 <= self.km <= MOST_EVENTS:
            raise UsageError(f"km is the number of events that an attacker may know, 1 to {MOST_EVENTS}: {self.km!r}.")
        check_settings(self, _SETTINGS)
        if self.source is not None:
            Origin(self.source)  # complains of one that is empty, or has a password in it
        places = (self.into_schema, self.out, self.out_directory)
        if sum(place is not None for place in places) + self.in_place > 1:
            raise UsageError("A release goes to one place: give one of into_schema, out, out_directory and in_place.")
        if self.backup is not None and not self.in_place:
            raise UsageError(NO_BACKUP_ELSEWHERE)
        if self.into_schema is not None and not self.into_schema.strip():
            raise UsageError("into_schema is empty: name a schema there, or leave it out.")
        self._require_names()
        self._require_paths()
        # A way names its table as the section does, whatever its case was.
        named = [
            replace(table, person=replace(table.person, table=self.path(table)[1].name))
            if isinstance(table.person, Through)
            else table
            for table in self.tables
        ]
        object.__setattr__(self, "tables", tuple(named))

    def _require_names(self) -> None:
        names = [folded(table.name) for table in self.tables]
        if twice := [table.name for table in self.tables if names.count(folded(table.name)) > 1]:
            raise UsageError(f"Table {twice[0]!r} is in the policy twice: names differ in more than case.")
        people = [table.name for table in self.tables if table.rows == "people"]
        if len(people) > 1:
            raise UsageError(
                f'rows = "people" is said of {" and ".join(people)}: one table has a row for each person. Call the '
                'rows of the other rows = "events".'
            )
        of_persons = [table for table in self.tables if table.person is not None]
        if not of_persons:
            raise UsageError("No table has rows of people or their events: name one with person.")
        if not any(table.columns.quasi_identifiers for table in of_persons):
            raise UsageError(
                "No table has a quasi-identifier: name the columns that others could know in quasi_identifiers."
            )

    def _require_paths(self) -> None:
        for table in self.tables:
            if not isinstance(table.person, Through):
                continue
            said = f"[tables.{table.name}] {table.person.column} goes through {table.person.table}, "
            through = self.table(table.person.table)
            if through is None:
                raise UsageError(f"{said}which is not in the policy: there is no [tables.{table.person.table}].")
            if through.rows == "people":
                raise UsageError(
                    f'{said}each row of which is a person: write person = "{table.person.column}", where that column '
                    f"has the values of {through.name}.{through.person}."
                )
            if through.rows != "events":
                raise UsageError(
                    f"{said}the rows of which are {through.rows}, and so about nobody: give it a person, or give "
                    f"{table.name} another path."
                )
            if through.key is None:
                raise UsageError(
                    f"{said}which has no key: say with key which of its columns {table.name}.{table.person.column} "
                    "has the values of."
                )
        for table in self.tables:
            if table.person is not None:
                self.path(table)  # complains of a circle

    @property
    def people(self) -> TablePolicy | None:
        """The table that has a row for each person, if there is one."""
        return next((table for table in self.tables if table.rows == "people"), None)

    def table(self, name: str) -> TablePolicy | None:
        """Return the policy of a table by its name, in any case, if it is there."""
        return next((table for table in self.tables if folded(table.name) == folded(name)), None)

    def path(self, table: TablePolicy) -> tuple[TablePolicy, ...]:
        """Return a table and those that its rows go through to their person; the last one has a column that names her.

        Raises:
            UsageError: the tables lead round in a circle.
        """
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


_SETTINGS = {name: SETTINGS[name] for name in ("max_suppressed", "time_limit", "seed", "time_zone", "key_file")}
"""Those of a policy of one table that hold for several as well."""
_SECTIONS: dict[str, set[str]] = {
    "source": {"from"},
    "privacy": {"k", "km"},
    "search": names_in("search", _SETTINGS),
    "release": {"into_schema", "out", "out_directory", "in_place", "backup", *names_in("release", _SETTINGS)},
}
_ROLES = ("identifying", "quasi_identifiers", "sensitive", "insensitive", "proposed")
_OF_TABLE = {"rows", "person", "key", "rest", "hierarchies", *_ROLES}
_NOT_YET = "a policy of several tables does not have it yet"
_IN_EACH_TABLE = {"columns", "hierarchies"}  # sections of a policy of one table, which are in [tables.NAME] here


def has_tables(given: str | os.PathLike[str] | Mapping[str, Any]) -> bool:
    """Tell whether a kanon.toml, as a path or as what was read from it, is a policy of several tables.

    Raises:
        PolicyError: the file cannot be read.
    """
    document = given if isinstance(given, Mapping) else toml_document(toml_text(Path(given)), Path(given))
    return TABLES in document


def read_tables_policy(path: str | os.PathLike[str]) -> TablesPolicy:
    """Return the policy in a kanon.toml of several tables.

    Raises:
        PolicyError: it cannot be read, is a policy of one table, or says something that cannot be meant.
    """
    return parse_tables_policy(toml_text(Path(path)), Path(path))


def parse_tables_policy(text: str, path: Path) -> TablesPolicy:
    """Return what a kanon.toml of several tables says; its relative paths start from where ``path`` lies."""
    document = toml_document(text, path)
    try:
        return _from_document(document, path.parent)
    except UsageError as error:
        raise PolicyError(f"{path}: {error}") from None


def write_tables_policy(policy: TablesPolicy, path: str | os.PathLike[str]) -> None:
    """Write a policy of several tables as a kanon.toml that reads back as the same, whole or not at all.

    Raises:
        SourceError: the file cannot be written.
        UsageError: a hierarchy is a mapping or a data frame, which the file cannot name.
    """
    for table in policy.tables:
        require_in_files(table.hierarchies, "kanon.toml")
    write_whole(Path(path), tables_policy_text(policy, Path(path).parent), "The policy")


def tables_policy_text(policy: TablesPolicy, directory: Path) -> str:
    """Return the text of a kanon.toml that reads back as a policy, where it lies in a directory."""
    import tomli_w

    def relative(path: Path | None) -> str | None:
        return None if path is None else relative_path(path, directory)

    document: dict[str, dict[str, Any]] = {
        "source": {"from": None if policy.source is None else seen_from(directory, policy.source)},
        "privacy": {"k": policy.k, "km": policy.km},
        "search": settings_of_section(policy, _SETTINGS, "search", directory),
        "release": {
            "into_schema": policy.into_schema,
            "out": relative(policy.out),
            "out_directory": relative(policy.out_directory),
            "in_place": policy.in_place or None,
            "backup": backup_setting(policy.backup, directory),
            **settings_of_section(policy, _SETTINGS, "release", directory),
        },
    }
    given = {name: {key: value for key, value in one.items() if value is not None} for name, one in document.items()}
    tables = {table.name: _table_document(table, policy.directory, directory) for table in policy.tables}
    return tomli_w.dumps({**{name: section for name, section in given.items() if section}, TABLES: tables})


def _table_document(table: TablePolicy, old: Path, new: Path) -> dict[str, Any]:
    through = table.person
    person = {"through": through.column, "to": through.table} if isinstance(through, Through) else through
    columns = {name: list(getattr(table.columns, name)) for name in _ROLES}
    hierarchies = {name: moved_rule(rule, old, new) for name, rule in table.hierarchies.items()}
    document = {"person": person, "key": table.key, **columns, "rest": table.columns.rest, "hierarchies": hierarchies}
    return {"rows": table.rows, **{name: value for name, value in document.items() if value}}


def _from_document(document: dict[str, Any], directory: Path) -> TablesPolicy:
    tables = document.get(TABLES)
    if tables is None:
        raise UsageError(
            "there is no section [tables.NAME]: this is a policy of one table, and one of several is needed. kanon "
            "init DATABASE writes one."
        )
    for section, settings in document.items():
        if section != TABLES:
            _require_settings(section, settings)
    if not isinstance(tables, dict) or not all(isinstance(settings, dict) for settings in tables.values()):
        raise UsageError("tables is a section for each table: [tables.NAME].")
    undecided = [name for name, settings in tables.items() if settings.get("rows") == ""]
    if undecided:
        raise UsageError(
            f"it is not decided what the rows of {', '.join(undecided)} are. Where they are about nobody, write rows = "
            '"kept" (they are published as they are) or rows = "dropped" (the table is left out). Where they are about '
            'people, write rows = "events", how a row reaches its person (person), and the roles of the columns.'
        )
    privacy, release = (document.get(name, {}) for name in ("privacy", "release"))
    source = checked(document.get("source", {}).get("from"), str, "source.from")
    out, out_directory = (checked(release.get(name), str, f"release.{name}") for name in ("out", "out_directory"))
    return TablesPolicy(
        tables=tuple(_table(name, settings) for name, settings in tables.items()),
        k=checked(privacy.get("k", DEFAULT_K), int, "privacy.k"),
        km=checked(privacy.get("km", 1), int, "privacy.km"),
        **settings_in(document, _SETTINGS, directory),
        source=resolved(source, directory) if source else source,
        into_schema=checked(release.get("into_schema"), str, "release.into_schema"),
        out=directory / out if out else None,
        out_directory=directory / out_directory if out_directory else None,
        in_place=checked(release.get("in_place", False), bool, "release.in_place"),
        backup=backup_in(release, directory),
        directory=directory,
    )


def _require_settings(section: str, settings: Any) -> None:  # noqa: ANN401 - what a TOML file may hold
    """Raise where a section is none of a policy of several tables, or has a setting that it has not."""
    if section in _IN_EACH_TABLE:
        raise UsageError(
            f"[{section}] is of a policy of one table. In one of several each table has its own, in "
            f"[{TABLES}.NAME]{' hierarchies' if section == 'hierarchies' else ''}."
        )
    if section in BY_COLUMN:
        raise UsageError(f"[{section}]: {_NOT_YET}.")
    if section not in _SECTIONS or not isinstance(settings, dict):
        raise UsageError(f"[{section}] is not a section. Sections are {', '.join(_SECTIONS)}, tables.NAME.")
    for name in settings:
        if name not in _SECTIONS[section]:
            why = _NOT_YET if name in SECTIONS[section] else "there is no such setting"
            raise UsageError(f"{section}.{name}: {why}.")


def _table(name: str, settings: dict[str, Any]) -> TablePolicy:
    where = f"{TABLES}.{name}"
    of_one = SECTIONS["columns"] | set(BY_COLUMN)
    for setting, value in settings.items():
        if setting not in _OF_TABLE:
            why = _NOT_YET if setting in of_one else "there is no such setting"
            if isinstance(value, dict):
                why += f'; a table of the schema {name} is written [{TABLES}."{name}.{setting}"]'
            raise UsageError(f"[{where}] {setting}: {why}.")
    hierarchies = settings.get("hierarchies", {})
    if not isinstance(hierarchies, dict):
        raise UsageError(f'{where}.hierarchies has a rule for each column, as in {{ zip = "mask:right" }}.')
    roles: dict[str, Any] = {role: column_names(settings.get(role, []), f"{where}.{role}") for role in _ROLES}
    return TablePolicy(
        name=name,
        rows=settings.get("rows", "events"),
        person=_person(settings.get("person"), f"{where}.person"),
        key=checked(settings.get("key"), str, f"{where}.key"),
        columns=NamedColumns(**roles, rest=one_of(settings.get("rest"), get_args(Rest), f"{where}.rest")),
        hierarchies={column: rule_text(rule, f"{where}.hierarchies.{column}") for column, rule in hierarchies.items()},
    )


def _person(value: Any, where: str) -> str | Through | None:  # noqa: ANN401 - what a TOML file may hold
    if isinstance(value, dict):
        if set(value) != {"through", "to"} or not all(isinstance(name, str) for name in value.values()):
            raise UsageError(f'{where} is a column, or {{ through = "COLUMN", to = "TABLE" }}.')
        return Through(value["through"], value["to"])
    found: str | None = checked(value, str, where)
    return found
