"""Data files and data frames: from a path or a frame to the statement that reads it, and the names in it.

CSV files are read by DuckDB, then checked for what it may have taken for something else (see ``reading``). Of empty
texts, ``""`` is a text, and nothing between two separators is NULL. By default DuckDB reads both as NULL. It can keep
``""`` as a text, but then a column of numbers in which a missing one is written so is a column of texts. So a file is
read by default first. If a column of texts has ``""``, it is read once more, and in columns of numbers, dates or times
``""`` is made NULL.
"""

from __future__ import annotations

import glob
import re
import shlex
import tempfile
import zlib
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal

import duckdb
from sqlglot import exp

from kanon_sql.engine.base import named_once
from kanon_sql.engine.files import private_directory
from kanon_sql.engine.sources.encodings import (
    NOT_STATED,
    UTF_8,
    Copy,
    TextFormat,
    conversion,
    decoded,
    guessed,
    iconv_name,
    is_utf8,
)
from kanon_sql.engine.sources.excel import OTHERS, XLSX, read_sheet
from kanon_sql.engine.sources.reading import (
    BLOCK,
    PACKED,
    SAMPLE,
    TableRead,
    delimiter_of,
    is_blank,
    layout_of,
    look_at,
    lost_separator,
    quotes_of,
    quotes_of_none,
    read_from,
    reading,
    require_even,
    separator_beside_commas,
    text_reader,
    unreadable,
)
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.engine.duckdb.engine import DuckDBEngine

EXCEL = "excel"
"""What reads Excel files: no function of DuckDB (see ``excel``)."""
READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".txt": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
    XLSX: EXCEL,
}
_ANY_DEPTH = "**"
_RENAMED = re.compile(r"(.*)_\d+")


def reader_of(path: PurePath) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    reader = READERS.get(suffixes[-1]) if suffixes else None
    if suffixes and suffixes[-1] in OTHERS:
        raise UsageError(f"{path} is not read: of spreadsheets, only {XLSX} is. Save it as {XLSX} or as CSV.")
    if reader is None:
        raise UsageError(
            f"{path} is neither a DuckDB database nor a data file that is known here: {', '.join(READERS)}."
        )
    return reader


def read_file(
    engine: Engine,
    path: Path,
    relation: exp.Table,
    *,
    as_text: bool = False,
    text: TextFormat = NOT_STATED,
    likely: TextFormat = NOT_STATED,
) -> tuple[exp.Create, tuple[Column, ...], TextFormat]:
    """Make a data file a relation, and return the statement that did, its columns, and how it is written.

    Text is parsed once, into a table; Parquet is read where it lies, column by column. The path may be a directory of
    files of one kind; where there is none of that name, ``*``, ``**``, ``?`` and ``[...]`` in it stand for several.
    Columns of several are matched by their names. With ``as_text``, values of CSV are taken as they are written; so
    are those of JSON that would be floats or dates.

    ``text`` is how a text file is written as far as that is stated, ``likely`` how it is if it is not UTF-8. A file in
    another encoding is read from a copy.
    """
    pattern = _pattern(path)
    reader = reader_of(Path(pattern) if path.is_dir() else path)
    files = matching(pattern)
    if not files:
        raise SourceError(f"{path} does not exist.")
    if reader == EXCEL:
        raise UsageError(f"{path} is not one file: of Excel files, one is read at a time. Name it.")
    if reader != "read_csv":
        text = replace(text, decimal=None) if reader == "read_json" else NOT_STATED
    elif text.decimal is None and likely.decimal == "," and _separated_beside_commas(engine, files):
        text = replace(text, decimal=",")
    encoding = text.encoding
    how = {"as_text": as_text, "comma": text.decimal == ","}
    if encoding in {None, UTF_8}:
        try:
            create, columns = _read_utf8(engine, path, reader, pattern, files, relation, **how)
        except NoRoomError:  # which says nothing of the file
            raise
        except SourceError:
            may_be = [file for file in files if file.is_file() and file.suffix.lower() not in {*PACKED, ".parquet"}]
            others = [file for file in may_be if not is_utf8(file)]
            if not others:
                raise
            encoding = encoding or likely.encoding or guessed(path, others)
        else:
            return create, columns, text
    with copied_as_utf8(engine, path, encoding) as (place, copies):
        create, columns = _read_utf8(engine, path, reader, place, copies, relation, **how)
    return create, columns, replace(text, encoding=encoding)


