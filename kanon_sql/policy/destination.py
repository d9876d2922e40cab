"""Where a release comes from, and where it goes."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kanon_sql.engine.base import closed_on_error
from kanon_sql.engine.files import is_in_private_directory
from kanon_sql.engine.sources.addresses import has_secrets, path_in, without_secrets
from kanon_sql.engine.sources.encodings import is_utf8
from kanon_sql.engine.sources.layout import (
    DELIMITERS,
    NOT_STATED,
    DataFile,
    Layout,
    data_file,
    decimal_sign,
    encoding_named,
)
from kanon_sql.engine.sources.open_source import open_beside, open_original, open_source
from kanon_sql.engine.sources.preparing import with_prepared
from kanon_sql.errors import UsageError
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.sources.preparing import Rules

CSV = (".csv", ".tsv")
"""Suffixes of files whose values are separated by a delimiter."""
Kind = Literal["table", "view", "materialized-view"]
Backup: TypeAlias = Path | Literal[False] | None
"""A file for a copy of the raw rows; False for no copy; None if that was not decided."""
NO_BACKUP_ELSEWHERE = "--backup and --no-backup are for a release in place: give --in-place, or leave them out."


def decided_backup(backup: str | os.PathLike[str] | Literal[False] | None) -> Path | None:
    """Return the file of a backup, or None for no backup; refuse a call that does not decide it."""
    if backup is None:
        raise UsageError(
            "--in-place removes the raw rows: add --backup FILE to keep a copy of their file, or --no-backup to keep "
            "none."
        )
    return None if backup is False else Path(backup)


@dataclass(frozen=True)
class Origin:
    """The table that a release is made from, as the section ``[source]`` of a policy file names it.

    Attributes:
        source: a path, or an address without a password.
        table: the table, where that is a database; None for the only one.
        layout: how a file is laid out, as far as that is stated.
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
        if has_secrets(self.source):
            raise UsageError(
                "[source] from has a password or settings in it, and policy files are handed on: leave them out, and "
                "give them by the environment (PGPASSWORD, PGSSLMODE, MYSQL_PWD), or by a secret of DuckDB."
            )

    def is_same(self, other: Origin | None) -> bool:
        """Tell whether another one may be the same table; it may be written in another way."""
        if other is None or _place(self.source) != _place(other.source):
            return False
        return None in {self.table, other.table} or folded(str(self.table)) == folded(str(other.table))

    @property
    def opens(self) -> str | DataFile:
        """What to open."""
        return data_file(self.source, self.layout)

    @property
    def original(self) -> str | Path | DataFile:
        """What to open: a path as such, so that it is not taken for the name of a table beside a release."""
        is_path = isinstance(self.opens, str) and path_in(self.source) == self.source
        return Path(self.source) if is_path else self.opens


def _place(source: str) -> str:
    path = path_in(source)
    return source if path is None else os.path.realpath(path)


@dataclass(frozen=True)
class Destination:
    """Where a release goes: at most one of ``into``, ``out`` and ``in_place``.

    Attributes:
        into: name of a table or view in the database.
        kind: which of the two.
        out: a file, its format by its suffix.
        replace: whether something of that name may be replaced.
        in_place: whether it takes the place of its table.
        backup: where the file of that table is copied to first, or False; one of both is required in place.
        dry_run: whether everything is made and checked, but nothing is written.
        spreadsheet_safe: whether a CSV file has an apostrophe before each text that a spreadsheet would run.
        delimiter: what separates values in a CSV file: , ; | or a tab, or its name; None is a tab in .tsv, else what
            the source has where it is a CSV file, else a comma.
        encoding: of a CSV file; None is that of the source where it is a CSV file, else UTF-8.
        decimal: the decimal sign of numbers in a CSV file; None is that of the source where it is a CSV file, unless
            a comma separates values; else a point.
        lock: the file that is written for new rows of a table (see ``kanon_sql.release.append``).
    """

    into: str | None = None
    kind: Kind = "table"
    out: Path | None = None
    replace: bool = False
    in_place: bool = False
    backup: Backup = None
    dry_run: bool = False
    spreadsheet_safe: bool = False
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    lock: Path | None = None

    def __post_init__(self) -> None:
        if (self.into is not None) + (self.out is not None) + self.in_place > 1:
            raise UsageError("A release goes to one place: give one of --into, --out and --in-place.")
        self._require_csv()
        if self.delimiter is not None:
            known = {**DELIMITERS, **{sign: sign for sign in DELIMITERS.values()}}
            if self.delimiter not in known:
                raise UsageError(
                    f"Values are separated by {', '.join(DELIMITERS)} or its sign, not by {self.delimiter!r}."
                )
            object.__setattr__(self, "delimiter", known[self.delimiter])
        if self.encoding is not None:
            object.__setattr__(self, "encoding", encoding_named(self.encoding))
        if self.decimal is not None:
            object.__setattr__(self, "decimal", decimal_sign(self.decimal))
        if self.backup is not None and not self.in_place:
            raise UsageError(NO_BACKUP_ELSEWHERE)
        if self.lock is not None and (self.into is None or self.kind != "table"):
            raise UsageError("A lock is for appending rows to a table: give --into NAME too, or leave --lock out.")
        if self.dry_run and not self.is_somewhere:
            raise UsageError("Say where the release would go: --into NAME, --out FILE or --in-place, beside --dry-run.")

    def _require_csv(self) -> None:
        """Raise where a setting of CSV files is given for another destination."""
        is_csv = self.out is not None and self.out.suffix.lower() in CSV
        for given, option in (
            (self.spreadsheet_safe, "--spreadsheet-safe"),
            (self.delimiter, "--delimiter"),
            (self.encoding, "--out-encoding"),
            (self.decimal, "--out-decimal"),
        ):
            if given and not is_csv:
                raise UsageError(
                    f"{self.out or 'The release'} is no CSV file, and {option} is for a CSV file: give --out FILE.csv, "
                    "or leave it out."
                )

    @property
    def layout(self) -> Layout:
        """How a CSV file is written, as far as that is stated."""
        return Layout(encoding=self.encoding, decimal_separator=self.decimal)

    @property
    def is_somewhere(self) -> bool:
        """Whether it is said where the release goes."""
        return self.into is not None or self.out is not None or self.in_place


