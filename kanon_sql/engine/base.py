"""The engine protocol; columns, and looking up columns and tables by name."""

from __future__ import annotations

import csv
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeVar

from kanon_sql.engine.progress import current_step
from kanon_sql.errors import ComputationError, SourceError, UsageError, did_you_mean
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded, unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from sqlglot import exp

    from kanon_sql.engine.capabilities import Place

    Values = Mapping[str, Any]  # of placeholders
    Cells = Mapping[str, Sequence[str | int | None]]  # columns of a table, all of one type

Family = Literal["integer", "decimal", "float", "date", "timestamp", "boolean", "text", "other"]

_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(
        (
            *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
            *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
        ),
        "integer",
    ),
    "FLOAT": "float",
    "DOUBLE": "float",
    "DATE": "date",
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"), "timestamp"
    ),
    "BOOLEAN": "boolean",
    "VARCHAR": "text",
}
NUMBERS = frozenset({"integer", "decimal", "float"})


@dataclass(frozen=True)
class Column:
    """A column of a relation: its name, and the engine's name of its type."""

    name: str
    type: str

    @property
    def family(self) -> Family:
        """The kind of type, as coarse as hierarchies and measures need it."""
        if self.type.endswith("]"):  # a list or an array of any type
            return "other"
        if self.type.startswith("DECIMAL"):
            return "decimal"
        if self.type.startswith("ENUM"):
            return "text"
        return _FAMILIES.get(self.type, "other")

    @property
    def kind(self) -> str:
        """The type without possible values (members of an ENUM, field names); digits of a DECIMAL and [] stay."""
        if self.type.startswith("DECIMAL"):
            return self.type
        lists = re.search(r"(\[\d*\])*$", self.type)
        return re.split(r"[(\[]", self.type, maxsplit=1)[0] + (lists[0] if lists else "")

    @property
    def is_numeric(self) -> bool:
        """Whether values have a distance: numbers, and dates in days."""
        return self.family in {"integer", "decimal", "float", "date", "timestamp"}

    @property
    def is_zoned(self) -> bool:
        """Whether values are instants or contain some: their texts and days depend on a time zone."""
        return "TIMESTAMP WITH TIME ZONE" in self.type or "TIMESTAMPTZ" in self.type

    @property
    def decimals(self) -> int:
        """Digits after the decimal point of a DECIMAL; 0 for other types."""
        return int(self.type.rstrip(")").partition(",")[2]) if self.family == "decimal" else 0

    @property
    def lookup_type(self) -> str:
        """The type of this column's values in the lookup table of a hierarchy."""
        return "VARCHAR" if self.family == "text" else self.type


@dataclass(frozen=True)
class Constraint:
    """A key of a table, or a foreign key with the table it refers to: a row of ``catalog/constraints``."""

    schema: str
    table: str
    kind: str  # PRIMARY KEY, UNIQUE or FOREIGN KEY
    columns: Sequence[str]
    referred_schema: str | None = None
    referred_table: str | None = None
    referred_columns: Sequence[str] = ()

    @property
    def referred(self) -> tuple[str, str] | None:
        """Schema and name of the table that a foreign key refers to."""
        return (self.referred_schema, self.referred_table) if self.referred_schema and self.referred_table else None


_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
_LARGEST_FLOAT = "3.4028234663852886e38"


def bounds_of(column: Column) -> tuple[str, str] | None:
    """Return the least and the largest number of a column's type; None if all numbers fit."""
    if column.family == "integer":
        is_signed = column.type in _BITS
        bits = _BITS[column.type if is_signed else column.type.removeprefix("U")]
        return (str(-(2 ** (bits - 1))), str(2 ** (bits - 1) - 1)) if is_signed else ("0", str(2**bits - 1))
    if column.family == "decimal":
        digits, scale = map(int, re.findall(r"[0-9]+", column.type))
        largest = f"{'9' * (digits - scale)}.{'9' * scale}".rstrip(".")
        return f"-{largest}", largest
    return (f"-{_LARGEST_FLOAT}", _LARGEST_FLOAT) if column.type == "FLOAT" else None


class _Closable(Protocol):
    def close(self) -> None: ...


Opened = TypeVar("Opened", bound=_Closable)