def read_excel(
    engine: Engine, path: Path, wanted: str | None, relation: exp.Table
) -> tuple[exp.Create, tuple[Column, ...], str | None]:
    """Make a sheet of an Excel file a table; return as ``read_file`` does, and its name where there are others.

    The statement that is returned names the lines of the sheet, as a script finds them.
    """
    with private_directory(Path(tempfile.gettempdir())) as private:
        copy = private.path / "sheet.jsonl"
        sheet = read_sheet(path, wanted, copy)
        reader = text_reader(copy, dict.fromkeys(sheet.types, "VARCHAR"), csv=False)
        values = [
            sql.column(column)
            if kind == "VARCHAR"
            else sql.named(sql.cast(exp.Nullif(this=sql.column(column), expression=sql.literal("")), kind), column)
            for column, kind in sheet.types.items()
        ]
        create = sql.create_table(relation, exp.select(*values).from_(exp.Table(this=reader)), temporary=True)
        engine.run(create, f"read {path.name}")
    words = ("python", "-m", read_sheet.__module__, str(path), sheet.name, lines := f"{path}.jsonl")
    reader.expressions[0].replace(sql.literal(lines))
    create.comments = [f"Before this, where kanon-sql[excel] is installed: {shlex.join(words)}"]
    return create, engine.columns(relation), sheet.name if sheet.has_others else None


@contextmanager
def copied_as_utf8(engine: Engine, path: Path, encoding: str) -> Iterator[tuple[str, list[Path]]]:
    """Hand out a copy of text files as UTF-8: the path as DuckDB takes it, and the files.

    Afterwards the statements that read it name what has to be read when they are run again.
    """
    pattern = _pattern(path)
    files = matching(pattern)
    if packed := [file for file in files if file.suffix.lower() in PACKED]:
        raise UsageError(f"{packed[0]} is packed, and only UTF-8 is read from packed files: unpack it first.")
    ran = len(engine.statements)
    with decoded(files, encoding) as copy:
        one = glob.escape(str(copy.files[0]))
        yield one if path.is_file() else f"{glob.escape(str(copy.directory))}/{_ANY_DEPTH}/*", copy.files
    for logged in engine.statements[ran:]:
        _name_original(logged.statement, path, pattern, encoding, copy)


def _name_original(statement: exp.Expr, path: Path, pattern: str, encoding: str, copy: Copy) -> None:
    new, command = conversion(path, encoding)
    if not path.is_file():
        command = f"convert each file of {path} (iconv -f {iconv_name(encoding)} -t UTF-8), into a directory utf8"
    for read in list(statement.find_all(exp.Anonymous)):
        place = read.expressions[0] if read.expressions else None
        if not isinstance(place, exp.Literal) or not place.name.startswith(glob.escape(str(copy.directory))):
            continue
        if copy.is_latin_1 and read.name == "read_csv":
            place.set("this", pattern)
            read.append("expressions", exp.EQ(this=exp.column("encoding"), expression=sql.literal("latin-1")))
        else:
            place.set("this", glob.escape(new) if path.is_file() else f"utf8/{_ANY_DEPTH}/*")
            statement.comments = [f"Before this: {command}"]


