"""Releases as files: Parquet, CSV and JSON, and DuckDB files of their own, with one table and nothing of its source."""

from __future__ import annotations

import os
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.engine.files import private_directory, require_no_log, take_name, unwritable, workspace
from kanon_sql.engine.progress import lift_deadlines, timed
from kanon_sql.engine.sources.addresses import DatabaseAddress
from kanon_sql.engine.sources.data_files import is_among
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.release.publish.file_formats import (
    copy_statement,
    reading_back,
    require_json,
    require_types,
    spreadsheet_safe,
)
from kanon_sql.release.publish.publisher import Sink, verified
from kanon_sql.release.statements.release import readable_lookups, release_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.published import Watch
    from kanon_sql.release.verify.classes import Verification
    from kanon_sql.release.verify.verify import Expected

DATABASE = "duckdb"
"""The format of files that are databases."""
_FORMATS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".duckdb": DATABASE,
    ".ddb": DATABASE,
    ".db": DATABASE,
}
_SCHEMA = "main"


def check_file(source: Source, path: Path, *, replace: bool) -> str:
    """Return the format of a file that a release will be written to, before any work is done for it.

    Raises:
        UsageError: its suffix is not known, it exists and may not be replaced, or it is what is to be anonymized.
        SourceError: its directory does not exist, or cannot be written.
    """
    format_name = check_format(path)
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK | os.X_OK):  # known before the work is done, not after it
        raise unwritable(path.parent, "no permission")
    database = source.database or (source.address.file if isinstance(source.address, DatabaseAddress) else None)
    itself = database is not None and path.exists() and path.samefile(database)
    among = source.file is not None and is_among(source.file, path)
    if among and not path.exists():
        raise UsageError(f"{path} would be a part of what is to be anonymized: write the release elsewhere.")
    if itself or among:
        raise UsageError(f"{path} is what is to be anonymized: write the release to another file, or give --in-place.")
    if path.exists() and not replace:
        raise UsageError(f"{path} exists already: give another name, or replace it (--replace).")
    return format_name


def check_format(path: Path) -> str:
    """Return the format of a file that a release is written to.

    Raises:
        UsageError: its suffix is not known.
    """
    format_name = _FORMATS.get(path.suffix.lower())
    if format_name is None:
        raise UsageError(f"The format of {path} is not known by its suffix. Known are {', '.join(_FORMATS)}.")
    return format_name


class FileSink(Sink):
    """A file of a format, written beside where it is to be; it is verified as it can be read back."""

    def __init__(self, source: Source, publication: Publication, path: Path, format_name: str) -> None:
        """Begin with nothing made.

        Raises:
            UsageError: a type of the release has no place in the format.
        """
        super().__init__(source, publication, path, str(path))
        require_types(publication, format_name)
        self.path, self.format_name = path, format_name

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Give a directory beside the file, which is gone afterwards, and the same rows to all statements."""
        with private_directory(self.path.parent) as private, self.engine.snapshot():
            self.partial = private.path / self.path.name
            yield

    @property
    def output(self) -> exp.Expr:
        """The rows of the file."""
        return reading_back(self.publication, self.partial, self.format_name)

    def make(self) -> None:
        """Write the file."""
        query = release_query(self.publication, self.lookups)
        if self.publication.spreadsheet_safe:
            query = spreadsheet_safe(query, self.publication)
        self.engine.run(copy_statement(query, self.partial, self.format_name), "write the release")

    def verify(self, expected: Expected) -> Verification:
        """Return what is found in the file."""
        return verify_file(self.engine, self.publication, self.partial, self.format_name, expected)

    def take_name(self, rows: int, ledger: Watch | None) -> None:
        """Give the file its name in one step."""
        finish_file(self.engine, self.partial, self.path, rows, ledger)


class DatabaseSink(Sink):
    """The only table of a new DuckDB file."""

    def __init__(self, source: Source, publication: Publication, path: Path) -> None:
        """Begin with nothing made.

        Raises:
            UsageError: there is a log beside the file.
        """
        super().__init__(source, publication, path, str(path))
        require_no_log(path)
        self.source, self.path = source, path

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Give a directory beside the file, which is gone afterwards, and a new database in it."""
        with workspace(self.path) as directory:
            self.file = directory / "new.duckdb"
            self.attached = self.engine.attach_new(self.file)
            yield

    @property
    def output(self) -> exp.Table:
        """The table of the new database."""
        return table_in(self.source, self.attached)

    def make(self) -> None:
        """Make the table."""
        query = release_query(self.publication, self.lookups)
        self.engine.run(sql.create_table(self.output, query), "make the release")

    def complete(self, seconds: dict[str, float]) -> None:
        """Write the file whole."""
        with timed(seconds, "write"):
            self.engine.detach(self.attached)

    def undo(self) -> None:
        """Let go of the new database."""
        self.engine.abandon(self.attached)

    def take_name(self, rows: int, ledger: Watch | None) -> None:
        """Give the file its name in one step."""
        finish_file(self.engine, self.file, self.path, rows, ledger, take_name)


def finish_file(
    engine: DuckDBEngine,
    partial: Path,
    path: Path,
    rows: int,
    ledger: Watch | None,
    rename: Callable[[Path, Path], object] = os.replace,
) -> None:
    """Give a verified file of so many rows its name, and remember it in the ledger; both or none.

    Raises:
        SourceError: the file cannot be written.
    """
    lift_deadlines()
    recording = ledger is not None and ledger.unwritable is None
    with engine.transaction() if recording else nullcontext():
        if ledger is not None:
            ledger.remember("file", path, rows, written=partial)
        try:
            rename(partial, path)
        except OSError as error:
            raise SourceError(f"{path} cannot be written: {error.strerror}.") from None


def verify_file(
    engine: Engine, publication: Publication, partial: Path, format_name: str, expected: Expected
) -> Verification:
    """Return what is found in a file that was written and has not its name yet.

    Raises:
        VerificationError: it is not what it should be.
    """
    if format_name in {"json", "jsonl"}:
        require_json(engine, publication, partial)
    output = reading_back(publication, partial, format_name)
    return verified(engine, publication, readable_lookups(publication.hierarchies), output, expected)


def table_in(source: Source, database: str) -> exp.Table:
    """Return the table of a release in a database of its own: it is called as its source is."""
    if source.file is not None:
        name = source.file.stem if source.file.is_file() else "release"
    else:
        name = "release" if source.frame_kind is not None else source.relation.name
    return sql.relation(name, _SCHEMA, database)


def database_statements(source: Source, query: exp.Query, path: Path) -> tuple[tuple[exp.Expr, ...], exp.Table]:
    """Return the statements that make such a file, and its table."""
    name = "kanon_new"
    table = table_in(source, name)
    attach = exp.Attach(this=exp.Alias(this=sql.literal(str(path)), alias=sql.identifier(name)))
    return (attach, sql.create_table(table.copy(), query)), table