def named_table(
    source: Any,  # noqa: ANN401 - anything that may be pointed at
    table: str | None,
    origin: Origin | None,
) -> tuple[Any, str | None]:
    """Return the source and the table that a call names; where it names no source, those of the policy."""
    if source is not None:
        known = origin is not None and isinstance(source, str | Path) and _place(str(source)) == _place(origin.source)
        return data_file(source, origin.layout) if known and origin is not None else source, table
    if origin is None:
        raise UsageError(
            "Say which table is meant: SOURCE and, in a database, TABLE; or --policy FILE, where FILE names it under "
            "[source]."
        )
    return origin.opens, origin.table if table is None else table


def origin_of(
    source: Any,  # noqa: ANN401 - what was pointed at
    table: str | None,
    opened: Source,
) -> Origin | None:
    """Return how a policy file names a table that is open; None where it must not or cannot be written down.

    ``source`` and ``table`` are what it was opened by.
    """
    if not isinstance(source, str | os.PathLike) or has_secrets(str(source)) or is_in_private_directory(source):
        return None
    found = table if table is not None else opened.written_name
    return Origin(str(source), found if opened.in_database else None, replace(opened.read.layout, sheet=None))


@dataclass(frozen=True)
class NamedRelease:
    """A release and the table that it was made from, as they are pointed at.

    Attributes:
        source: a file, a database or anything else that ``open_source`` takes.
        table: the release in it.
        original: the same of the original; or the name of a table beside the release; None where none is named.
        original_table: the original in it.
        is_into: whether the release is what the policy file puts into the database, under a name in its own schema.
    """

    source: Any
    table: str | None
    original: Any
    original_table: str | None
    is_into: bool = False

    def opened(self, resources: Resources | None = None) -> tuple[Source, Source]:
        """Return the original and the release, in one engine; without an original, the release twice."""
        if self.original is None:
            alone = open_source(self.source, self.table, as_text=True, resources=resources)
            with closed_on_error(alone.engine):
                self._require_made(alone)
            return alone, alone
        original = open_original(self.source, self.original, self.original_table, resources)
        with closed_on_error(original.engine):
            release = open_beside(original, self.source, self.table, as_text=True)
            self._require_made(release)
            return original, release

    def _require_made(self, release: Source) -> None:
        """Raise where another schema has a table of the name of the release, which was not made yet."""
        is_apart = folded(release.relation.db) not in {"", "main"}  # the schema in which a bare name is made
        if self.is_into and is_apart and "." not in str(self.table):
            raise UsageError(
                f"The release {self.table} was not made yet: there is {release.written_name}, which is another table. "
                "Make it first, with kanon anonymize."
            )


def prepared_original(
    original: Source, release: Source, of_file: Mapping[str, Rules], said: Mapping[str, Rules] | None = None
) -> Source:
    """Return an original whose columns are prepared as they were for its release.

    The rules of a policy file prepare nothing where no original is named; those that a call gives need one.
    """
    if release is not original:
        return with_prepared(original, {**of_file, **(said or {})})
    if said:
        raise UsageError("Rules prepare the table that a release was made from: name it with --original.")
    return original


def named_release(
    named: NamedRelease,
    origin: Origin | None,
    destination: Destination,
    *,
    against_original: bool,
) -> NamedRelease:
    """Return the release that a call names; where it names none, the one that a policy file makes, with its original.

    Args:
        named: what the call names; its source may be None.
        origin: of the policy.
        destination: of the policy file.
        against_original: whether the original is wanted where the call does not name it.
    """
    found, table = named, named.table
    if named.source is None:
        if destination.out is not None:
            out, layout = destination.out, destination.layout
            if origin is not None and out.suffix.lower() in CSV:
                encoding = origin.layout.encoding if out.is_file() and not is_utf8(out) else None
                decimal = None if destination.delimiter == "," else origin.layout.decimal_separator
                layout = layout.over(Layout(encoding=encoding, decimal_separator=decimal))
            found = replace(named, source=data_file(str(out), layout))
        elif destination.into is not None:
            source, into = named_table(None, table or destination.into, origin)
            found = replace(named, source=source, table=into, is_into=table is None)
        elif destination.in_place:
            source, table = named_table(None, table, origin)
            found = replace(named, source=source, table=table)
        else:
            named_table(None, None, origin)  # where it is named nowhere either, that comes first
            raise UsageError(
                "Say which release is meant: SOURCE and, in a database, TABLE; or, under [release] in the policy file, "
                "where it is (out, into or in_place)."
            )
    is_gone = destination.in_place  # whatever release is named: the table is the release now
    if named.original is not None or origin is None or not against_original or is_gone:
        return found
    same = isinstance(named.source, str) and without_secrets(named.source) == origin.source
    original = named.source if same else origin.original
    return replace(found, original=original, original_table=named.original_table or origin.table)
