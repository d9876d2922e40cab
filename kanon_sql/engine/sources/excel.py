"""Excel files (.xlsx), read and written by openpyxl, by way of a file with a line of JSON for each row.

DuckDB's own extension is not used: it takes the type of a column from its first row, and may have to be downloaded.
A cell is a text in these lines, as DuckDB casts it to the type that it has in Excel; where it is empty, its name is
not there. ``python -m kanon_sql.engine.sources.excel FILE SHEET LINES`` writes them, for scripts that read them.
"""

from __future__ import annotations

import json
import math
import re
import sys
import warnings
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar
from zipfile import BadZipFile

from kanon_sql.engine.base import Column, chosen_table, named_once
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

XLSX = ".xlsx"
OTHERS = {".xls", ".xlsm", ".xlsb", ".ods"}
ROWS, COLUMNS = 1_048_576, 16_384
_LONGEST_TEXT = 32_767
_DIGITS = 15  # of a number that Excel keeps
_EXACT = 2**53  # up to which a floating-point number stands for one whole number
_BIGINT = 2**63
_FIRST_YEAR, _HOUR = 1900, 3600
# How Excel writes characters that XML has not, and what looks so (ECMA-376, 22.9.2.19).
_ESCAPED = re.compile(r"_x(00[01][0-9A-Fa-f]|005[Ff])_")
_TO_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)|[\x00-\x08\x0b-\x1f]")
_TOGETHER = {frozenset({"BIGINT", "DOUBLE"}): "DOUBLE", frozenset({"DATE", "TIMESTAMP"}): "TIMESTAMP"}


# What openpyxl raises of a file that is torn, or of another kind; XML that is malformed is a SyntaxError.
_BROKEN = (
    *(BadZipFile, SyntaxError, zlib.error, EOFError, RuntimeError),
    *(KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError),
)
_NUMBERS = {"integer", "decimal", "float"}
Moment = TypeVar("Moment", datetime, time)


def require_openpyxl() -> None:
    try:
        import openpyxl  # noqa: F401 - whether it is there
    except ImportError:
        raise UsageError(
            "Excel files need the library openpyxl, which is not installed: pip install 'kanon-sql[excel]'."
        ) from None


@dataclass(frozen=True)
class Sheet:
    """A sheet that was read: its name, whether there are others in its file, and its columns with their types."""

    name: str
    has_others: bool
    types: dict[str, str]


def read_sheet(path: Path, wanted: str | None, lines: Path) -> Sheet:
    """Write the rows of a sheet as lines of JSON; ``wanted`` is its name, None for the only one.

    Its first row has the names of the columns. Rows without any value are no rows.
    """
    with _opened(path) as book, lines.open("w", encoding="utf-8") as written:
        listed = [("", "", sheet.title, 1) for sheet in book.worksheets]
        _, name = chosen_table(listed, wanted, str(path), what=("sheet", "sheets"))
        return Sheet(name, len(listed) > 1, _read_rows(path, book[name], written))


def _read_rows(path: Path, sheet: Any, lines: IO[str]) -> dict[str, str]:  # noqa: ANN401 - openpyxl has no types
    place = f"{path}, sheet {sheet.title}"
    names: dict[int, str] = {}
    kinds: dict[int, set[str]] = {}
    with _parsed(sheet, place) as parser:
        for number, cells in parser.parse():
            row = {cell["column"]: _read(cell["value"]) for cell in cells if cell["value"] is not None}
            if row and not names:
                names = {column: text for column, (_, text) in sorted(row.items()) if text}
                named_once(list(names.values()), place)
                kinds = {column: set() for column in names}
            elif row:
                for column, (kind, text) in row.items():
                    if column not in names:
                        raise SourceError(
                            f"{place}: column {_letters(column)} has a value in row {number:,} and no "
                            "name. Write a name for each column into the first row, without merged cells or a title."
                        )
                    if text:
                        kinds[column].add(kind)
                lines.write(json.dumps({names[column]: text for column, (_, text) in row.items()}) + "\n")
        if merged := getattr(parser.merged_cells, "mergeCell", None):
            raise SourceError(
                f"{place}: cells {merged[0].ref} are merged, and only the first of them has the value. "
                "Unmerge the cells of the sheet in Excel, and write a value into each."
            )
    if not names:
        raise SourceError(f"{place}, has no header and no rows.")
    return {names[column]: _type(found) for column, found in kinds.items()}