def _read_utf8(
    engine: Engine,
    path: Path,
    reader: str,
    pattern: str,
    files: Sequence[Path],
    relation: exp.Table,
    *,
    as_text: bool,
    comma: bool,
) -> tuple[exp.Create, tuple[Column, ...]]:
    # DuckDB would take the columns of one of several files, and leave out what only others have.
    settings: dict[str, exp.Expr] = {"union_by_name": exp.true()} if len(files) > 1 else {}
    if reader == "read_csv":
        if comma:
            settings |= {"decimal_separator": sql.literal(",")}
            separator = _separated_beside_commas(engine, files)
            # Else decimal commas could be taken for what separates values.
            settings |= {} if separator is None else {"delim": sql.literal(separator), "skip": sql.literal(0)}
        create = read_csv(engine, path, pattern, files, relation, settings, as_text=as_text)
        if comma:
            create = _with_points(engine, path, files, relation, create, as_text=as_text)
    else:
        create = reading(reader, pattern, relation, settings)
        try:
            engine.run(create, f"read {path.name}")
        except NoRoomError:  # which says nothing of the file
            raise
        except SourceError:
            raise unreadable(path) from None
    first = glob.escape(str(files[0]))
    columns = engine.columns(relation)
    if reader == "read_json" and as_text and (as_written := _json_as_written(columns)):
        engine.run(sql.drop(relation), "read once more")
        create = reading(reader, pattern, relation, {**settings, "columns": as_written})
        engine.run(create, f"read {path.name} as it is written")
        columns = engine.columns(relation)
    named_once(raw_names(engine, reader, sql.literal(first), columns), path.name)
    if reader == "read_parquet":
        engine.watch(lambda: matching(pattern))
    return create, columns


def read_as_text(
    engine: Engine, path: Path, create: exp.Expr, names: Sequence[str], encoding: str | None
) -> tuple[exp.Create, tuple[Column, ...]] | None:
    """Read some columns of CSV files as they are written, and return as ``read_file`` does; None where it is none.

    ``create`` is the statement by which the files were read, in their ``encoding``.
    """
    again = create.copy()
    read = next((found for found in again.find_all(exp.Anonymous) if found.name == "read_csv"), None)
    if read is None or not isinstance(again, exp.Create):
        return None
    if any(_is_partition(file, name) for file in files_at(path) for name in names):
        return None
    place, *given = read.expressions
    settings = {setting.this.name: setting.expression for setting in given if setting.this.name != "encoding"}
    with nullcontext() if encoding in {None, UTF_8} else copied_as_utf8(engine, path, str(encoding)) as copy:
        place = place if copy is None else sql.literal(copy[0])
        sample = -1 if "sample_size" in settings else SAMPLE
        first = files_at(path)[0] if copy is None else copy[1][0]
        # Whether there is a header could look otherwise once numbers are text.
        settings.setdefault("header", exp.true() if layout_of(engine, first, 0, sample).header else exp.false())
        typed = settings["types"].expressions if "types" in settings else []
        kept = [one.copy() for one in typed if one.this.name not in names]
        settings["types"] = exp.Struct(expressions=[*kept, *_text(names).expressions])
        read.set(
            "expressions", [place, *(exp.EQ(this=exp.column(name), expression=one) for name, one in settings.items())]
        )
        for star in again.find_all(exp.Star):
            replaced = [one for one in star.args.get("replace") or [] if one.alias not in names]
            star.set("replace", replaced or None)
        _read_again(engine, path, again.this, again)
    return again, engine.columns(again.this)


def _json_as_written(columns: Sequence[Column]) -> exp.Struct | None:
    """Return the types by which values of JSON stay as they are written; None where the types that were found do.

    Numbers beyond 64 bits would become floats, and dates that are written in several ways one: different values could
    be one value then.
    """
    loose = [column.name for column in columns if column.family in {"float", "date", "timestamp"}]
    types = [
        exp.PropertyEQ(
            this=sql.literal(column.name),
            expression=sql.literal("VARCHAR" if column.name in loose else column.type),
        )
        for column in columns
    ]
    return exp.Struct(expressions=types) if loose else None