class Closing(_Closable):
    """A context manager that is closed at the end of its block."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def closed_on_error(opened: Opened) -> Iterator[Opened]:
    """Close an opened object if the block fails."""
    try:
        yield opened
    except BaseException:
        opened.close()
        raise


@dataclass(frozen=True)
class Logged:
    """A statement that was run, its purpose, and the values of its placeholders except secret ones.

    A statement that ran in a warehouse has a dialect of its own.
    """

    title: str
    statement: exp.Expr
    parameters: Mapping[str, Any]
    dialect: str | None = None
    step: str = field(default_factory=current_step)  # the step of the release that ran it


class Engine(Protocol):
    """Runs the statements of a search. State (frequency sets, lookup tables) lives in its temporary tables.

    The named objects of a database (relations, the ledger, hierarchies) are handled by ``DuckDBEngine``, and by the
    workbench of a warehouse, which overrides it.
    """

    dialect: str
    kind: Place = "one table"
    forgets: str | None = None  # a sentence on why its tables are lost when the program ends
    statements: list[Logged]
    listener: Callable[[Logged], None] | None = None
    has_collations: bool = False
    tests_together: bool = False  # it is faster to test several lattice nodes at once, with a query for each
    joins_masks: bool = False  # ... or, for few tuples, with a join to the masks of each
    all_or_nothing: bool = True  # transactions are atomic
    is_shared: bool = True  # others may change tables or files between two statements
    _temporary: list[exp.Table]
    _names: set[str] | None = None  # names that temporary tables must not take; read once

    def run(self, statement: exp.Expr, title: str = "") -> None:
        """Run a statement whose result is not needed."""
        self.rows(statement, title)

    def rows(self, statement: exp.Expr, title: str = "", parameters: Values | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a query, which is stopped at a deadline; ``--sql=all`` shows the title.

        ``parameters`` are the values of placeholders. Pass them, even an empty mapping, for a statement that is run
        often: its text is then cached. A ``Secret`` is bound and never logged.
        """

    def row(self, statement: exp.Expr, title: str = "", parameters: Values | None = None) -> tuple[Any, ...]:
        """Return the single row of a query."""
        (only,) = self.rows(statement, title, parameters)
        return only

    def load(self, table: exp.Table, columns: Cells, title: str, data_type: str = "VARCHAR") -> None:
        """Create a temporary table from Python lists of equal length, all columns of one type."""

    def share_done(self) -> float | None:
        """Return the finished share of the running statement, 0 to 1; None if unknown. Callable from any thread."""
        return None

    def columns(self, relation: exp.Expr) -> tuple[Column, ...]:
        """Return the columns of a table in order; in DuckDB, also of a subquery."""

    def engine_of(self, relation: exp.Table) -> Engine:  # noqa: ARG002 - a workbench looks at it
        """Return the engine that counts the tuples of a relation: a warehouse if they must stay there."""
        return self

    def may_read(self, relation: exp.Table) -> bool:  # noqa: ARG002 - as above
        """Return True if this user may read one of kanon's own tables; it need not exist."""
        return True

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context in which all statements take effect together or not at all."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a context in which all statements see the same rows, even if others change the tables."""
        return self.transaction()

    def changed_files(self) -> list[str]:
        """Return the files that are read in place and were changed, made or removed since they were opened."""
        return []

    def in_transaction(self) -> bool:
        """Return True if a transaction is open, which only the owner of the connection can have started."""
        return False

    def names_in_use(self) -> Iterable[str]:
        """Return the names that temporary tables must not take."""

    def temporary_name(self, wanted: str) -> exp.Table:
        """Return an unused name for a temporary table; ``forget`` drops the table."""
        if self._names is None:
            self._names = set(self.names_in_use())
        name = unused_name(wanted, self._names)
        self._names.add(name)
        self._temporary.append(sql.relation(name))
        return sql.relation(name)

    def forget(self) -> None:
        """Drop every temporary table that this engine made."""

    def close(self) -> None:
        """Drop what this engine made, and close what it opened."""


def error_of(database: str, doing: str, *, says: str = "", kind: str = "", of_values: bool = False) -> SourceError:
    """Return the error of a failed statement: with the database's message if that quotes no cell, else with its kind.

    ``of_values``: the statement could have succeeded on other values.
    """
    if says:
        return SourceError(f"{database} stopped{doing}. It says: {says}.")
    return (ComputationError if of_values else SourceError)(
        f"{database} stopped with {kind}{doing}. Its text may quote data and is not shown; --sql prints the "
        "statements, to be run by hand."
    )


def lost(database: str, doing: str) -> SourceError:
    return SourceError(f"The connection to {database} was lost{doing}. Connect again, and run this once more.")


