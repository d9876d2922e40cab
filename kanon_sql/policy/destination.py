"""The origin of a release and its destination."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from kanon_sql.engine.sources.addresses import path_in, shown_source, without_secrets
from kanon_sql.engine.sources.layout import (
    DECIMAL_SIGN,
    DELIMITER_BY_SUFFIX,
    DELIMITERS,
    NOT_STATED,
    DataFile,
    Layout,
    data_file,
    decimal_sign,
    encoding_named,
)
from kanon_sql.errors import UsageError
from kanon_sql.policy.settings import check_settings, either, setting, settings_of
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from kanon_sql.engine.sources.open_source import Source

Kind = Literal["table", "view", "materialized-view"]
Backup: TypeAlias = Path | Literal[False] | None
"""A file for a copy of the raw rows; False for no copy; None if the caller did not decide."""
OF_CSV = {
    "spreadsheet_safe": "--spreadsheet-safe",
    "delimiter": "--delimiter",
    "encoding": "--out-encoding",
    "decimal": "--out-decimal",
}
"""Settings for CSV files only, and their options."""
NO_BACKUP_ELSEWHERE = "--backup and --no-backup are for a release in place: give --in-place, or leave them out."


def decided_backup(backup: str | os.PathLike[str] | Literal[False] | None) -> Path | None:
    """Return the file of a backup, or None for no backup. Raises a UsageError if the call does not decide."""
    if backup is None:
        raise UsageError("--in-place removes the raw rows: add --backup FILE to keep a copy of them, or --no-backup.")
    return None if backup is False else Path(backup)


@dataclass(frozen=True)
class Origin:
    """The original table of a release: the section ``[source]`` of a policy file.

    Attributes:
        source: a path, or an address without a password.
        table: the table, if the source is a database; None for the only one.
    """

    source: str
    table: str | None = None
    layout: Layout = NOT_STATED

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", os.fspath(self.source))
        if not self.source.strip():
            raise UsageError("[source] from is empty: name a file, a database or an address there.")
        if self.table is not None and not self.table.strip():
            raise UsageError("[source] table is empty: name a table there, or leave it out.")
        if without_secrets(self.source) != self.source:
            raise UsageError(
                "[source] from has a password or settings in it, and policy files are handed on: give them by the "
                "environment (PGPASSWORD, PGSSLMODE, MYSQL_PWD), or by a secret of DuckDB."
            )

    def is_same(self, other: Origin | None) -> bool:
        """Return True if another origin may be the same table, written differently."""
        if other is None or _place(self.source) != _place(other.source):
            return False
        return None in {self.table, other.table} or folded(str(self.table)) == folded(str(other.table))

    @property
    def opens(self) -> str | DataFile:
        return data_file(self.source, self.layout)

    @property
    def original(self) -> str | Path | DataFile:
        """The object to open. A path is a Path, so it cannot be confused with the name of a table beside a release."""
        is_path = isinstance(self.opens, str) and path_in(self.source) == self.source
        return Path(self.source) if is_path else self.opens


def _place(source: str) -> str:
    path = path_in(source)
    return source if path is None else os.path.realpath(path)


def _backup(given: Any) -> Any:  # noqa: ANN401 - any value of a policy file
    if given == "":
        raise ValueError(given)
    return False if given is False else Path(given)


def _delimiter(given: str) -> str:
    known = {**DELIMITERS, **{sign: sign for sign in DELIMITERS.values()}}
    if given not in known:
        raise ValueError(given)
    return known[given]


_AS_READ = "default: as in the CSV file that is read"


@dataclass(frozen=True)
class Destination:
    """The destination of a release: at most one of ``into``, ``out`` and ``in_place``. Each ``setting`` has its help.

    ``in_place`` requires ``backup``. ``dry_run`` makes and checks everything and writes nothing.
    """

    into: str | None = setting(
        "Put the release into the database under this name.", "release", str, metavar="NAME", is_shown=True
    )
    kind: Kind = setting(
        "What --into makes: table, view or materialized-view.",
        "release",
        get_args(Kind),
        metavar="KIND",
        default="table",
        key="as",
        is_shown=True,
    )
    out: Path | None = setting(
        "Write a .csv, .parquet, .json, .xlsx or .duckdb file, or stdout (-).",
        "release",
        Path,
        metavar="FILE",
        is_shown=True,
    )
    in_place: bool = setting(
        "Replace the table by the release; no raw value remains.", "release", bool, default=False, is_shown=True
    )
    backup: Backup = setting(
        "With --in-place: copy the file first, with all raw rows.",
        "release",
        Path,
        also=("boolean",),
        must="the name of a file, or false",
        read=_backup,
        metavar="FILE",
        is_shown=True,
    )
    replace: bool = setting(
        "Replace a release, view or file of that name.", "release", bool, default=False, is_shown=True
    )
    dry_run: bool = False
    spreadsheet_safe: bool = setting(
        "In a CSV file: an apostrophe before each text that a spreadsheet would run.", "release", bool, default=False
    )
    delimiter: str | None = setting(
        f"Of a CSV file: comma, semicolon, tab or pipe ({_AS_READ}, else a comma; a tab in .tsv).",
        "release",
        str,
        must=f"{either(tuple(DELIMITERS))}, or its sign",
        read=_delimiter,
        metavar="SIGN",
    )
    encoding: str | None = setting(
        f"Of a CSV file ({_AS_READ}, else utf-8).", "release", str, read=encoding_named, metavar="NAME"
    )
    decimal: str | None = setting(
        f"The decimal sign of a CSV file: point or comma ({_AS_READ}, else point).",
        "release",
        str,
        must=DECIMAL_SIGN,
        read=decimal_sign,
        metavar="SIGN",
    )
    lock: Path | None = setting(
        "With --into: write what kanon apply needs to append new rows.", "release", Path, metavar="FILE"
    )

    def __post_init__(self) -> None:
        check_settings(self, settings_of(type(self)))
        if (self.into is not None) + (self.out is not None) + self.in_place > 1:
            raise UsageError("A release goes to one place: give one of --into, --out and --in-place.")
        self._require_csv()
        if self.backup is not None and not self.in_place:
            raise UsageError(NO_BACKUP_ELSEWHERE)
        if self.lock is not None and (self.into is None or self.kind != "table"):
            raise UsageError("A lock is for appending rows to a table: give --into NAME too, or leave --lock out.")
        if self.dry_run and not self.is_somewhere:
            raise UsageError("Say where the release would go: --into NAME, --out FILE or --in-place, beside --dry-run.")

    def _require_csv(self) -> None:
        """Raise an error if a CSV setting is given for another destination."""
        is_csv = self.out is not None and self.out.suffix.lower() in DELIMITER_BY_SUFFIX
        for name, option in OF_CSV.items():
            if getattr(self, name) and not is_csv:
                what = f"{self.out or 'The release'} is no CSV file, and {option} is for a CSV file"
                raise UsageError(f"{what}: give --out FILE.csv, or leave it out.")

    @property
    def layout(self) -> Layout:
        """The CSV layout, as far as it was given."""
        return Layout(encoding=self.encoding, decimal_separator=self.decimal)

    @property
    def is_somewhere(self) -> bool:
        """True if a destination was given."""
        return self.into is not None or self.out is not None or self.in_place


DESTINATION = settings_of(Destination)
"""The settings of a destination by name."""


def named_table(
    source: Any,  # noqa: ANN401 - any source
    table: str | None,
    origin: Origin | None,
) -> tuple[Any, str | None]:
    """Return the source and table of a call, or those of the policy if the call names no source."""
    if source is not None:
        known = origin is not None and isinstance(source, str | Path) and _place(str(source)) == _place(origin.source)
        return data_file(source, origin.layout) if known and origin is not None else source, table
    if origin is None:
        raise UsageError("Say which table is meant: SOURCE and, in a database, TABLE; or --policy FILE with [source].")
    return origin.opens, origin.table if table is None else table


def origin_of(
    source: Any,  # noqa: ANN401 - the source as given
    table: str | None,
    opened: Source,
) -> Origin | None:
    """Return the origin for a policy file, or None if the table must not or cannot be written there.

    ``source`` and ``table`` are the arguments that opened it.
    """
    if not isinstance(source, str | os.PathLike) or shown_source(str(source)) != str(source):
        return None
    found = table if table is not None else opened.written_name
    return Origin(str(source), found if opened.in_database else None, replace(opened.read.layout, sheet=None))
