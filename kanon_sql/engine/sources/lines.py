"""Files that DuckDB cannot read itself (Excel, SPSS, Stata, SAS, SQLite): a library reads their rows.

The rows are written as lines of JSON. A value is a text that DuckDB casts; a missing value is left out.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import chosen_table, named_once
from kanon_sql.engine.files import private_directory
from kanon_sql.engine.sources.excel import read_sheet
from kanon_sql.engine.sources.layout import EXCEL, READERS, Layout
from kanon_sql.engine.sources.reading import FileRead, text_reader
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kanon_sql.engine.duckdb.engine import DuckDBEngine

    Rows = tuple[Sequence[str], Iterable[Sequence[Any]], str | None]  # column names, rows, the sheet of several

_EXACT = 2**53  # up to here, a floating-point number stands for one whole number
_BIGINT = 2**63
_TOGETHER = {frozenset({"BIGINT", "DOUBLE"}): "DOUBLE", frozenset({"DATE", "TIMESTAMP"}): "TIMESTAMP"}
_STATISTICS = {".zsav": "read_sav", ".xpt": "read_xport"}
"""Functions of pyreadstat that are not named after the suffix."""


def write_lines(path: Path, lines: Path, read: Layout) -> tuple[dict[str, str], str | None]:
    """Write the rows of a file as lines of JSON; return the types of its columns, and the sheet if it has several.

    Rows without any value are ignored.
    """
    with ExitStack() as opened:
        match READERS.get(suffix := read.suffix or path.suffix.lower()):
            case "excel":
                found: Rows = read_sheet(path, read)
            case "statistics":
                found = _of_statistics(path, suffix, labels=bool(read.labels))
            case _:
                found = _of_sqlite(opened.enter_context(_sqlite(path)), path, read.sheet)
        names, rows, sheet = found
        named_once(names, str(path))
        kinds: dict[str, set[str]] = {name: set() for name in names}
        written = opened.enter_context(lines.open("w", encoding="utf-8"))
        for row in rows:
            texts = {}
            for name, value in zip(names, row, strict=True):
                if value is not None and value != "" and value == value:  # noqa: PLR0124 - NaN and NaT are missing
                    kind, texts[name] = _read(value)
                    kinds[name].add(kind)
            if texts:
                written.write(json.dumps(texts) + "\n")
    return {name: _type(own) for name, own in kinds.items()}, sheet


def _read(value: Any) -> tuple[str, str]:  # noqa: ANN401, PLR0911 - one line for each kind of value
    """Return the type of a value, and the value as text."""
    match value:
        case bool():
            return "BOOLEAN", "TRUE" if value else "FALSE"
        case float() if value.is_integer() and abs(value) < _EXACT:
            return "BIGINT", str(int(value))
        case int() if abs(value) < _BIGINT:
            return "BIGINT", str(value)
        case int() | float():
            return "DOUBLE", str(value)
        case datetime() if value.time() == time():
            return "DATE", value.date().isoformat()
        case datetime():
            return "TIMESTAMP", value.isoformat(sep=" ")
        case date() | time():
            return "TIME" if isinstance(value, time) else "DATE", value.isoformat()
        case timedelta():
            seconds = round(value.total_seconds())
            return "VARCHAR", f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        case bytes():
            return "BLOB", value.hex()
    return "VARCHAR", str(value)


def _type(kinds: set[str]) -> str:
    return next(iter(kinds)) if len(kinds) == 1 else _TOGETHER.get(frozenset(kinds), "VARCHAR")


def read_by_library(engine: DuckDBEngine, path: Path, relation: exp.Table, layout: Layout) -> FileRead:
    """Load a file that DuckDB cannot read as a table: a sheet, a statistics file, a table of an SQLite database.

    The statement names the JSON lines file, which a script writes first.
    """
    with private_directory(Path(tempfile.gettempdir())) as private:
        lines = private.path / "rows.jsonl"
        types, sheet = write_lines(path, lines, layout)
        reader = text_reader(lines, dict.fromkeys(types, "VARCHAR"), csv=False)
        values = [
            sql.named(exp.Unhex(this=sql.column(name)) if kind == "BLOB" else sql.cast(sql.column(name), kind), name)
            for name, kind in types.items()
        ]
        create = sql.create_table(relation, exp.select(*values).from_(reader), temporary=True)
        engine.run(create, f"read {path.name}")
    reader.this.expressions[0].replace(sql.literal(f"{path}.jsonl"))
    create.comments = [f"Before this, write the rows of {path} as lines of JSON, whose values are texts"]
    return FileRead(create, engine.columns(relation), layout, sheet=sheet, reader=EXCEL)


def _of_statistics(path: Path, suffix: str, *, labels: bool) -> Rows:
    """Read a file of SPSS, Stata or SAS; its missing values become NULL. With ``labels``, labels replace values."""
    try:
        import pyreadstat
    except ImportError:
        raise UsageError(
            "Files of SPSS, Stata and SAS need the library pyreadstat, which is not installed: "
            "pip install 'kanon-sql[stats]'."
        ) from None
    read = getattr(pyreadstat, _STATISTICS.get(suffix, f"read_{suffix.removeprefix('.')}"))
    try:
        frame, _ = read(str(path), **({"apply_value_formats": True, "formats_as_category": False} if labels else {}))
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, ValueError):
        raise SourceError(f"{path} cannot be read as {path.suffix}. Was it written to its end?") from None
    return [str(name) for name in frame.columns], frame.astype(object).itertuples(index=False, name=None), None


@contextmanager
def _sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an SQLite database for reading; its errors become errors that quote no value."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise SourceError(f"{path} cannot be read as an SQLite database ({type(error).__name__}).") from None


def _of_sqlite(connection: sqlite3.Connection, path: Path, wanted: str | None) -> Rows:
    """Read a table; an ISO 8601 text in a column declared as date or time becomes one."""
    listed = sql.statement("catalog/tables_of_sqlite").sql(dialect="sqlite")
    tables = [("", "main", name, 1) for (name,) in connection.execute(listed)]
    _, table = chosen_table(tables, wanted, str(path))
    columns = sql.statement("catalog/columns_of_sqlite", values={"table": table}).sql(dialect="sqlite")
    moments = {name: str(kind).upper().startswith(("DATE", "TIMESTAMP")) for name, kind in connection.execute(columns)}
    query = exp.select(*map(sql.column, moments)).from_(sql.relation(table)).sql(dialect="sqlite")
    rows = (
        [_moment(value) if moment else value for value, moment in zip(row, moments.values(), strict=True)]
        for row in connection.execute(query)
    )
    return [*moments], rows, table


def _moment(value: Any) -> Any:  # noqa: ANN401 - what SQLite has in a cell
    if isinstance(value, str):
        for read in (date.fromisoformat, datetime.fromisoformat):
            with suppress(ValueError):
                found = read(value)
                if value in {found.isoformat(), str(found)}:
                    return found
    return value
