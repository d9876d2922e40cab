"""The stated layout of a file: ``[source]`` in kanon.toml, ``--read KEY=VALUE``, ``DataFile``.

Keys of DuckDB's ``read_csv`` are passed through under its names. The others are kanon's own: ``format``, ``header``
with the number of a line, ``comment``, ``skip_footer``, ``encoding``, ``sheet``, ``duplicates``, ``incomplete_rows``
and ``labels``. Anything not stated is detected by the rule in ``docs/how-to/read-a-file.md`` (see ``reading``).
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kanon_sql.errors import UsageError, counted, in_python

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

UTF_8 = "utf-8"
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
"""The names of delimiters."""
DECIMAL_SIGN = "a decimal sign: point or comma"
_SIGNS = {**DELIMITERS, "point": ".", "space": " ", "none": "", "\\t": "\t"}
PathLike = TypeVar("PathLike", str, Path)
DELIMITER_BY_SUFFIX = {
    ".csv": None,
    ".tsv": "\t",
}
"""Suffixes of CSV files, for reading and for releases; None means the delimiter of the input file, or a comma."""
CSV, JSON, PARQUET, EXCEL, STATISTICS = "read_csv", "read_json", "read_parquet", "excel", "statistics"
READERS = {
    **dict.fromkeys((*DELIMITER_BY_SUFFIX, ".txt", ".data", ".dat"), CSV),
    ".parquet": PARQUET,
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), JSON),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"), EXCEL),
    **dict.fromkeys((".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"), STATISTICS),
}
"""The reader of a file, by suffix: a function of DuckDB, or a module of this package."""
_FORMATS = {"csv": ".csv", "parquet": ".parquet", "json": ".json", "excel": ".xlsx", "sqlite": ".sqlite"} | {
    suffix.removeprefix("."): suffix for suffix in READERS
}


def encoding_named(name: str) -> str:
    """Return Python's name of a text encoding.

    >>> encoding_named("Windows-1252")
    'cp1252'
    """
    try:
        b"a".decode(name, "replace")  # codecs that are not for text, such as base64, fail here
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError):
        raise UsageError(
            f"{name!r} is not an encoding that Python knows. Known are, among others, utf-8, utf-16, cp1252 (Windows, "
            "Western Europe), latin-1, cp1250, cp1251, gb18030, big5, shift_jis, cp932, euc_jp and cp949."
        ) from None
    return codecs.lookup(name).name


def _text(
    *needed: tuple[str, str], named: Mapping[str, str] | None = None, to: Callable[[str], Any] = str
) -> Callable[[object], Any]:
    """Return a function that checks a text, or the text of its name, against patterns; each has a description."""

    def read(value: object) -> Any:  # noqa: ANN401 - what ``to`` makes of a text
        found = value if isinstance(value, str) or to is str else str(value)
        found = (named or {}).get(found, found) if isinstance(found, str) else found
        for pattern, must in needed:
            if not isinstance(found, str) or re.fullmatch(pattern, found, re.DOTALL) is None:
                raise ValueError(must)
        return to(str(found))

    return read


def _one_of(*values: str) -> Callable[[object], str]:
    return _text(("|".join(values), f"one of {', '.join(values)}"))


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = next(csv.reader([value], skipinitialspace=True), [])
    if not isinstance(value, list | tuple) or not value or not all(isinstance(one, str) for one in value):
        raise ValueError("a list of texts, such as NA,unknown")
    return tuple(value)


def _header(value: object) -> bool | int | tuple[str, ...]:
    is_list = isinstance(value, list | tuple) or "," in str(value)
    return _texts(value) if is_list else _line(value)


_WITH_YEAR = (".*%-?[Ycx].*", "a format with a year of four digits, %Y: two do not say the century")
_WITHOUT_TIME = ("(?!.*%-?[HIMSfgnpXc]).*", "a format without a time of day, which timestampformat is for")
_NAMES = f"or its name ({', '.join(DELIMITERS)})"
_TRUTHS = "(?i:true|false)"
_any_text = _text((".+", "a text"))
_sign = _text((".?", f"one character, {_NAMES}"), named=_SIGNS)
_delimiter = _text((r"[^\r\n\"] *", f"one character, with blanks behind it or without, {_NAMES}"), named=_SIGNS)
_thousands = _text(("[^0-9+-]?", "one character that is no digit, plus or minus"), named=_SIGNS)
decimal_sign = _text(("[.,]", DECIMAL_SIGN), named=_SIGNS)
_count = _text(("[0-9]+", "a number of lines, 0 or more"), to=int)
_truth = _text((_TRUTHS, "true or false"), to=lambda text: text.lower() == "true")
_line = _text(
    (f"{_TRUTHS}|0*[1-9][0-9]*", "true, false, the number of a line, or a list of names"),
    to=lambda text: int(text) if text.isdecimal() else text.lower() == "true",
)
_TEXT_FILES, _TABLES = frozenset({CSV, JSON}), frozenset({CSV, EXCEL})
_EVERY = frozenset(READERS.values())


def _key(read: Callable[[Any], Any], readers: frozenset[str] = frozenset({CSV})) -> Any:  # noqa: ANN401 - a field
    return field(default=None, metadata={"read": read, "readers": readers})


@dataclass(frozen=True)
class Layout:
    """The stated layout of a file; None if not stated."""

    format: str | None = _key(_one_of(*_FORMATS), _EVERY)  # csv, parquet, json, excel, sqlite, or a suffix
    # True if the first line has the column names; or its number; or the names, if no line has them.
    header: bool | int | tuple[str, ...] | None = _key(_header, _TABLES)
    names: tuple[str, ...] | None = _key(_texts, _TABLES)  # the file then has no header, unless ``header`` says so
    delim: str | None = _key(_delimiter)
    quote: str | None = _key(_sign)
    escape: str | None = _key(_sign)  # precedes a quote inside a quoted value
    comment: str | None = _key(_sign)  # starts a line that is ignored
    skip: int | None = _key(_count, _TABLES)  # lines above the header
    skip_footer: int | None = _key(_count, _TABLES)  # lines at the end that are ignored
    encoding: str | None = _key(encoding_named, _TEXT_FILES)
    decimal_separator: str | None = _key(decimal_sign)
    thousands: str | None = _key(_thousands)
    nullstr: tuple[str, ...] | None = _key(_texts)  # texts of missing values
    dateformat: str | None = _key(_text(_WITH_YEAR, _WITHOUT_TIME))  # in the format of strptime
    timestampformat: str | None = _key(_text(_WITH_YEAR))
    sheet: str | None = _key(_any_text, frozenset({EXCEL}))
    duplicates: str | None = _key(_one_of("rename", "error"), _TABLES)  # columns of the same name
    incomplete_rows: str | None = _key(_any_text, _TABLES)  # ``error``, or a column: rows without its value go
    labels: bool | None = _key(_truth, frozenset({STATISTICS}))  # use the labels of SPSS, Stata and SAS as values

    def __post_init__(self) -> None:
        for key, value in self.stated.items():
            try:
                object.__setattr__(self, key, _READ[key](value))
            except (TypeError, ValueError) as error:
                must = error if isinstance(error, ValueError) else "a text"
                raise UsageError(f"--read {key} must be {must}. Got {value!r}.") from None
        if isinstance(self.header, tuple):
            object.__setattr__(self, "names", self.header)
        if isinstance(self.header, tuple) or (self.names is not None and self.header is None):
            object.__setattr__(self, "header", False)

    @property
    def stated(self) -> dict[str, Any]:
        """The stated settings, by key."""
        return {key: value for key, value in vars(self).items() if value is not None}

    @property
    def texts(self) -> list[str]:
        """The stated settings in the format of ``--read``."""
        return [f"{key}={_written(value)}" for key, value in self.stated.items()]

    @property
    def suffix(self) -> str | None:
        """The suffix of files in the stated format."""
        return None if self.format is None else _FORMATS[self.format]

    @property
    def above(self) -> int:
        """The number of lines above the header: skipped ones, and those above the stated line."""
        line = self.header if isinstance(self.header, int) and not isinstance(self.header, bool) else 1
        return (self.skip or 0) + line - 1

    @property
    def may_lack_header(self) -> bool:
        """Whether it is not stated that a line is the header or that there is none: a line number may be a mistake."""
        return self.names is None and not isinstance(self.header, bool)

    @property
    def drops(self) -> str | None:
        """The column without whose value a row is left out, or None."""
        return None if self.incomplete_rows == "error" else self.incomplete_rows

    def require_drops(self, names: Collection[str], place: PathLike) -> None:
        """Raise unless a table has the column without whose value rows are left out."""
        if self.drops is not None and self.drops not in names:
            raise UsageError(f"--read incomplete_rows must be error or a column of {place}. Got {self.drops!r}.")

    def say_left_out(self, rows: int, place: PathLike) -> None:
        """Report how many rows were left out, if any."""
        if rows:
            say(f"{place}: left out {counted(rows, 'row')} without a value of {self.drops}.")

    def over(self, other: Layout) -> Layout:
        """Return these settings, with those of another layout as defaults."""
        return replace(other, **self.stated)

    def fitting(self, reader: str) -> Layout:
        """Return the settings for files of a format only."""
        return Layout(**{key: value for key, value in self.stated.items() if reader in READERS_OF[key]})

    def require_for(self, reader: str, place: str) -> None:
        """Raise if a key does not apply to files of a format."""
        if unfit := [key for key in self.stated if reader not in READERS_OF[key]]:
            raise UsageError(f"{place} is no file that {', '.join(unfit)} is for: leave --read {unfit[0]}=... out.")


def _written(value: Any) -> str:  # noqa: ANN401 - of each key its own
    if isinstance(value, tuple):
        written = io.StringIO()
        csv.writer(written, lineterminator="").writerow(value)
        return written.getvalue()
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return next((name for name, sign in _SIGNS.items() if sign == text), text)


_READ: Mapping[str, Callable[[Any], Any]] = {one.name: one.metadata["read"] for one in fields(Layout)}
READERS_OF: Mapping[str, frozenset[str]] = {one.name: one.metadata["readers"] for one in fields(Layout)}
"""By key, the readers of the files it applies to."""
NOT_STATED = Layout()


def layout_from(settings: Mapping[str, Any], where: str = "--read") -> Layout:
    r"""Return the layout of settings; the key ``delimiter`` is an alias of ``delim``.

    >>> layout_from({"delimiter": "tab", "skip": "2"}).stated
    {'delim': '\t', 'skip': 2}
    """
    given = {"delim" if key == "delimiter" else key: value for key, value in settings.items()}
    if unknown := [key for key in given if key not in _READ]:
        raise UsageError(f"{where} has no key {unknown[0]!r}. Keys are {', '.join(_READ)}.")
    return Layout(**given)


def layout_of_texts(texts: list[str] | None) -> Layout:
    """Return the layout of texts such as ``delim=;``."""
    settings = {}
    for text in texts or []:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError("--read must be KEY=VALUE, such as --read header=false.")
        if key.strip() in settings or re.search(rf",\s*({'|'.join(_READ)})=", value):
            raise UsageError(f"Give each key by a --read of its own, and all values of {key.strip()} in one.")
        settings[key.strip()] = value
    return layout_from(settings)


@dataclass(frozen=True, init=False)
class DataFile:
    """A data file with a stated layout, accepted wherever a path is.

    Args:
        path: of the file; or a directory or a pattern, for several of the same layout.
        read: the layout: ``encoding="cp1252"``, ``header=False``, ``delim=";"`` and so on (see ``Layout``).

    >>> DataFile("people.csv", header=False, delim=";").layout.stated
    {'header': False, 'delim': ';'}
    """

    path: str | os.PathLike[str]
    layout: Layout

    def __init__(self, path: str | os.PathLike[str], **read: Any) -> None:  # noqa: ANN401 - of each key its own
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "layout", layout_from(read, "DataFile"))

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    __str__ = __fspath__


def data_file(path: PathLike, layout: Layout) -> PathLike | DataFile:
    """Return a path with its layout; the path itself if no layout is stated."""
    return path if layout == NOT_STATED else DataFile(path, **layout.stated)


def layout_of(source: object) -> Layout:
    return source.layout if isinstance(source, DataFile) else NOT_STATED


def _warn(text: str) -> None:
    warnings.warn(in_python(text), stacklevel=2)


_STATED: ContextVar[tuple[Layout, Callable[[str], None]]] = ContextVar("kanon_layout", default=(NOT_STATED, _warn))


@contextmanager
def reading_as(layout: Layout, note: Callable[[str], None]) -> Iterator[None]:
    """Use a layout for files opened inside, and report findings to ``note``."""
    before = _STATED.set((layout, note))
    try:
        yield
    finally:
        _STATED.reset(before)


def stated() -> Layout:
    return _STATED.get()[0]


def say(text: str) -> None:
    """Report a finding in a file, and the setting that states it."""
    _STATED.get()[1](text)