def is_among(path: Path, file: Path) -> bool:
    """Tell whether a file is one of those that a path, or the pattern in it, stands for; or would be, were it there."""
    pattern = _pattern(path)
    if file.exists() and any(file.samefile(other) for other in matching(pattern)):
        return True
    if not fnmatch(file.name, Path(pattern).name):
        return False
    if _ANY_DEPTH in pattern:
        base = path if path.is_dir() else Path(re.split(r"[*?[]", pattern, maxsplit=1)[0].rpartition("/")[0] or ".")
        return base.resolve() in file.resolve().parents
    return file.resolve().parent in {other.resolve().parent for other in matching(pattern)}


def matching(pattern: str) -> list[Path]:
    """Return the files that a pattern stands for, as DuckDB finds them: hidden directories are looked into as well."""
    found = glob.glob(pattern, recursive=True, include_hidden=_ANY_DEPTH in pattern)  # noqa: PTH207 - a pattern of a full path, which Path.glob refuses
    return sorted(path for name in found if not (path := Path(name)).is_dir())


def files_at(path: Path) -> list[Path]:
    """Return the data files that a path stands for; none where it is a pipe or another thing that is read once."""
    return [file for file in matching(_pattern(path)) if file.is_file()]


def _pattern(path: Path) -> str:
    """Return a path as DuckDB takes it: the name of a file that is there means that file and no other."""
    if not path.is_dir():
        return glob.escape(str(path)) if path.exists() else str(path)
    if (path / "_delta_log").is_dir() or any((path / "metadata").glob("*.metadata.json")):
        raise UsageError(
            f"{path} is a table of Delta Lake or Iceberg, whose files hold rows that were deleted too: write its rows "
            "to a DuckDB or Parquet file first."
        )
    kinds = {file.suffix.lower() for file in path.rglob("*") if file.suffix.lower() in READERS and file.is_file()}
    if len(kinds) != 1:
        what = (
            f"data files of several kinds ({', '.join(sorted(kinds))})" if kinds else "no data file that is known here"
        )
        raise UsageError(f"{path} is a directory with {what}: write which are meant, such as {path}/**/*.parquet.")
    return f"{glob.escape(str(path))}/{_ANY_DEPTH}/*{kinds.pop()}"


def raw_names(engine: Engine, reader: str, place: exp.Expr, columns: Sequence[Column]) -> list[str]:
    """Return the names of columns as a file has them, if DuckDB seems to have given one another name; else none.

    It does so where two are the same to SQL; a role that is given to the one could fall to the other.
    """
    names = {folded(column.name) for column in columns}
    if not any((match := _RENAMED.fullmatch(name)) and match[1] in names for name in names):
        return []
    values: dict[str, sql.Value | exp.Expr] = {"path": place, "sample": SAMPLE}
    if reader == "read_csv":
        layout = layout_of(engine, place, len(columns), SAMPLE)
        values |= {"delimiter": layout.separator, "skip": layout.skipped}
        read = sql.statement("files/raw_names_of_csv", values=values)
        lines = engine.rows(read, "names in the file") if layout.header else []
        return [str(name) for line in lines for name in line]
    statement = "files/raw_names_of_parquet" if reader == "read_parquet" else "files/raw_names_of_json"
    return [name for (name,) in engine.rows(sql.statement(statement, values=values), "names in the file")]


FrameKind = Literal["pandas", "polars", "arrow", "spark"]


def frame_kind(value: Any) -> FrameKind | None:  # noqa: ANN401 - asks what kind of value this is
    """Return which kind of data frame a value is, without importing any library for it."""
    kinds: dict[tuple[str, str], FrameKind] = {
        ("pandas", "DataFrame"): "pandas",
        ("polars", "DataFrame"): "polars",
        ("polars", "LazyFrame"): "polars",
        ("pyarrow", "Table"): "arrow",
    }
    return kinds.get((type(value).__module__.partition(".")[0], type(value).__name__))