def names(given: Sequence[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise UsageError(f"Give a list of column names, such as [{given!r}], not a text.")
    return tuple(given)


def named_once(names: Iterable[str], source: str) -> None:
    """Raise if SQL cannot distinguish two names: DuckDB would rename one, and a role could go to the wrong one."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.get(folded(name))) is not None:
            raise UsageError(
                f"{source} has two columns that SQL cannot tell apart, {other!r} and {name!r}: rename or drop one."
            )
        seen[folded(name)] = name


def _in_short(names: Sequence[str]) -> str:
    shown = 20
    return ", ".join(names[:shown]) + (f" and {len(names) - shown:,} more" if len(names) > shown else "")


def resolve_columns(names: Iterable[str], columns: Sequence[Column], table: str) -> list[Column]:
    """Return the columns of these names; an exact match comes first, then one that ignores case, as in SQL."""
    resolved = []
    for name in names:
        column = find_column(name, columns)
        if column is None:
            known = [column.name for column in columns]
            raise UsageError(f"{table} has no column {name!r}. It has: {_in_short(known)}.{did_you_mean(name, known)}")
        resolved.append(column)
    return resolved


_NAME = re.compile(r'(?:^|,)\s*(?:"((?:[^"]|"")*)"\s*(?=,|\Z)|([^,]*))', re.DOTALL)


def split_names(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names in texts; each text is a name or a comma-separated list of names.

    >>> split_names(["age,sex", '"income, net"'])
    ('age', 'sex', 'income, net')
    """
    found = [part for text in texts for part in _NAME.findall(text)]
    return tuple(quoted.replace('""', '"') if quoted else plain.strip() for quoted, plain in found)


def name_and_value(text: str) -> tuple[str, str]:
    """Return both sides of NAME=VALUE; a name that contains ``=`` is in double quotes.

    >>> name_and_value("zip=mask"), name_and_value('"a=b"=flat')
    (('zip', 'mask'), ('a=b', 'flat'))
    """
    quoted = re.fullmatch(r'"((?:[^"]|"")*)"=(.*)', text, re.DOTALL)
    name, _, value = text.partition("=") if quoted is None else (quoted[1].replace('""', '"'), "", quoted[2])
    return name, value


def written_name(name: str) -> str:
    """Return a name in the syntax of options, in a list or before ``=``."""
    is_plain = name == name.strip() and not {*name} & {*',="\r\n'}
    return name if is_plain else '"' + name.replace('"', '""') + '"'


def split_values(names: str) -> list[str]:
    """Split a text like a line of a CSV file."""
    try:
        return [part.strip() for part in next(csv.reader([names], skipinitialspace=True), [])] or [names]
    except csv.Error:
        return [names]


def find_column(name: str, columns: Sequence[Column]) -> Column | None:
    """Return the column of a name: an exact match, or else one that ignores case.

    No relation that DuckDB reads has two columns that differ only in case; ``open_source`` refuses others.
    """
    exact = next((column for column in columns if column.name == name), None)
    return exact or next((column for column in columns if folded(column.name) == folded(name)), None)


def find_columns(names: Iterable[str], columns: Sequence[Column]) -> list[Column]:
    return [column for name in names if (column := find_column(name, columns)) is not None]


def chosen_table(
    listed: list[tuple[Any, ...]],
    wanted: str | None,
    place: str,
    releases: Callable[[], list[tuple[Any, ...]]] | None = None,
    what: tuple[str, str] = ("table or view", "tables and views"),
) -> tuple[exp.Table, str]:
    """Return the table of a name from a list of catalog, schema, name and proximity.

    Without a name, return the only table. ``releases`` returns schema and name of tables and of their releases; if it
    is given, releases of a table do not count as other tables.
    """
    if wanted is None:
        matches = listed
        if len(listed) > 1 and releases is not None:
            made = releases()
            matches = [
                row
                for row in listed
                if all(
                    each is row or (each[0] == row[0] and (*row[1:3], *each[1:3]) in made)  # a release of the row
                    for each in listed
                )
            ]
        if len(matches) != 1:
            raise UsageError(f"{place} has {len(listed)} {what[1]}: name the one to use{_list(listed)}.")
    else:
        matches = [
            row
            for row in listed
            if folded(wanted) in {folded(row[2]), folded(f"{row[1]}.{row[2]}"), folded(".".join(row[:3]))}
        ]
        if len(matches) > 1:
            matches = [row for row in matches if wanted in {row[2], f"{row[1]}.{row[2]}", ".".join(row[:3])}] or matches
            nearest = max(row[3] for row in matches)
            matches = [row for row in matches if row[3] == nearest]
    if not matches:
        raise UsageError(f"{place} has no {what[0]} {wanted!r}{_list(listed)}.")
    if len(matches) > 1:
        raise UsageError(f"{wanted!r} names {len(matches)} tables in {place}: write SCHEMA.TABLE.")
    catalog, schema, name, nearness, *_ = matches[0]
    return (sql.relation(name) if nearness else sql.relation(name, schema, catalog or None)), name


def _list(listed: list[tuple[Any, ...]]) -> str:
    return f". There: {_in_short([str(row[2]) for row in listed])}" if listed else ""


def make_table(engine: Engine, wanted: str, query: exp.Query, title: str) -> exp.Table:
    """Create a temporary table from a query; return its name: as wanted, or a similar one if that is in use."""
    relation = engine.temporary_name(wanted)
    engine.run(sql.create_table(relation, query, temporary=True), title)
    return relation
