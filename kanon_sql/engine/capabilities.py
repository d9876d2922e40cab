"""The support of each command and setting for one table, several tables, and a table in a warehouse, with all refusals.

docs/reference/capabilities.md shows the table; a test tries each cell of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

Place = Literal["one table", "several tables", "PostgreSQL", "Spark"]
PLACES: tuple[Place, ...] = ("one table", "several tables", "PostgreSQL", "Spark")
"""The columns. The first is a table in DuckDB, a file or a data frame; the last two are one table in the warehouse."""
_CALLED: dict[Place, str] = {
    "one table": "a single table in DuckDB or a file",
    "several tables": "a policy of several tables",
    "PostgreSQL": "a table in PostgreSQL",
    "Spark": "a table in Spark",
}


_PARQUET = "leave it out, or export the table to a Parquet file first"


class Capability(NamedTuple):
    """A row of the table."""

    where: str  # ``+`` or ``-`` for each place; a space if the question does not arise
    way_on: str = _PARQUET  # the alternative if it is missing
    of_several: str = "leave it out, or release that table by itself"  # the alternative for several tables
    # parameters of commands (``COMMAND.PARAMETER`` for one command only) and keys of kanon.toml
    settings: tuple[str, ...] = ()


_OF_EACH = "give each table its own, under [tables.NAME] of the policy"
_ALONE = "give a policy of one table"
_OTHER = "other settings of one table"

COMMANDS: dict[str, Capability] = {
    "anonymize": Capability("++++"),
    "apply": Capability("+---", "append to a release in a DuckDB database, from it or from a file", _ALONE),
    "check": Capability("++++"),
    "known": Capability("+-++", of_several=_ALONE),
    "measure": Capability("+-++", of_several=_ALONE),
    "attack": Capability("++++"),
    "report": Capability("+-++", of_several="kanon anonymize --report FILE writes it as the tables are released"),
    "compare": Capability("+-++", of_several=_ALONE),
    "lattice": Capability("+-++", of_several=_ALONE),
    "explore": Capability("+-++", of_several=_ALONE),
    "dp release": Capability("+ --", "export the columns that it publishes to a Parquet file, and release that"),
}
SETTINGS: dict[str, Capability] = {
    "k, time zone, format of results": Capability(
        "++++",
        settings=("source", "policy_file", "k", "time_zone", "output_format", "quiet", "verbose", "from"),
    ),
    "suppression, time limit, seed, key file": Capability(
        "++++", settings=("max_suppressed", "time_limit", "seed", "key_file", "km")
    ),
    "roles and hierarchies on the command line": Capability(
        "+-++",
        of_several=_OF_EACH,
        settings=(
            *("table", "identifying", "quasi_identifiers", "sensitive", "insensitive", "rest", "hierarchy"),
            *("hierarchies", "columns", "weight"),
        ),
    ),
    "entity": Capability("+-++", of_several="person names it in each table", settings=("entity", "count")),
    "privacy models beside k": Capability("+-++"),
    "k of some columns (--known)": Capability("+---", settings=("known",)),
    "algorithms and measures": Capability(
        "+-++", settings=("algorithm", "measure", "choice", "choose", "cut", "labels", "numbers", "pairs")
    ),
    "--search-on warehouse": Capability("--++", "leave it out: the search runs where the table is", "", ("search_on",)),
    "levels": Capability("+-++", settings=("levels",)),
    "prepare": Capability("+---", "make the columns in a view there, and name that", settings=("prepare",)),
    "publish": Capability("+-++", settings=("publish",)),
    "publish: hash, shift-dates": Capability(
        "+---", f"{_PARQUET}: the key of pseudonyms would be in statements, which servers may log"
    ),
    "publish: redact": Capability("+---", f"{_PARQUET}: regular expressions of servers find something else"),
    "pseudonymize": Capability("+---", of_several="person and key become pseudonyms", settings=("pseudonymize",)),
    "a table (--into)": Capability("+-++", of_several="give --into-schema NAME", settings=("into",)),
    "a schema, a directory (--into-schema, --out-dir)": Capability(
        "-+--",
        "name one of several tables with --policy (kanon init DATABASE writes it)",
        settings=("into_schema", "out_dir", "out_directory", "file_format", "schema"),
    ),
    "a view (--as view)": Capability("+-++", of_several="make tables (--into-schema NAME)", settings=("kind",)),
    "a materialized view": Capability("--+-", "make a table, or a view"),
    "a file (--out), a dry run, --replace": Capability("++++", settings=("out", "dry_run", "replace_existing")),
    "in place": Capability(
        "++--",
        "make a table (--into NAME) and drop the old one yourself, since files and logs there keep raw values",
        settings=("in_place", "backup", "no_backup"),
    ),
    "the script (--sql)": Capability("++++", settings=("anonymize.sql",)),
    "the script, of several tables": Capability(" +- ", "leave --sql out, or copy them to a DuckDB file first"),
    "the script, of prepared columns or publish": Capability("+ --", "--sql=all prints the statements that are run"),
    "a lock": Capability("+---", settings=("lock",)),
    "hold out": Capability("+---", settings=("hold_out", "anonymize.control")),
    "the report of a release": Capability("++++", settings=("report_file", "asked_by")),
    "the report of a release in place": Capability(
        "+-  ", of_several="write the release elsewhere with its report first (--out FILE --report FILE)"
    ),
    "ignore the ledger": Capability("++++", settings=("ignore_ledger",)),
    "a control group (--control)": Capability("+---", "export it, the release and the original to files"),
    "the original that an attack compares with": Capability("++++", settings=("attack.original",)),
    _OTHER: Capability("+-++"),
}
CAPABILITIES = COMMANDS | SETTINGS
_BY_SETTING = {name: row for row, own in SETTINGS.items() for name in own.settings}


def has(row: str, place: Place) -> bool:
    return CAPABILITIES[row].where[PLACES.index(place)] == "+"


def refused(row: str, place: Place, called: str | None = None) -> str:
    """Return a sentence that says why a place lacks a row's capability, with the user's name for it."""
    own = CAPABILITIES[row]
    way_on = own.of_several if place == "several tables" else own.way_on
    return f"{called or row} is not for {_CALLED[place]}: {way_on}."


def require(row: str, place: Place, called: str | None = None, error: type[UsageError] = UsageError) -> None:
    """Raise if a place lacks the capability of a row."""
    if CAPABILITIES[row].where[PLACES.index(place)] == "-":
        raise error(refused(row, place, called))


def row_of(setting: str, command: str = "") -> str:
    """Return the row of a parameter or a key; without a row, it is for one table only."""
    return _BY_SETTING.get(f"{command}.{setting}") or _BY_SETTING.get(setting, _OTHER)


def require_options(given: Mapping[str, str], command: str, *, several: bool) -> None:
    """Raise if options, by parameter, do not fit the policy of a command: one of several tables, or of one."""
    for name, option in given.items():
        row = row_of(name, command)
        if several:
            require(row, "several tables", option)
        elif not any(has(row, place) for place in PLACES if place != "several tables"):
            raise UsageError(f"{option} is not for a policy of one table: {CAPABILITIES[row].way_on}.")