def read_frame(engine: DuckDBEngine, frame: Any, kind: FrameKind) -> exp.Table:  # noqa: ANN401 - of a library that need not be installed
    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    names = frame.column_names if kind == "arrow" else frame.columns
    if not len(names):
        raise UsageError(f"The {kind} table has no columns.")
    named_once([str(name) for name in names], f"The {kind} table")
    try:
        engine.connection.register("kanon_frame", frame)
    except duckdb.Error:
        raise SourceError(f"The {kind} table cannot be read: a column holds values of several types.") from None
    relation = engine.temporary_name("kanon_source")
    copy = exp.select("*").from_(sql.relation("kanon_frame"))
    engine.run(sql.create_table(relation, copy, temporary=True), "read the data frame")
    engine.connection.unregister("kanon_frame")
    return relation


_OF_TYPES = {"types", "sample_size"}


def empty_texts(
    engine: Engine,
    place: str | exp.Expr,
    table: TableRead,
    settings: Mapping[str, exp.Expr],
    sample: int,
    files: Sequence[Path] = (),
) -> exp.Create | None:
    """Return the statement that reads files with their empty texts; None where they have none.

    Args:
        engine: read them.
        place: of the files, as DuckDB takes it.
        table: what they were read into.
        settings: how.
        sample: how many rows DuckDB looked at; -1 for all.
        files: where they are on this machine, which tells faster whether there may be any.
    """
    if not table.has_nulls:
        return None
    columns, texts = table.columns, table.texts
    layout = layout_of(engine, files[0] if files else sql.literal(place), len(columns), sample)
    quote = settings["quote"].name if "quote" in settings else layout.quote
    if files and not any(_has_twice(file, quote) for file in files):
        return None
    fixed = {**settings, "header": exp.true() if layout.header else exp.false(), "quote": sql.literal(quote)}
    if "delim" not in settings:  # what names it, names what is skipped
        fixed |= {"delim": sql.literal(layout.separator), "skip": sql.literal(layout.skipped)}
    fixed["allow_quoted_nulls"] = exp.false()
    as_written = {name: value for name, value in fixed.items() if name not in _OF_TYPES}
    empty = _columns_with_empty(engine, place, columns, {**as_written, "all_varchar": exp.true()})
    if not any(column in empty for column in texts):
        return None
    others = [column for column in empty if column not in texts]
    if others:
        types = fixed["types"].expressions if "types" in fixed else []
        text = [exp.PropertyEQ(this=sql.literal(one.name), expression=sql.literal("VARCHAR")) for one in others]
        fixed["types"] = exp.Struct(expressions=[*(one.copy() for one in types), *text])
    formats = {"DATE": layout.date_format, "TIMESTAMP": layout.timestamp_format}
    comma = "decimal_separator" in settings
    values = [_value(one, formats.get(one.type), comma=comma) for one in others]
    everything = exp.Star(replace=values) if values else exp.Star()
    query = exp.select(everything).from_(read_from("read_csv", place, fixed))
    return sql.create_table(table.relation, query, temporary=True)


def _value(column: Column, written_as: str | None, *, comma: bool) -> exp.Alias:
    text: exp.Expr = exp.Nullif(this=sql.column(column.name), expression=sql.literal(""))
    if comma and column.family in {"float", "decimal"}:
        text = sql.replaced(text, ",", ".")
    if written_as:
        text = exp.Anonymous(this="strptime", expressions=[text, sql.literal(written_as)])
    return sql.named(sql.cast(text, column.type), column.name)


def _has_twice(path: Path, quote: str) -> bool:
    """Tell whether a file may have a quote right behind another one; what is packed is not looked into."""
    if not quote or path.suffix.lower() in PACKED:
        return False
    return _matches(path, re.compile(re.escape(quote.encode() * 2)), len(quote.encode()) * 2)


def _matches(path: Path, pattern: re.Pattern[bytes], longest: int) -> bool:
    """Tell whether a pattern of so many bytes at most is in a file."""
    rest = b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            if pattern.search(rest + block):
                return True
            rest = block[1 - longest :]
    return False


def _columns_with_empty(
    engine: Engine, place: str | exp.Expr, columns: Sequence[Column], settings: Mapping[str, exp.Expr]
) -> list[Column]:
    has = [
        exp.LogicalOr(this=exp.EQ(this=sql.cast(sql.column(column.name), "VARCHAR"), expression=sql.literal("")))
        for column in columns
    ]
    found = engine.row(exp.select(*has).from_(read_from("read_csv", place, settings)), "look for empty texts")
    return [column for column, one in zip(columns, found, strict=True) if one]


