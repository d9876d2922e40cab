"""Excel files as sources: which sheet, which types, and what is refused."""

from __future__ import annotations

import datetime as dt
import sys
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from needs import needs

import kanon_sql
from kanon_sql.engine.sources.layout import DataFile, Layout
from kanon_sql.engine.sources.lines import write_lines
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.sql.dialects import script

Workbook = needs("openpyxl").Workbook
load_workbook = needs("openpyxl").load_workbook
CALENDAR_MAC_1904 = needs("openpyxl.utils.datetime").CALENDAR_MAC_1904

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conftest import Ended

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("in_tmp")]


def written(path: Path, *rows: Sequence[Any], sheets: Sequence[str] = ("Sheet1",)) -> Path:
    """Write rows to the first of some sheets; what begins with ``=`` is a formula, and has no value yet."""
    book = Workbook()
    for number, name in enumerate(sheets):
        sheet = book.active if number == 0 else book.create_sheet()
        assert sheet is not None
        sheet.title = name
        for row in rows if number == 0 else [("other",), (1,)]:
            sheet.append(row)
    book.save(path)
    return path


def rows_of(path: Path | DataFile, table: str | None = None) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    source = open_source(path, table)
    with source.engine:
        types = {column.name: column.type for column in source.columns}
        return types, source.engine.connection.execute(f"FROM {source.relation.sql('duckdb')}").fetchall()


