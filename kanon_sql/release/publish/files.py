"""Releases as files: Parquet, CSV, JSON, Excel, and DuckDB files that contain only the released table.

Below the sinks: which types and values a format can hold, the statement that writes a file, and the query that reads it
back.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import Column
from kanon_sql.engine.files import (
    private_directory,
    require_free,
    require_no_log,
    same_file,
    take_name,
    unwritable,
    workspace,
)
from kanon_sql.engine.sources.addresses import DatabaseAddress
from kanon_sql.engine.sources.data_files import is_among
from kanon_sql.engine.sources.encodings import decode, encode
from kanon_sql.engine.sources.excel import (
    XLSX,
    can_hold,
    require_openpyxl,
    require_size,
    write_sheet,
)
from kanon_sql.engine.sources.layout import DELIMITER_BY_SUFFIX, EXCEL, NOT_STATED, UTF_8, Layout
from kanon_sql.engine.sources.lines import write_lines
from kanon_sql.engine.sources.reading import read_from, text_reader
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.release.publication import with_replaced
from kanon_sql.release.publish.publisher import Outcome, Published, Sink, table_in
from kanon_sql.release.verify.verify import ROW_BY_ROW
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.destination import Destination
    from kanon_sql.release.ledger.ledger import Ledger
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.publish.publisher import OneTable, Releasing

DATABASE = "duckdb"
"""The file format of a database."""
_FORMATS = {
    ".parquet": "parquet",
    **dict.fromkeys(DELIMITER_BY_SUFFIX, "csv"),
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    XLSX: EXCEL,
    ".duckdb": DATABASE,
    ".ddb": DATABASE,
    ".db": DATABASE,
}


def check_file(source: Source, path: Path, *, replace: bool) -> str:
    """Return the format of a release file. Refuse it before any work is done."""
    format_name = check_format(path)
    database = source.database or (source.address.file if isinstance(source.address, DatabaseAddress) else None)
    require_elsewhere(path, database, source.file, replace=replace)
    require_not_behind(source, path)
    return format_name


def require_not_behind(source: Source, path: Path) -> None:
    """Raise if the file to be replaced could be read by the view that is to be anonymized."""
    may_be_view = source.file is None and source.frame_kind is None and source.address is None
    if not path.exists() or not may_be_view:
        return
    behind = source.engine.relations_behind(source.table)
    if behind is None or not all(isinstance(one.this, exp.Identifier) and "." not in one.name for one in behind[1:]):
        raise UsageError(
            f"{source.name} is a view that may read files, and {path} could be one of them: give a name that no file "
            "has."
        )


def require_elsewhere(path: Path, database: Path | None, file: Path | None = None, *, replace: bool) -> None:
    """Refuse a path that is taken, cannot be written, or belongs to the source: its database, or its files."""
    itself = database is not None and path.exists() and same_file(path, database)
    among = file is not None and is_among(file, path)
    if among and not path.exists():
        raise UsageError(f"{path} would be a part of the source: write the release elsewhere.")
    if itself or among:
        raise UsageError(f"{path} is the source: write the release to another file, or give --in-place.")
    require_free(path, replace=replace)
    if not os.access(path.parent, os.W_OK | os.X_OK):  # checked before the work, not after
        raise unwritable(path.parent, "no permission")


def check_format(path: Path) -> str:
    format_name = _FORMATS.get(path.suffix.lower())
    if format_name is None:
        raise UsageError(f"The format of {path} is not known by its suffix. Known are {', '.join(_FORMATS)}.")
    if format_name == EXCEL:
        require_openpyxl()
    return format_name


def for_file(publication: Publication, source: Source, path: Path, destination: Destination) -> Publication:
    """Return a publication adapted to a file: spreadsheet safety, decimal sign, delimiter and encoding."""
    suffix = path.suffix.lower()
    delimiter = (
        destination.delimiter
        or DELIMITER_BY_SUFFIX.get(suffix)
        or (source.read.delimiter if suffix in DELIMITER_BY_SUFFIX else ",")
    )
    layout = source.read.layout if suffix in DELIMITER_BY_SUFFIX and source.is_csv else NOT_STATED
    encoding = destination.encoding or layout.encoding
    decimal = destination.decimal or layout.decimal_separator or "."
    if decimal == delimiter:
        if destination.decimal is not None:
            raise UsageError("A comma cannot separate values and be the decimal sign too: give another --delimiter.")
        decimal = "."
    return replace(
        publication,
        spreadsheet_safe=destination.spreadsheet_safe,
        delimiter=delimiter,
        encoding=None if encoding == UTF_8 else encoding,
        decimal=decimal,
        formats=source.read.formats if suffix in DELIMITER_BY_SUFFIX else {},
    )


class FileSink(Sink[Published]):
    """A file that is written beside its final path, and verified by reading it back."""

    kind = "file"
    released: OneTable

    def __init__(self, released: OneTable, path: Path, format_name: str) -> None:
        super().__init__(released, path, str(path))
        released.take_over()
        self.written = released.publication
        require_types(self.written.published_types, format_name)
        self.path, self.format_name = path, format_name

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make a temporary directory beside the file, and keep one snapshot of rows for all statements."""
        with ExitStack() as at_end:
            self.partial = at_end.enter_context(private_directory(self.path.parent)).path / self.path.name
            self.readable = readable(self.written, self.partial)
            at_end.enter_context(self.released.snapshot())
            if self.released.taken is not None:
                at_end.enter_context(self.released.taken.warehouse.transaction())
            yield

    @property
    def outputs(self) -> dict[str, exp.Expr]:
        return {"": reading_back(self.written, self.readable, self.format_name)}

    def make(self) -> None:
        copy = copy_statement(self.released.query(), self.readable, self.format_name, self.written)
        self.engine.run(copy, "write the release")
        if self.format_name == EXCEL:
            write_sheet(self.readable, self.partial, self.written.published_types)
        elif self.written.encoding is not None:
            encode(self.readable, self.partial, self.written.encoding)

    def verify(self) -> Any:  # noqa: ANN401 - as in ``Sink``
        if self.format_name in {"json", "jsonl"}:
            require_json(self.engine, self.written, self.partial)
        if self.format_name == EXCEL:
            write_lines(self.partial, self.readable, Layout(format=EXCEL, header=True))
        elif self.written.encoding is not None:
            decode(self.partial, self.readable, self.written.encoding)
        return super().verify()

    def take_name(self, rows: int, ledger: Ledger | None) -> None:
        finish_file(self.partial, self.path, rows, ledger)