_NUMBER = r"^[+-]?([0-9]+(,[0-9]*)?|,[0-9]+)([eE][+-]?[0-9]+)?$"
_LEADING_ZERO = r"^\s*[+-]?0[0-9]"
# Zero and a digit, which may begin a value: neither in a word or a number nor in a date or a time.
_MAY_LEAD = re.compile(rb"0(?<![0-9A-Za-z_.]0)(?<![0-9][-+/:]0)[0-9]")


def read_csv(
    engine: Engine,
    path: Path,
    pattern: str,
    found: Sequence[Path],
    relation: exp.Table,
    settings: Mapping[str, exp.Expr],
    *,
    as_text: bool,
) -> exp.Create:
    """Make CSV files a table, and return the statement that did.

    ``pattern`` is the path as DuckDB takes it, ``found`` the files that it stands for. It raises a SourceError where a
    file has no line, or a line has other fields than the first one.
    """
    files = [file for file in found if file.is_file()]  # what is none, such as a pipe, cannot be looked at twice
    has_none = quotes_of_none(files) if len(files) == len(found) else {}
    settings = {**settings, **has_none}
    try:
        create, settings, sample = _by_first_rows(engine, path, pattern, relation, settings, as_text=as_text)
    except NoRoomError:  # which says nothing of the file
        raise
    except SourceError:
        with suppress(OSError, EOFError, zlib.error):  # the file is not what its suffix says
            _require_lines(engine, path, files)
            for file in files:
                require_even(engine, file)
        raise unreadable(path) from None
    _require_lines(engine, path, files)
    table = look_at(engine, relation)
    if not has_none and (quotes := quotes_of(engine, files, pattern, table, settings, sample)):
        settings |= quotes
        create = _read_again(engine, path, relation, reading("read_csv", pattern, relation, settings))
        table = look_at(engine, relation)
    again = _as_it_is(engine, files, table, sample)
    if not again and not as_text:
        again = _as_codes(engine, files, pattern, table, settings, sample)
    if again:
        settings |= again
        create = _read_again(engine, path, relation, reading("read_csv", pattern, relation, settings))
        table = look_at(engine, relation)
    if files and "allow_quoted_nulls" not in settings:
        with_empty = empty_texts(engine, pattern, table, settings, sample, files)
        create = create if with_empty is None else _read_again(engine, path, relation, with_empty)
    return create


def _separated_beside_commas(engine: Engine, files: Sequence[Path]) -> str | None:
    return next((separator_beside_commas(engine, file) for file in files if file.is_file()), None)


def _with_points(
    engine: Engine, path: Path, files: Sequence[Path], relation: exp.Table, create: exp.Create, *, as_text: bool
) -> exp.Create:
    """Return the statement that reads CSV files with decimal commas: as texts, their numbers have points.

    What is read as text by statement is a number where it is one in all rows, as DuckDB would have it.
    """
    columns = engine.columns(relation)
    names = [column.name for column in columns]
    if len(names) > 1 and all(delimiter_of(engine, file, names) == "," for file in files if file.is_file()):
        raise UsageError(
            f"The values in {path} are separated by commas, which cannot be its decimal signs too: leave --decimal out."
        )
    if not as_text:
        return create
    texts = [sql.column(name) for name in names]
    numbers = [exp.LogicalAnd(this=sql.matches(text, _NUMBER)) for text in texts]
    found = engine.row(exp.select(*numbers).from_(relation), "which columns are numbers with decimal commas?")
    replaced = [
        sql.named(sql.replaced(text, ",", "."), text.name) for text, is_one in zip(texts, found, strict=True) if is_one
    ]
    if not replaced:
        return create
    again = create.copy()
    again.expression.set("expressions", [exp.Star(replace=replaced)])
    return _read_again(engine, path, relation, again)


