"""Excel files and OpenDocument sheets, read by python-calamine; openpyxl writes .xlsx.

DuckDB's own extension is not used: it infers the type of a column from its first row, and may need a download.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
import zipfile
from contextlib import suppress
from datetime import date, datetime, time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import NUMBERS, Column, chosen_table
from kanon_sql.engine.sources.layout import say
from kanon_sql.engine.sources.records import names_of_columns, require_header
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kanon_sql.engine.sources.layout import Layout

XLSX = ".xlsx"
ROWS, COLUMNS = 1_048_576, 16_384
_LONGEST_TEXT = 32_767
_DIGITS = 15  # digits of a number that Excel keeps
_FIRST_YEAR = 1900
# Excel's escapes of characters that XML lacks, and of text that looks like an escape (ECMA-376, 22.9.2.19).
_TO_ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)|[\x00-\x08\x0b-\x1f]")
_WITHOUT_VALUE = re.compile(rb'<c (?![^>]*t="str")[^>]*>\s*<f[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>|</c>)')
"""A cell whose formula was not computed yet."""


def require_openpyxl() -> None:
    if find_spec("openpyxl") is None:
        raise UsageError(
            "Writing .xlsx needs the library openpyxl, which is not installed: pip install 'kanon-sql[excel]'."
        )


def read_sheet(path: Path, layout: Layout) -> tuple[list[str], list[list[Any]], str | None]:
    """Return the column names of a sheet, its rows, and its name if there are others.

    By default, the first row with a value has the column names. Rows without any value are ignored, as are columns
    with neither a name nor a value.
    """
    from python_calamine import CalamineError, load_workbook

    try:
        with load_workbook(str(path)) as book:
            listed = [("", "", name, 1) for name in book.sheet_names]
            _, name = chosen_table(listed, layout.sheet, str(path), what=("sheet", "sheets"))
            sheet = book.get_sheet_by_name(name)
            rows = sheet.to_python(skip_empty_area=False)
            merged = [cells for cells in sheet.merged_cell_ranges or [] if cells[1][0] >= layout.above]
    except (CalamineError, ValueError, OSError):
        raise SourceError(
            f"{path} cannot be read as an Excel file. Was it written to its end, and without a password?"
        ) from None
    place = f"{path}, sheet {name}"
    if merged:
        raise SourceError(
            f"{place}: cells of row {merged[0][0][0] + 1} are merged: only the first of them has the value. If they "
            "are above the header, state its row: --read header=ROW. Else unmerge them and fill each."
        )
    if zipfile.is_zipfile(path):
        _require_computed(path)
    return *_table(place, rows, layout), name if len(listed) > 1 else None


def _table(place: str, rows: list[list[Any]], layout: Layout) -> tuple[list[str], list[list[Any]]]:
    kept = [(number, row) for number, row in enumerate(rows, 1) if number > layout.above and any(map(_is_value, row))]
    if not kept:
        raise SourceError(f"{place}, has no header and no rows.")
    data = kept if layout.header is False else kept[1:]
    data = data[: max(len(data) - (layout.skip_footer or 0), 0)]
    header = [_name(value) if _is_value(value) else "" for value in kept[0][1]]
    has_values = [any(_is_value(row[column]) for _, row in data) for column in range(len(header))]
    columns = [column for column, name in enumerate(header) if name or has_values[column]]
    if layout.header is not False and layout.names is None:
        for column in columns:
            if not header[column] and column > 0:
                number = next(number for number, row in data if _is_value(row[column]))
                raise SourceError(
                    f"{place}: column {column + 1} has a value in row {number:,} and no name. If the names are "
                    "in another row, say in which: --read header=ROW."
                )
    (*names,), notes = names_of_columns(place, [header[column] for column in columns], layout)
    for note in notes if layout.header is None else []:
        say(note)
    found = [[row[column] for column in columns] for _, row in data]
    if layout.may_lack_header:
        cells = [kept[0][1][column] for column in columns]
        may_be_values = (
            (_is_value(cell) and not isinstance(cell, str)) or any(row[at] == name for row in found)
            for at, (name, cell) in enumerate(zip(names, cells, strict=True))
        )
        require_header(place, names, may_be_values)
    layout.require_drops(names, place)
    if layout.drops is not None:
        column, before = names.index(layout.drops), len(found)
        found = [row for row in found if _is_value(row[column])]
        layout.say_left_out(before - len(found), place)
    return names, found


def _is_value(value: Any) -> bool:  # noqa: ANN401 - a cell
    return value is not None and value != ""


def _name(value: Any) -> str:  # noqa: ANN401 - a cell
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _require_computed(path: Path) -> None:
    """Raise if a formula has no value yet: the cell would be missing."""
    with zipfile.ZipFile(path) as book:
        sheets = [name for name in book.namelist() if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
        if any(_WITHOUT_VALUE.search(book.read(name)) for name in sheets):
            raise SourceError(
                f"{path} has a formula whose value is not in the file. Open it in Excel, save it, and try again."
            )


def write_sheet(lines: Path, target: Path, types: Mapping[str, str]) -> None:
    """Write lines of JSON, whose values are texts or null, as an Excel file; refuse values that Excel does not have."""
    from openpyxl import Workbook

    with lines.open(encoding="utf-8") as counted:
        require_size(sum(1 for _ in counted), len(types))
    book = Workbook(write_only=True)
    sheet = book.create_sheet("release")
    # openpyxl keeps rows in a tempfile: others could read its default directory, and a kill would leave it there.
    before, tempfile.tempdir = tempfile.tempdir, str(lines.parent)
    try:
        sheet.append(_cells(sheet, {name: Column(name, "VARCHAR") for name in types}, {name: name for name in types}))
        columns = {name: Column(name, kind) for name, kind in types.items()}
        with lines.open(encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                sheet.append(_cells(sheet, columns, row))
        book.save(target)
    except UsageError:
        sheet.close()
        raise
    finally:
        tempfile.tempdir = before


def _cells(sheet: Any, columns: Mapping[str, Column], texts: Mapping[str, str | None]) -> list[Any]:  # noqa: ANN401 - of openpyxl, which need not be installed
    from openpyxl.cell import WriteOnlyCell

    if all(text is None for text in texts.values()):
        raise UsageError("A row of the release is NULL in all columns, which is no row of an Excel file.")
    cells = []
    for name, column in columns.items():
        value = None if (text := texts[name]) is None else _value_of(text, column)
        if isinstance(value, str):
            value = WriteOnlyCell(sheet, value)
            # A number with all its digits, or a text that is never a formula or an error, whatever its first character.
            value.data_type = "n" if column.family in NUMBERS else "s"
        cells.append(value)
    return cells


def require_size(rows: int, columns: int) -> None:
    if columns > COLUMNS or rows >= ROWS:
        raise UsageError(
            f"The release has {rows:,} rows and {columns:,} columns, and a sheet of Excel has {ROWS:,} and "
            f"{COLUMNS:,}, names of columns among them: write .parquet or .csv."
        )


def can_hold(kind: str) -> bool:
    return kind in {"TIME", "UUID"} or not (
        Column("", kind).family == "other" or kind == "TIMESTAMP_NS" or kind.endswith("TIME ZONE")
    )


def _not_in_excel(column: Column, what: str) -> UsageError:
    return UsageError(
        f"Column {column.name!r} has {what}, which Excel does not have: cast it to VARCHAR in a view, drop it, or "
        "write another format."
    )


def _value_of(text: str, column: Column) -> Any:  # noqa: ANN401 - a number is a text still
    """Return the value of a cell. Raises an error without the value if Excel does not support it."""
    if column.type == "BOOLEAN":
        return text == "true"
    if column.type == "TIME" or column.family in {"date", "timestamp"}:
        return _moment(text, column)
    if column.family in NUMBERS:
        if column.family != "float" and sum(map(str.isdigit, text.lstrip("-0."))) > _DIGITS:
            raise _not_in_excel(column, f"a number of more than {_DIGITS} digits")
        if not math.isfinite(float(text)):
            raise _not_in_excel(column, "NaN or infinity")
        return text
    if not text:
        raise _not_in_excel(column, "an empty text")
    escaped = _TO_ESCAPE.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    if len(escaped.encode("utf-16-le")) > 2 * _LONGEST_TEXT:
        raise _not_in_excel(column, f"a text of more than {_LONGEST_TEXT:,} characters")
    return escaped


def _moment(text: str, column: Column) -> date | time:
    kind = time if column.type == "TIME" else date if column.family == "date" else datetime
    found = None
    with suppress(ValueError):  # not a four-digit year, or infinite
        found = kind.fromisoformat(text)
    if found is None or (isinstance(found, date) and found.year < _FIRST_YEAR):
        raise _not_in_excel(column, "a date before 1900 or after 9999")
    if isinstance(found, datetime | time) and found.microsecond % 1000:
        raise _not_in_excel(column, "a time finer than milliseconds")
    return found