def write_sheet(lines: Path, target: Path, types: Mapping[str, str]) -> None:
    """Write a file of lines of JSON, whose values are texts or null, as an Excel file with columns of such types.

    A UsageError where Excel has no such value.
    """
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.worksheet._writer import ALL_TEMP_FILES, WorksheetWriter

    with lines.open(encoding="utf-8") as counted:
        require_size(sum(1 for _ in counted), len(types))
    book = Workbook(write_only=True)
    sheet = book.create_sheet("release")
    # By itself it is in a directory that others read too, and stays there after a kill.
    ALL_TEMP_FILES.append(parts := str(lines.with_name(f"{lines.name}.xml")))
    sheet._writer = WorksheetWriter(sheet, out=parts)  # noqa: SLF001
    sheet._writer.write_top()  # noqa: SLF001

    def cell(column: Column, text: str | None) -> Any:  # noqa: ANN401 - as above
        try:
            value = None if text is None else _converted(text, column)
        except _NotInExcelError as error:
            raise UsageError(
                f"Column {column.name!r} has {error}, which Excel does not have: cast it to VARCHAR in a view, drop "
                "it, or write another format."
            ) from None
        if not isinstance(value, str):
            return value
        made = WriteOnlyCell(sheet, value)
        # A number with all of its digits; or a text that is no formula and no error, whatever it begins with.
        made.data_type = "n" if column.family in _NUMBERS else "s"
        return made

    try:
        sheet.append([cell(Column("", "VARCHAR"), name) for name in types])
        columns = [Column(name, kind) for name, kind in types.items()]
        with lines.open(encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                if all(text is None for text in row.values()):
                    raise UsageError("A row of the release is NULL in all columns, which is no row of an Excel file.")
                sheet.append([cell(column, row[column.name]) for column in columns])
    finally:
        sheet.close()
    book.save(target)


def require_size(rows: int, columns: int) -> None:
    if columns > COLUMNS or rows >= ROWS:
        raise UsageError(
            f"The release has {rows:,} rows and {columns:,} columns, and a sheet of Excel has {ROWS:,} and "
            f"{COLUMNS:,}, names of columns among them: write .parquet or .csv."
        )


def can_hold(kind: str) -> bool:
    """Tell whether Excel has values of a type."""
    return kind in {"TIME", "UUID"} or not (
        Column("", kind).family == "other" or kind == "TIMESTAMP_NS" or kind.endswith("TIME ZONE")
    )


class _NotInExcelError(Exception):
    """What kind of value Excel does not have."""


def _converted(text: str, column: Column) -> Any:  # noqa: ANN401 - a number is a text still
    """Return the value of a cell."""
    if column.type == "TIME":
        return _in_milliseconds(time.fromisoformat(text))
    if column.type == "BOOLEAN":
        return text == "true"
    if column.family in {"date", "timestamp"}:
        return _moment(text, date.fromisoformat if column.family == "date" else datetime.fromisoformat)
    return _number(text, column) if column.family in _NUMBERS else _text(text)


def _text(text: str) -> str:
    escaped = _TO_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    if len(escaped.encode("utf-16-le")) > 2 * _LONGEST_TEXT:
        raise _NotInExcelError(f"a text of more than {_LONGEST_TEXT:,} characters")
    return escaped


def _number(text: str, column: Column) -> str:
    if column.family != "float" and sum(map(str.isdigit, text.lstrip("-0."))) > _DIGITS:
        raise _NotInExcelError(f"a number of more than {_DIGITS} digits")
    if not math.isfinite(float(text)):
        raise _NotInExcelError("NaN or infinity")
    return text


def _moment(text: str, read: Callable[[str], date]) -> date:
    try:
        found = read(text)
    except ValueError:  # the year has not four digits, or it is infinity
        raise _NotInExcelError("a date before 1900 or after 9999") from None
    if found.year < _FIRST_YEAR:
        raise _NotInExcelError("a date before 1900 or after 9999")
    return _in_milliseconds(found) if isinstance(found, datetime) else found


def _in_milliseconds(moment: Moment) -> Moment:
    if moment.microsecond % 1000:
        raise _NotInExcelError("a time finer than milliseconds")
    return moment


def _read(value: Any) -> tuple[str, str]:  # noqa: ANN401, PLR0911 - one line for each kind of cell
    """Return the type of the value of a cell, and the value as text."""
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
            return "VARCHAR", f"{seconds // _HOUR}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return "VARCHAR", _ESCAPED.sub(lambda found: chr(int(found[1], 16)), str(value))


def _type(kinds: set[str]) -> str:
    return next(iter(kinds)) if len(kinds) == 1 else _TOGETHER.get(frozenset(kinds), "VARCHAR")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    require_openpyxl()
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts that are no cells
        try:
            with path.open("rb") as file:
                yield load_workbook(file, read_only=True, data_only=True)
        except _BROKEN:
            raise SourceError(
                f"{path} cannot be read as an Excel file (.xlsx). Was it written to its end, and without a password?"
            ) from None


@contextmanager
def _parsed(sheet: Any, place: str) -> Iterator[Any]:  # noqa: ANN401 - as above
    """Hand out what reads the cells of a sheet one by one, whatever size it says that it has."""
    from openpyxl.worksheet._reader import FORMULA_TAG, WorkSheetParser

    book = sheet.parent
    with sheet._get_source() as source:  # noqa: SLF001
        parser = WorkSheetParser(
            source,
            sheet._shared_strings,  # noqa: SLF001
            data_only=True,
            epoch=book.epoch,
            date_formats=book._date_formats,  # noqa: SLF001
            timedelta_formats=book._timedelta_formats,  # noqa: SLF001
        )
        parse_cell = parser.parse_cell

        def parse(element: Any) -> Any:  # noqa: ANN401 - as above
            cell = parse_cell(element)
            if cell["value"] is None:
                if element.get("t") == "inlineStr":
                    cell["value"] = ""
                elif element.get("t") != "str" and element.find(FORMULA_TAG) is not None:
                    raise SourceError(
                        f"{place}: cell {element.get('r')} has a formula whose value is not in the "
                        "file. Open it in Excel, save it, and try again."
                    )
            return cell

        parser.parse_cell = parse
        yield parser


def _letters(column: int) -> str:
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column))


if __name__ == "__main__":
    read_sheet(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