def changed(path: Path, part: str, old: str, new: str) -> None:
    """Replace a text in a part of an Excel file."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name).decode() for name in file.namelist()}
    assert old in parts[part]
    with zipfile.ZipFile(path, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text.replace(old, new) if name == part else text)


SHEET = "xl/worksheets/sheet1.xml"


def test_cells_have_the_types_that_excel_has(in_tmp: Path) -> None:
    noon = dt.datetime(2024, 5, 6, 12, 30, 15)
    path = written(
        in_tmp / "types.xlsx",
        ("whole", "real", "code", "day", "moment", "clock", "yes", "both", "empty", "mixed"),
        (1, 1.5, "007", dt.date(2024, 2, 29), noon, dt.time(7, 5), True, dt.date(2024, 1, 1), None, 12),
        (2.0, 2, "1e5", dt.date(1900, 1, 1), noon, dt.time(0), False, noon, None, "12a"),
        (None, -0.25, "", dt.date(1999, 12, 31), None, None, None, None, None, True),
        (10**14, None, "x", None, None, None, None, None, None, dt.date(2024, 1, 1)),
        (None, None, "y", None, None, None, None, None, None, 0.5),
        (None, None, "z", None, None, None, None, None, None, dt.timedelta(hours=25, minutes=1)),
    )
    types, rows = rows_of(path)
    assert list(types.values()) == [
        *("BIGINT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP", "TIME", "BOOLEAN", "TIMESTAMP", "VARCHAR", "VARCHAR"),
    ]
    columns = dict(zip(types, zip(*rows, strict=True), strict=True))
    assert columns["whole"] == (1, 2, None, 10**14, None, None)
    assert columns["real"][:3] == (1.5, 2.0, -0.25)
    assert columns["code"] == ("007", "1e5", None, "x", "y", "z")
    assert columns["day"][:3] == (dt.date(2024, 2, 29), dt.date(1900, 1, 1), dt.date(1999, 12, 31))
    assert columns["clock"][:2] == (dt.time(7, 5), dt.time(0))
    assert columns["both"][:2] == (dt.datetime(2024, 1, 1), noon)
    assert columns["mixed"] == ("12", "12a", "TRUE", "2024-01-01", "0.5", "25:01:00")


def test_texts_are_as_they_are_seen_in_excel(in_tmp: Path) -> None:
    path = written(in_tmp / "texts.xlsx", ("a", "b"), ("one\ntwo", " x "), ("_x000D_", '"quoted", \\ and ä 漢'))
    assert rows_of(path)[1] == [("one\ntwo", " x "), ("\r", '"quoted", \\ and ä 漢')]


def test_an_empty_text_among_numbers_is_null_and_empty_rows_are_none(in_tmp: Path) -> None:
    path = written(in_tmp / "gaps.xlsx", (), ("n", "t"), (1, "x"), (None, None), ("", None), (2, "y"), (None,))
    assert rows_of(path) == ({"n": "BIGINT", "t": "VARCHAR"}, [(1, "x"), (2, "y")])


def test_what_a_formula_gave_is_read(in_tmp: Path) -> None:
    path = written(in_tmp / "formulas.xlsx", ("a", "b"), (1, "=A2+1"))
    with pytest.raises(SourceError, match="has a formula whose value is not in the file"):
        rows_of(path)
    changed(path, SHEET, "<f>A2+1</f><v />", "<f>A2+1</f><v>2</v>")
    assert rows_of(path)[1] == [(1, 2)]


def test_the_size_that_a_file_says_it_has_is_not_believed(in_tmp: Path) -> None:
    path = written(in_tmp / "size.xlsx", ("a", "b"), (1, 2))
    changed(path, SHEET, 'ref="A1:B2"', 'ref="A1"')
    assert rows_of(path)[1] == [(1, 2)]


def test_dates_that_count_from_1904(in_tmp: Path) -> None:
    path = written(in_tmp / "mac.xlsx", ("day",), (dt.date(2024, 1, 1),))
    book = load_workbook(path)
    book.epoch = CALENDAR_MAC_1904
    book.save(path)
    assert rows_of(path)[1] == [(dt.date(2024, 1, 1),)]


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([("a", None, "c"), (1, 2, 3)], SourceError, "column 2 has a value in row 2 and no name"),
        ([("Patients",), ("a", "b"), (1, 2)], SourceError, "column 2 has a value in row 2 and no name"),
        ([("a", "b"), ("x", "b"), ("x", "y")], UsageError, "1 of its 2 names could be values"),
        ([(31, "x"), (32, "y")], UsageError, "may be a row, and not the header: 1 of its 2 names"),
        ([], SourceError, "no header and no rows"),
    ],
)
def test_headers_that_name_no_columns_are_refused(
    in_tmp: Path, rows: list[tuple[Any, ...]], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        rows_of(written(in_tmp / "header.xlsx", *rows))


def test_a_header_without_rows_and_columns_without_anything(in_tmp: Path) -> None:
    path = written(in_tmp / "none.xlsx", ("a", 2024, None))
    with pytest.raises(UsageError, match="1 of its 2 names could be values"):
        rows_of(path)
    assert rows_of(DataFile(path, header=True)) == ({"a": "VARCHAR", "2024": "VARCHAR"}, [])


def test_merged_cells_are_refused(in_tmp: Path) -> None:
    path = written(in_tmp / "merged.xlsx", ("a", "b"), ("x", 1), (None, 2))
    book = load_workbook(path)
    book["Sheet1"].merge_cells("A2:A3")
    book.save(path)
    with pytest.raises(SourceError, match="cells of row 2 are merged"):
        rows_of(path)


def test_the_sheet_is_named_where_there_are_several(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    path = written(in_tmp / "two.xlsx", ("a",), *[(n % 2,) for n in range(8)], sheets=["First", "Second one"])
    with pytest.raises(UsageError, match=r"has 2 sheets: name the one to use\. There: First, Second one"):
        rows_of(path)
    with pytest.raises(UsageError, match="has no sheet 'Third'"):
        rows_of(path, "Third")
    assert rows_of(path, "second ONE") == ({"other": "BIGINT"}, [(1,)])
    ended = kanon("init", "two.xlsx", "First")
    assert ended.code == 0
    assert 'from = "two.xlsx"\ntable = "First"' in (in_tmp / "kanon.toml").read_text()
    assert "kanon anonymize --policy kanon.toml" in ended.out.replace(sys.argv[0], "kanon")
    found = kanon("check", "--policy", "kanon.toml", "two.xlsx", "First", "--qi", "a", "-k", "4")
    assert found.code == 0, found.err


CELL = '<table:table-cell office:value-type="{}" office:{}="{}"><text:p>{}</text:p></table:table-cell>'
MANIFEST = """<?xml version="1.0" encoding="UTF-8"?>
<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" m:version="1.2">
<m:file-entry m:full-path="/" m:media-type="application/vnd.oasis.opendocument.spreadsheet"/></m:manifest>"""
SPREADSHEET = """<?xml version="1.0" encoding="UTF-8"?>
<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 office:version="1.2"><office:body><office:spreadsheet><table:table table:name="Sheet1">{}</table:table>
</office:spreadsheet></office:body></office:document-content>"""


def test_other_spreadsheets(in_tmp: Path) -> None:
    """A sheet of OpenDocument, written by hand, and an Excel file with macros."""
    texts = [[("string", "string-value", text, text) for text in ("n", "t", "d")]]
    row = [
        ("float", "value", "1.5", "1.5"),
        ("string", "string-value", "x", "x"),
        ("date", "date-value", "2024-02-29", ""),
    ]
    rows = ["".join(CELL.format(*cell) for cell in cells) for cells in [*texts, row]]
    content = SPREADSHEET.format("".join(f"<table:table-row>{cells}</table:table-row>" for cells in rows))
    with zipfile.ZipFile(in_tmp / "o.ods", "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("content.xml", content)
        file.writestr("META-INF/manifest.xml", MANIFEST)
    expected = {"n": "DOUBLE", "t": "VARCHAR", "d": "DATE"}, [(1.5, "x", dt.date(2024, 2, 29))]
    assert rows_of(in_tmp / "o.ods") == expected
    written(in_tmp / "m.xlsm", ("n", "t", "d"), (1.5, "x", dt.date(2024, 2, 29)))
    assert rows_of(in_tmp / "m.xlsm") == expected


@pytest.mark.filterwarnings("ignore:.*is read as|.*left out")
def test_a_layout_that_is_stated(in_tmp: Path) -> None:
    path = written(
        in_tmp / "t.xlsx", ("Report of May",), (), (None, "n", "n"), (0, 5, "x"), (1, 6, "y"), ("Total", 11), ()
    )
    with pytest.raises(SourceError, match=r"column 2 has a value in row 3 and no name.*header=ROW"):
        rows_of(path)
    assert rows_of(DataFile(path, header=3, skip_footer=1)) == (
        {"column_1": "BIGINT", "n": "BIGINT", "n_2": "VARCHAR"},
        [(0, 5, "x"), (1, 6, "y")],
    )
    assert rows_of(DataFile(path, skip=2, incomplete_rows="n_2"))[1] == [(0, 5, "x"), (1, 6, "y")]
    assert rows_of(DataFile(path, skip=3, skip_footer=1, header=["a", "b", "c"]))[0] == {
        "a": "BIGINT",
        "b": "BIGINT",
        "c": "VARCHAR",
    }


def test_what_is_no_excel_file_is_refused(in_tmp: Path) -> None:
    (in_tmp / "torn.xlsx").write_bytes(written(in_tmp / "whole.xlsx", ("a",), (1,)).read_bytes()[:500])
    (in_tmp / "locked.xlsx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    for name in ("torn.xlsx", "locked.xlsx"):
        with pytest.raises(SourceError, match="cannot be read as an Excel file"):
            rows_of(in_tmp / name)
    with pytest.raises(UsageError, match="one is read at a time"):
        open_source("*.xlsx")
    with pytest.raises(SourceError, match="does not exist"):
        open_source("nowhere.xlsx")
    with pytest.raises(UsageError, match="is no file that encoding is for"):
        open_source(DataFile("whole.xlsx", encoding="cp1252"))


def test_without_openpyxl_it_says_what_to_install(in_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(in_tmp / "a.xlsx", ("a",), (1,))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert rows_of(path) == ({"a": "BIGINT"}, [(1,)])
    with pytest.raises(UsageError, match=r"pip install 'kanon-sql\[excel\]'"):
        kanon_sql.anonymize(path, quasi_identifiers=["a"], count="rows", k=1).to_file("b.xlsx")


def test_a_script_reads_the_lines_that_the_command_in_it_writes(in_tmp: Path) -> None:
    path = written(in_tmp / "a b.xlsx", ("n", "d"), (1, dt.date(2024, 1, 1)), (None, None), (2, None))
    source = open_source("a b.xlsx")
    with source.engine:
        text = script(source.setup, "duckdb")
    assert "write the rows of a b.xlsx as lines of JSON" in text
    write_lines(path, in_tmp / "a b.xlsx.jsonl", Layout(sheet="Sheet1"))
    with closing(duckdb.connect()) as plain:
        plain.execute(text)
        assert plain.execute("FROM kanon_source").fetchall() == [(1, dt.date(2024, 1, 1)), (2, None)]