def _read_again(engine: Engine, path: Path, relation: exp.Table, create: exp.Create) -> exp.Create:
    engine.run(sql.drop(relation), f"read {path.name} again")
    try:
        engine.run(create, f"read {path.name}")
    except NoRoomError:
        raise
    except SourceError:
        raise unreadable(path) from None
    return create


def _by_first_rows(
    engine: Engine,
    path: Path,
    pattern: str,
    relation: exp.Table,
    given: Mapping[str, exp.Expr],
    *,
    as_text: bool,
) -> tuple[exp.Create, dict[str, exp.Expr], int]:
    """Read a file by what DuckDB makes of it; return the statement, its settings, and how many rows it looked at."""
    settings = dict(given)
    if as_text:  # an empty text in quotes is written otherwise than nothing at all
        settings |= {"all_varchar": exp.true(), "allow_quoted_nulls": exp.false()}
    create = reading("read_csv", pattern, relation, settings)
    try:
        engine.run(create, f"read {path.name}")
    except NoRoomError:
        raise
    except SourceError:
        if as_text:
            raise
    else:
        return create, settings, SAMPLE
    # The first rows misled about a type: look at all of them.
    settings = {**given, "sample_size": sql.literal(-1)}
    create = reading("read_csv", pattern, relation, settings)
    engine.run(create, f"read {path.name}")
    return create, settings, -1


def _require_lines(engine: Engine, path: Path, files: Sequence[Path]) -> None:
    if files and all(is_blank(engine, file) for file in files):
        raise SourceError(f"{path} has no header and no rows. Was it written to its end?")


def _as_it_is(engine: Engine, files: Sequence[Path], table: TableRead, sample: int) -> dict[str, exp.Expr]:
    """Return the settings by which files have the header that was not seen; none where they were read by it."""
    names = [column.name for column in table.columns]
    found = [lost_separator(engine, file, names, sample) for file in files]
    separator = next((separator for separator in found if separator is not None), None)
    return {} if separator is None else {"delim": sql.literal(separator), "skip": sql.literal(0)}


def _as_codes(
    engine: Engine,
    files: Sequence[Path],
    pattern: str,
    table: TableRead,
    settings: Mapping[str, exp.Expr],
    sample: int,
) -> dict[str, exp.Expr]:
    """Return the settings that keep leading zeros, where DuckDB saw none in the rows that it looked at.

    Reading the columns once more is three times as fast as to have DuckDB look at all rows before it reads them.
    """
    integers = [
        column.name
        for column in table.columns
        if column.family == "integer" and not any(_is_partition(file, column.name) for file in files)
    ]
    if not files or not integers or (len(files) == 1 and (sample == -1 or table.rows <= SAMPLE)):
        return {}
    if not any(file.suffix.lower() in PACKED or _matches(file, _MAY_LEAD, 4) for file in files):
        return {}
    # Whether there is a header could look otherwise once numbers are text.
    header: dict[str, exp.Expr] = {
        "header": exp.true() if layout_of(engine, files[0], 0, sample).header else exp.false()
    }
    text: dict[str, exp.Expr] = {"types": _text(integers)}
    codes = [
        exp.LogicalOr(
            this=exp.Anonymous(this="regexp_matches", expressions=[sql.column(name), sql.literal(_LEADING_ZERO)])
        )
        for name in integers
    ]
    query = exp.select(*codes).from_(read_from("read_csv", pattern, {**settings, **header, **text}))
    found = engine.row(query, "look for leading zeros")
    zeros = [name for name, has in zip(integers, found, strict=True) if has]
    return header | {"types": _text(zeros)} if zeros else {}


def _is_partition(file: Path, name: str) -> bool:
    """Tell whether a directory above a file gives the column, as year=2024 does."""
    return any(part.startswith(f"{name}=") for part in file.parts[:-1])


def _text(names: Sequence[str]) -> exp.Struct:
    return exp.Struct(
        expressions=[exp.PropertyEQ(this=sql.literal(name), expression=sql.literal("VARCHAR")) for name in names]
    )