class DatabaseSink(Sink[Outcome]):
    """A new DuckDB file with the released tables, and nothing else."""

    kind = "database"

    def __init__(self, released: Releasing[Outcome], path: Path) -> None:
        super().__init__(released, path, str(path))
        require_no_log(path)
        self.path = path

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make a temporary directory beside the file, and a new database in it."""
        with workspace(self.path) as directory:
            self.file = directory / "new.duckdb"
            self.attached = self.engine.attach_new(self.file)
            yield

    @property
    def outputs(self) -> dict[str, exp.Expr]:
        return {name: self.released.table_in(name, self.attached) for name in self.released.names}

    def complete(self) -> None:
        self.engine.detach(self.attached)

    def undo(self) -> None:
        self.engine.abandon(self.attached)

    def take_name(self, rows: Any, ledger: Ledger | None) -> None:  # noqa: ANN401 - a number, or one for each table
        finish_file(self.file, self.path, rows, ledger, take_name)


def finish_file(
    partial: Path,
    path: Path,
    rows: Any,  # noqa: ANN401 - a number, or one for each table
    ledger: Ledger | None,
    rename: Callable[[Path, Path], object] = os.replace,
    files: tuple[Mapping[str, Path], Mapping[str, Path]] | None = None,
) -> None:
    """Give a verified file or directory its name, and remember it in the ledger; both or neither.

    ``files`` are the files of a directory by table name: with their final paths, and with their present paths.
    """
    target, written = files or (path, partial)
    with nullcontext() if ledger is None else ledger.recording():
        if ledger is not None:
            ledger.remember("file", target, rows, written=written)
        try:
            rename(partial, path)
        except OSError as error:
            raise SourceError(f"{path} cannot be written: {error.strerror}.") from None


def readable(publication: Publication, partial: Path) -> Path:
    """Return the path of the UTF-8 copy of a file, for Excel or another encoding; else the file itself."""
    is_readable = publication.encoding is None and partial.suffix.lower() != XLSX
    return partial if is_readable else partial.with_name(f"utf8-{partial.name}")


def database_statements(source: Source, query: exp.Query, path: Path) -> tuple[tuple[exp.Expr, ...], exp.Table]:
    """Return the statements that make a DuckDB file of a release, and its table."""
    name = "kanon_new"
    table = table_in(source, name)
    attach = exp.Attach(this=exp.Alias(this=sql.literal(str(path)), alias=sql.identifier(name)))
    return (attach, sql.create_table(table.copy(), query)), table


_RUN = "^'*[=+@\\t\\r\\n-]"
"""Text that a spreadsheet evaluates or splits: the first character of a formula at the start of a cell."""
_PREFIXED = _RUN.replace("*", "+", 1)
_MAY_BE_NO_NUMBER = re.compile(r"\b(FLOAT|DOUBLE|JSON)\b")
_NO_NUMBER = r"(^|[\[,:])-?(NaN|Infinity)($|[\],}])"
"""Matches outside JSON strings, which end with a quote; by mistake also in a string such as "1,NaN,2" or "[NaN]"."""
_MAY_BE_LONG = re.compile(r"DECIMAL\((1[6-9]|[23]\d),[^)]*\)$|U?HUGEINT$|BIGNUM$")
_MAY_BE_VERY_LONG = re.compile(r"U?HUGEINT$")
_NO_DIGITS = r"^-?[0.]+|[^0-9]"
_DIGITS = 15
"""Digits of a number that survive in the floating-point numbers in which JSON is read."""
_DIGITS_OF_DECIMALS = 38
"""Digits of the decimals that Arrow has instead of HUGEINT."""
# Types whose values would not be read back unchanged.
_NOT_IN_PARQUET = re.compile(r"\b(U?HUGEINT|INTERVAL|VARIANT|TIME WITH TIME ZONE)\b|\b(UNION|TUPLE)\(")
_NOT_IN_TEXT = re.compile(r"\bVARIANT\b|\b(UNION|MAP|TUPLE)\(")
_NOT_IN_JSON = re.compile(r"\bDECIMAL\((\d+),\s*\1\)")  # written as .5, which is not valid JSON
_NOT_IN_FRAMES = re.compile(r"\b(BIT|TIME WITH TIME ZONE)\b")


def require_types(types: Mapping[str, str], format_name: str) -> None:
    """Raise unless a format, or "a data frame", can hold columns of these types unchanged."""
    unknown = {
        "parquet": [_NOT_IN_PARQUET],
        "csv": [_NOT_IN_TEXT],
        "a data frame": [_NOT_IN_FRAMES],
    }.get(format_name, [_NOT_IN_TEXT, _NOT_IN_JSON])
    if format_name == EXCEL:
        require_size(0, len(types))
    for name, kind in types.items():
        if any(pattern.search(kind) for pattern in unknown) or (format_name == EXCEL and not can_hold(kind)):
            raise _unfit(name, f"is of type {kind.partition('(')[0]}, which {format_name} cannot hold unchanged")


def _unfit(name: str, why: str) -> UsageError:
    return UsageError(f"Column {name!r} {why}: cast it to VARCHAR in a view, drop it, or write another format.")


def _as_text_written(query: exp.Select, publication: Publication, format_name: str) -> exp.Select:
    """Return the query of a release with its decimal signs, and an apostrophe before text that a spreadsheet would run.

    For Excel, values are passed on as texts; ``write_sheet`` gives cells their types and never writes a formula.
    Apostrophes are for texts and names, if requested (``spreadsheet_safe``). A text that begins with apostrophes and
    such a character gets one more apostrophe, so that each text can be read back.
    """
    made = query.copy()
    projections = []
    for (name, kind), shown in zip(publication.published_types.items(), written_names(publication), strict=True):
        value = next((each for each in query.selects if each.alias_or_name == name), sql.column(name)).unalias().copy()
        if format_name == EXCEL:
            value = sql.cast(value, "VARCHAR")
        if publication.decimal != "." and _has_decimals(kind):
            value = sql.replaced(sql.cast(value, "VARCHAR"), ".", publication.decimal)
        if (written := _format_of(name, kind, publication)) is not None:
            value = exp.Anonymous(this="strftime", expressions=[value, sql.literal(written)])
        if publication.spreadsheet_safe and _is_text(kind):
            text = sql.cast(value, "VARCHAR")
            prefixed = exp.Concat(expressions=[sql.literal("'"), text.copy()])
            value = exp.Case().when(sql.matches(text, _RUN), prefixed).else_(text)
        projections.append(sql.named(value, shown))
    made.set("expressions", projections)
    return made


def written_names(publication: Publication) -> list[str]:
    """Return the names of columns as a CSV file has them."""
    names = list(publication.published_types)
    return [f"'{name}" if publication.spreadsheet_safe and re.match(_RUN, name) else name for name in names]


def _is_text(kind: str) -> bool:
    return Column("", kind).family in {"text", "other"}


def _format_of(name: str, kind: str, publication: Publication) -> str | None:
    """Return the date format of a column; None if it has no dates, or the format of SQL."""
    return publication.formats.get(name) if Column("", kind).family in {"date", "timestamp"} else None


def _has_decimals(kind: str) -> bool:
    return Column("", kind).family in {"float", "decimal"}


def copy_statement(query: exp.Select, path: Path, format_name: str, publication: Publication) -> exp.Copy:
    """Return the statement that writes the rows of a query to a file with the settings of the publication.

    If the delimiter of a CSV file is not a comma, texts are quoted: labels such as [10, 20) have commas, and a reader
    may guess the delimiter.
    """
    if format_name == EXCEL or publication.spreadsheet_safe or publication.decimal != "." or publication.formats:
        query = _as_text_written(query, publication, format_name)
    written = {"jsonl": "json", EXCEL: "json"}.get(format_name, format_name)
    settings: list[tuple[str, exp.Expr]] = [("FORMAT", exp.var(written))]
    if format_name == "csv":
        settings += [("HEADER", exp.true())]
        if publication.delimiter != ",":
            settings += [("DELIMITER", sql.literal(publication.delimiter))]
            names = zip(publication.published_types.values(), written_names(publication), strict=True)
            if quoted := [sql.column(name) for kind, name in names if _is_text(kind)]:
                settings += [("FORCE_QUOTE", exp.Tuple(expressions=quoted))]
    settings += [("ARRAY", exp.true())] if format_name == "json" else []
    return _copy(query, path, settings)


def _copy(query: exp.Select, path: Path, settings: Sequence[tuple[str, exp.Expr]]) -> exp.Copy:
    return exp.Copy(
        this=exp.Subquery(this=query),
        kind=False,
        files=[sql.literal(str(path))],
        params=[exp.CopyParameter(this=exp.var(name), expression=value) for name, value in settings],
    )


def plain_copy(query: exp.Select, path: Path, format_name: str) -> exp.Copy:
    """Return the statement that writes the rows of a query to a plain CSV or Parquet file."""
    header: list[tuple[str, exp.Expr]] = [("HEADER", exp.true())] if format_name == "csv" else []
    return _copy(query, path, [("FORMAT", exp.var(format_name)), *header])


def file_as_rows(
    path: Path, format_name: str, types: Mapping[str, str], publication: Publication | None = None
) -> exp.Subquery:
    """Return a file (plain without a publication) as a subquery with the given types.

    Parquet is read with its own types. Text formats are read as text, so types are not guessed, and cast.
    """
    if format_name == "parquet":
        reader = read_from("read_parquet", str(path), {})
        query = exp.select(*map(sql.column, types))
    else:
        reader = _as_text(path, format_name, types, "," if publication is None else publication.delimiter)
        values = [(name, kind, _read(name, kind, publication, format_name)) for name, kind in types.items()]
        query = exp.select(*(sql.named(sql.cast(value, kind), name) for name, kind, value in values))
    file = exp.Subquery(this=query.from_(reader), alias=exp.TableAlias(this=sql.identifier("file")))
    file.meta[ROW_BY_ROW] = format_name != "parquet"
    return file


def reading_back(publication: Publication, path: Path, format_name: str) -> exp.Subquery:
    return file_as_rows(path, format_name, publication.published_types, publication)


def _read(name: str, kind: str, publication: Publication | None, format_name: str) -> exp.Expr:
    """Return a column of a file as text, with decimal points, without the apostrophe of ``spreadsheet_safe``."""
    text = sql.column(name)
    if publication is None or format_name != "csv":
        return text
    if publication.decimal != "." and _has_decimals(kind):
        return sql.replaced(text, publication.decimal, ".")
    if (written := _format_of(name, kind, publication)) is not None:
        return exp.Anonymous(this="strptime", expressions=[text, sql.literal(written)])
    if not (publication.spreadsheet_safe and _is_text(kind)):
        return text
    without = exp.Substring(this=text.copy(), start=sql.literal(2))
    return exp.Case().when(sql.matches(text, _PREFIXED), without).else_(text)


def _as_text(path: Path, format_name: str, types: Mapping[str, str], delimiter: str = ",") -> exp.Table:
    """Return the relation of a text file with all columns as written: a JSON text has its quotes."""
    if format_name == "csv":
        return text_reader(path, dict.fromkeys(types, "VARCHAR"), csv=True, delimiter=delimiter)
    kinds = {name: "JSON" if kind == "JSON" else "VARCHAR" for name, kind in types.items()}
    return text_reader(path, kinds, csv=False)


def read_as_written(path: Path, format_name: str, names: Sequence[str], delimiter: str) -> exp.Table:
    """Return a text file with every value as written; JSON texts with their quotes."""
    types = dict.fromkeys(names, "VARCHAR" if format_name == "csv" else "JSON")
    return _as_text(path, format_name, types, delimiter)


def require_json(engine: Engine, publication: Publication, path: Path) -> None:
    """Raise if other programs could read a JSON file differently.

    Causes: a quasi-identifier of type JSON; NaN or Infinity, which DuckDB writes but JSON does not allow; numbers with
    more digits than readers keep; or a JSON null, which looks the same as NULL.
    """
    types = publication.published_types
    if named := [name for name in publication.quasi_identifiers if types[name] == "JSON"]:
        raise _unfit(named[0], "is of type JSON, which a file of JSON has without its white space")

    def is_no_number(value: exp.Column) -> exp.Expr:
        return sql.matches(sql.cast(value, "VARCHAR"), _NO_NUMBER)

    def is_null(value: exp.Column) -> exp.Expr:
        return sql.cast(value, "VARCHAR").eq("null")

    no_number = [name for name, kind in types.items() if _MAY_BE_NO_NUMBER.search(kind)]
    rows = _as_text(path, "json", types)
    _require_none(engine, no_number, is_no_number, rows, "has NaN or infinity in {} rows, which JSON does not have")
    nothing = [name for name, kind in types.items() if kind == "JSON"]
    source, why = publication.source, "is the null of JSON in {} rows, which a file of JSON has for the NULL of SQL"
    _require_none(engine, nothing, is_null, source, why)
    _require_short(engine, publication, _MAY_BE_LONG, _DIGITS, "who reads JSON")


def require_frame(engine: Engine, publication: Publication, kind: str) -> None:
    """Raise if a data frame would have other values than the release: pandas has floats instead of decimals."""
    require_types(publication.published_types, "a data frame")
    with with_replaced(engine, publication):
        if kind == "pandas":
            _require_short(engine, publication, _MAY_BE_LONG, _DIGITS, "pandas")
        else:
            _require_short(engine, publication, _MAY_BE_VERY_LONG, _DIGITS_OF_DECIMALS, kind)


def _require_short(engine: Engine, publication: Publication, types: re.Pattern[str], most: int, reader: str) -> None:
    """Raise if columns of some types have numbers with more digits than the format keeps."""
    names = [name for name, kind in publication.published_types.items() if types.match(kind)]

    def is_long(number: exp.Column) -> exp.Expr:
        text = sql.cast(number, "VARCHAR")
        digits = exp.func(
            "REGEXP_REPLACE", text, sql.literal(_NO_DIGITS), sql.literal(""), sql.literal("g"), dialect="duckdb"
        )
        return exp.GT(this=exp.Length(this=digits), expression=sql.literal(most))

    why = f"has numbers of more than {most} digits in {{}} rows, and {reader} gets other ones"
    _require_none(engine, names, is_long, publication.source, why)


def _require_none(
    engine: Engine, names: list[str], condition: Callable[[exp.Column], exp.Expr], rows: exp.Table, why: str
) -> None:
    """Raise if a column meets a condition in some rows; ``why`` has a placeholder for their number."""
    if names:
        found = [sql.where(sql.count_rows(), condition(sql.column(name))) for name in names]
        counts = engine.row(exp.select(*found).from_(rows.copy()), "values that others do not have")
        for name, count in zip(names, counts, strict=True):
            if count:
                raise _unfit(name, why.format(f"{count:,}"))
