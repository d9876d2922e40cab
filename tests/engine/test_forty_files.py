"""165 files as offices, statistics packages, databases, banks, surveys and old machines write them.

What a file has is never taken from the reader: an oracle reads it with the csv module (or openpyxl) and a layout that
is stated by hand. The reader must give the same cells, or refuse the file and name an option that then works.
"""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import random
import re
import warnings
import zipfile
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from needs import needs

from kanon_sql.engine.sources.layout import DataFile
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import KanonError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

openpyxl = needs("openpyxl")
zstandard = needs("zstandard")

pytestmark = pytest.mark.thorough
Rows = list[list[Any]]
EMPTY_TEXT = "\ue000"
"""Stands for a quoted empty value, which the csv module does not tell from a missing one."""


# The oracles.


@dataclass(frozen=True)
class Csv:
    """How a text file is laid out, stated by hand; ``kinds`` has one letter for each column.

    t text, n number, d date, s timestamp, z timestamp with an offset, h time of day.
    """

    kinds: str
    delimiter: str = ","
    encoding: str = "utf-8-sig"
    quotechar: str | None = '"'
    escapechar: str | None = None
    above: int = 0
    """Records above the names, blank lines among them."""
    below: int = 0
    """Records below the last row, blank lines not counted."""
    names: tuple[str, ...] = ()
    """Names that stand in the place of those of the file."""
    named: bool = True
    """Whether a line of the file has the names."""
    comment: str = ""
    decimal: str = "."
    thousands: str = ""
    null: tuple[str, ...] = ()
    dates: str = ""
    trailing: bool = False
    """Whether rows end with a delimiter that begins no value."""

    def read(self, content: bytes) -> tuple[list[str], Rows]:
        """Return the names and the rows of the file."""
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        elif content[:4] == b"\x28\xb5\x2f\xfd":
            content = zstandard.ZstdDecompressor().decompressobj().decompress(content)
        text = content.decode(self.encoding)
        if self.quotechar:
            quote, delimiter = re.escape(self.quotechar), re.escape(self.delimiter)
            alone = f"(^|(?<=[\r\n{delimiter}])){quote}{quote}(?=[\r\n{delimiter}]|$)"
            text = re.sub(alone, f"{self.quotechar}{EMPTY_TEXT}{self.quotechar}", text)
        csv.field_size_limit(1 << 28)
        lines = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=self.delimiter,
            quotechar=self.quotechar,
            quoting=csv.QUOTE_MINIMAL if self.quotechar else csv.QUOTE_NONE,
            escapechar=self.escapechar,
            doublequote=self.escapechar is None,
        )
        records = list(lines)[self.above :]
        if len(self.kinds) > 1:
            records = [record for record in records if record]
        else:
            while records and not records[-1]:
                records.pop()
            records = [record or [""] for record in records]
        if self.comment:
            records = [record for record in records if not record[0].startswith(self.comment)]
        records = records[: len(records) - self.below]
        names = records.pop(0) if self.named else []
        if self.trailing:
            records = [record[: len(self.kinds)] for record in records]
        assert all(len(record) == len(self.kinds) for record in records), "the oracle's layout does not fit"
        rows = [[self.value(cell, kind) for cell, kind in zip(record, self.kinds, strict=False)] for record in records]
        return list(self.names or names), rows

    def value(self, cell: str, kind: str) -> Any:  # noqa: PLR0911 - one line for each kind
        """Return what a cell says."""
        if cell in self.null:
            return None
        if kind == "t":
            return "" if cell == EMPTY_TEXT else cell or None
        cell = cell.replace(EMPTY_TEXT, "").strip(" ")
        if not cell:
            return None
        match kind:
            case "n":
                return Decimal(cell.replace(self.thousands or "\0", "").replace(self.decimal, "."))
            case "d":
                return dt.datetime.strptime(cell, self.dates or "%Y-%m-%d").date()  # noqa: DTZ007 - of no zone
            case "h":
                return dt.time.fromisoformat(cell)
            case "s":
                if not self.dates:
                    return dt.datetime.fromisoformat(cell)
                return dt.datetime.strptime(cell, self.dates)  # noqa: DTZ007 - of no zone
        moment = dt.datetime.fromisoformat(cell)
        assert moment.tzinfo, "an offset is stated"
        return moment


@dataclass(frozen=True)
class Sheet:
    """Where a table is in a workbook, stated by hand."""

    kinds: str
    sheet: str = "Sheet"
    header: int = 1
    """The row of the names; 0 if there are none."""
    below: int = 0
    first: int = 1
    """The first column."""
    names: tuple[str, ...] = ()

    def read(self, content: bytes) -> tuple[list[str], Rows]:
        """Return the names and the rows of the sheet."""
        sheet = openpyxl.load_workbook(io.BytesIO(content), data_only=True)[self.sheet]
        last = self.first + len(self.kinds) - 1
        cells = [list(row) for row in sheet.iter_rows(min_col=self.first, max_col=last, values_only=True)]
        names = [str(name) for name in cells[self.header - 1]] if self.header else []
        rows = [row for row in cells[self.header :] if any(value is not None for value in row)]
        rows = rows[: len(rows) - self.below]
        return list(self.names or names), [
            [self.value(*pair) for pair in zip(row, self.kinds, strict=False)] for row in rows
        ]

    def value(self, value: Any, kind: str) -> Any:
        """Return what a cell says."""
        if value is None or kind == "t":
            return value if value is None else str(value)
        if kind == "d":
            return value.date()
        return number(value) if kind == "n" else value


@dataclass(frozen=True)
class Known:
    """A table written out by hand, where no oracle reads the file."""

    kinds: str
    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def read(self, _: bytes) -> tuple[list[str], Rows]:
        """Return the names and the rows."""
        return list(self.names), [list(row) for row in self.rows]


# The reader.


@dataclass
class Table:
    """What the reader made of a file."""

    names: list[str]
    types: list[str]
    rows: Rows
    warnings: list[str] = field(default_factory=list)


def number(value: Any) -> Any:
    """Return a number so that two of them are equal if they are the same number."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return value
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def read(path: Path, **stated: Any) -> Table:
    """Read a file with the package."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        source = open_source(DataFile(str(path), **stated))
        got = source.engine.connection.execute("FROM " + source.relation.sql("duckdb"))
        names, types = [c[0] for c in got.description], [str(c[1]) for c in got.description]
        rows = [[number(value) for value in row] for row in got.fetchall()]
    return Table(names, types, rows, [str(warning.message) for warning in said])


TYPES = {
    "n": r"TINYINT|SMALLINT|INTEGER|U?BIGINT|U?HUGEINT|DOUBLE|DECIMAL.*",
    "t": "VARCHAR",
    "d": "DATE",
    "s": "TIMESTAMP(_NS)?",
    "z": "TIMESTAMP WITH TIME ZONE",
    "h": "TIME",
    "b": "BOOLEAN",
}


def check_equal(table: Table, names: list[str], rows: Rows, kinds: str) -> None:
    """Fail unless the reader gave these names, rows and kinds."""
    assert table.names == names
    assert len(table.rows) == len(rows), f"{len(rows)} rows are in the file, {len(table.rows)} were read"
    for column, name in enumerate(names):
        expected, got = [row[column] for row in rows], [row[column] for row in table.rows]
        assert got == expected, name
        if any(value is not None for value in expected):
            assert re.fullmatch(TYPES[kinds[column]], table.types[column]), (name, table.types[column])


def check_silent(text: str, path: Path, names: list[str], rows: Rows) -> None:
    """Fail if a message has the value of a cell (other than a name of a column)."""
    text = text.replace(str(path), "").replace(path.name, "")
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, "")
    cells = {str(value).strip() for row in rows for value in row if value is not None}
    assert not [cell for cell in cells if len(cell) > 3 and cell in text], text


@dataclass(frozen=True)
class Case:
    """A file, and what should become of it."""

    name: str
    content: bytes | Callable[[], bytes]
    expected: Csv | Sheet | Known | None
    stated: dict[str, Any] = field(default_factory=dict)
    refused: str = ""
    """If it is refused as it is stated: what the message names."""
    works: dict[str, Any] = field(default_factory=dict)
    """The options with which it is read then; the message must name each."""
    warned: tuple[str, ...] = ()
    suffix: str = ".csv"


def text(*lines: str, end: str = "\n", encoding: str = "utf-8") -> bytes:
    """Return a text file of lines."""
    return "".join(line + end for line in lines).encode(encoding)


def workbook(fill: Callable[[openpyxl.Workbook], None]) -> Callable[[], bytes]:
    """Return a builder of an Excel file."""

    def build() -> bytes:
        book, buffer = openpyxl.Workbook(), io.BytesIO()
        fill(book)
        book.save(buffer)
        return buffer.getvalue()

    return build


def sheet_of(*rows: list[Any], merge: str = "", title: str = "Sheet") -> Callable[[], bytes]:
    """Return a builder of an Excel file of these rows."""

    def fill(book: openpyxl.Workbook) -> None:
        book.active.title = title
        for row in rows:
            book.active.append(row)
        if merge:
            book.active.merge_cells(merge)

    return workbook(fill)


def two_sheets(book: openpyxl.Workbook) -> None:
    """Fill a workbook with data and with a list of codes."""
    book.active.title = "Daten"
    for row in (["id", "antwort"], [1, 9], [2, 1]):
        book.active.append(row)
    codes = book.create_sheet("Codes")
    for code in (["code", "bedeutung"], [1, "stimme zu"], [9, "weiß nicht"]):
        codes.append(code)


def shifted(book: openpyxl.Workbook) -> None:
    """Fill a workbook whose table begins in C4."""
    rows: Rows = [["id", "ort"], [1, "Ulm"], [2, "Köln"]]
    for row, values in enumerate(rows, start=4):
        for column, value in enumerate(values, start=3):
            book.active.cell(row, column, value)


def mac_epoch(book: openpyxl.Workbook) -> None:
    """Fill a workbook that counts days from 1904."""
    book.epoch = openpyxl.utils.datetime.CALENDAR_MAC_1904
    book.active.append(["geb", "ort"])
    book.active.append([dt.date(2020, 1, 2), "Ulm"])


def ods() -> bytes:
    """Return a spreadsheet as LibreOffice writes it."""
    cells = (
        '<table:table-row><table:table-cell office:value-type="string"><text:p>id</text:p></table:table-cell>'
        '<table:table-cell office:value-type="string"><text:p>plz</text:p></table:table-cell></table:table-row>'
        '<table:table-row><table:table-cell office:value-type="float" office:value="1"><text:p>1</text:p>'
        '</table:table-cell><table:table-cell office:value-type="string"><text:p>01067</text:p></table:table-cell>'
        '</table:table-row><table:table-row><table:table-cell office:value-type="float" office:value="2.5"><text:p>'
        '2,5</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>80331</text:p>'
        "</table:table-cell></table:table-row>"
    )
    spaces = "".join(
        f' xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"' for short in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content{spaces} office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="Tabelle1">{cells}</table:table></office:spreadsheet>'
        "</office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
    return buffer.getvalue()


GERMAN = ("Nr;Name;Straße", "1;Jürgen Groß;Äußere Straße 1", "2;Käthe Möller;Königsallee 7", "3;Jörg Weiß;Schloßweg 2")
KANJI = ("番号,名前,都市", "1,山田太郎,東京", "2,鈴木花子,大阪", "3,高橋健一,名古屋")
PATIENTS = ("id,name,ort", "1,Anna,Ulm", "2,Otto,Bonn")
WIDE = ",".join(f"c{i}" for i in range(300)), ",".join(str(i) for i in range(300)), "," * 299

CASES = [
    # Offices.
    Case("plain", text(*PATIENTS), Csv("ntt")),
    Case("german excel, bom", b"\xef\xbb\xbf" + text(*GERMAN, end="\r\n"), Csv("ntt", ";")),
    Case(
        "german excel, cp1252",
        text(*GERMAN, end="\r\n", encoding="cp1252"),
        Csv("ntt", ";", "cp1252"),
        refused="cp1252",
        works={"encoding": "cp1252"},
    ),
    Case("cp1252 stated", text(*GERMAN, encoding="cp1252"), Csv("ntt", ";", "cp1252"), {"encoding": "cp1252"}),
    Case(
        "dos, cp850",
        text(*GERMAN, end="\r\n", encoding="cp850"),
        Csv("ntt", ";", "cp850"),
        refused="encoding=",
        works={"encoding": "cp850"},
    ),
    Case(
        "dos, cp850, two words",
        text("id;ort", "1;München", "2;Köln", end="\r\n", encoding="cp850"),
        Csv("nt", ";", "cp850"),
        refused="encoding=",
        works={"encoding": "cp850"},
    ),
    Case(
        "old mac",
        text(*GERMAN, end="\r", encoding="mac_roman"),
        Csv("ntt", ";", "mac_roman"),
        refused="encoding=",
        works={"encoding": "mac_roman"},
    ),
    Case(
        "polish, cp1250",
        text("id;imię;miasto", "1;Łukasz;Łódź", "2;Żaneta;Gdańsk", encoding="cp1250"),
        Csv("ntt", ";", "cp1250"),
        {"encoding": "cp1250"},
    ),
    Case(
        "russian, koi8-r",
        text("имя,город", "Иван,Москва", "Ольга,Санкт-Петербург", encoding="koi8-r"),
        Csv("tt", encoding="koi8-r"),
        refused="encoding=",
        works={"encoding": "koi8-r"},
    ),
    Case(
        "russian, cp1251",
        text("имя,город", "Иван,Москва", "Ольга,Псков", encoding="cp1251"),
        Csv("tt", encoding="cp1251"),
        {"encoding": "cp1251"},
    ),
    Case(
        "japanese, cp932",
        text(*KANJI, encoding="cp932"),
        Csv("ntt", encoding="cp932"),
        refused="cp932",
        works={"encoding": "cp932"},
    ),
    Case(
        "chinese, gb18030",
        text("姓名,城市", "张伟,北京", "王芳,上海", encoding="gb18030"),
        Csv("tt", encoding="gb18030"),
        refused="gb18030",
        works={"encoding": "gb18030"},
    ),
    Case(
        "taiwan, big5",
        text("姓名,城市", "張偉,臺北", "王芳,高雄", encoding="big5"),
        Csv("tt", encoding="big5"),
        {"encoding": "big5"},
    ),
    Case(
        "korean, euc-kr",
        text("이름,도시", "김철수,서울", "이영희,부산", encoding="euc_kr"),
        Csv("tt", encoding="euc_kr"),
        {"encoding": "euc_kr"},
    ),
    Case(
        "mainframe, cp500",
        text("id,name", "1,MEIER", "2,SCHULZ", encoding="cp500"),
        Csv("nt", encoding="cp500"),
        {"encoding": "cp500"},
    ),
    Case(
        "excel unicode text",
        ("\ufeff" + "Name\tOrt\r\nMüller\t東京\r\n").encode("utf-16-le"),
        Csv("tt", "\t", "utf-16"),
        suffix=".txt",
    ),
    Case(
        "utf-16-be with mark",
        ("\ufeff" + "Name\tOrt\r\nMüller\t東京\r\n").encode("utf-16-be"),
        Csv("tt", "\t", "utf-16"),
        suffix=".txt",
    ),
    Case(
        "utf-16-le without mark",
        text("Name\tOrt", "Müller\tKöln", "Meier\tBonn", encoding="utf-16-le"),
        Csv("tt", "\t", "utf-16-le"),
        refused="encoding=",
        works={"encoding": "utf-16-le"},
        suffix=".txt",
    ),
    Case(
        "utf-16-le stated",
        text("Name\tOrt", "Müller\tKöln", encoding="utf-16-le"),
        Csv("tt", "\t", "utf-16-le"),
        {"encoding": "utf-16-le"},
        suffix=".txt",
    ),
    Case("one byte broken", text(*GERMAN) + "4;Grün;Weg".encode("cp1252") + b"\n", None, refused="encoding="),
    Case("sep line", text("sep=;", "a;b,c", "1;x,2"), Csv("nt", ";", above=1)),
    Case("sep line with mark", b"\xef\xbb\xbf" + text("sep=;", "a;b", "1;x,y", end="\r\n"), Csv("nt", ";", above=1)),
    Case("sep tab", text("sep=\t", "a\tb", "1\tx"), Csv("nt", "\t", above=1)),
    Case("blank lines above and between", text("", "", *PATIENTS[:2], "", PATIENTS[2], "", ""), Csv("ntt")),
    Case("line of blanks between", text("a;b", "1;xyz", "  ", "2;uvw"), None, refused="line 3"),
    Case("line of delimiters is a row", text("a;b;c", "1;xyz;2", ";;", "3;uvw;4"), Csv("ntn", ";")),
    # Line ends.
    Case("crlf", text(*PATIENTS, end="\r\n"), Csv("ntt")),
    Case("cr", text(*PATIENTS, end="\r"), Csv("ntt")),
    Case("no final newline", text(*PATIENTS)[:-1], Csv("ntt")),
    Case("lf in a crlf file", b"id,name\r\n10,Anna\n20,Otto\r\n", Csv("nt")),
    Case("cr in a crlf file", b"id,name\r\n10,Anna\r20,Otto\r\n", None, refused="carriage return"),
    Case("all three ends", b"id,name\n10,Anna\r\n20,Otto\r30,Paul\n", None, refused="carriage return"),
    Case("cr cr lf", b"id,name\r\r\n10,Anna\r\r\n20,Otto\r\r\n", None, refused="carriage return"),
    Case(
        "dos end of file",
        text("id,name", "1,Anna", end="\r\n") + b"\x1a",
        Csv("nt", below=1),
        refused="skip_footer=",
        works={"skip_footer": 1},
    ),
    # Quotes.
    Case("newline in quotes", text("id,text", '1,"zwei\nZeilen"', '2,"drei\r\n\r\nZeilen"', "3,eine"), Csv("nt")),
    Case("doubled quotes", text("id,text", '1,"sagte ""ja"", dann"', '2,""""', '3,"""x"""'), Csv("nt")),
    Case("stray quote in a line of its own", text("id,rohr", '1,5" rohr', '2,x"y"z'), Csv("nt")),
    Case("stray quote at the end of values", text("name,size", 'rohr,7"', 'stab,8"', "ring,9"), Csv("tt")),
    Case("stray quote at the begin of lines", text("size,name", '7",rohr', '8",stab'), Csv("tt")),
    Case("stray quotes beside real ones", text("name,size", '"rohr, lang",7"', '"stab",8"', '"ring",9'), Csv("tt")),
    Case("stray quotes in one column", text("size", '7"', "rohr", "stab", '8"', "ring"), Csv("t")),
    Case(
        "quote behind a blank",
        text("id,name", '1, "Anna', '2,Otto"', "3,Paul"),
        Known("nt", ("id", "name"), ((1, "Anna\n2,Otto"), (3, "Paul"))),
    ),
    Case("quote behind an odd blank", text("id,name", '1,\u2009"Anna', "2,Otto", '3,\\"Paul'), Csv("nt")),
    Case(
        "quote without end",
        text("id,name", '1,"Anna', "2,Otto", "3,Paul"),
        Csv("nt", quotechar=None),
        refused="quote=",
        works={"quote": "none"},
    ),
    Case(
        "text behind a quote",
        text("id,name", '1,"Anna"Maria', "2,Otto"),
        Csv("nt", quotechar=None),
        refused="quote=",
        works={"quote": "none"},
    ),
    Case("backslash is text", text("id,path", '1,"C:\\dir\\"', '2,"D:\\"', '3,"a""b"'), Csv("nt")),
    Case(
        "escaped by a backslash", text("id,text", '1,"x\\"y"', '2,"z, w"'), Csv("nt", escapechar="\\"), {"escape": "\\"}
    ),
    Case("single quotes", text("id,text", "1,'x, y'", "2,'it''s'"), Csv("nt", quotechar="'"), {"quote": "'"}),
    Case("quoted numbers", text('"id","plz"', '"1","01067"', '"2","80331"'), Csv("nt")),
    Case("empty text and missing", text("id,text,wert", '1,"",""', "2,,3", '3,"x",'), Csv("ntn")),
    Case("newline in a name", text('"Name\n(Vorname)",alter', "Anna,3"), Csv("tn")),
    # Titles, comments, footers, ragged lines.
    Case(
        "title",
        text("Bericht Umsatz", "id;name;ort", "1;Anna;Ulm"),
        Csv("ntt", ";", above=1),
        refused="header=2",
        works={"header": 2},
    ),
    Case(
        "title and blank line",
        text("Bericht Umsatz", "", "id;name;ort", "1;Anna;Ulm"),
        Csv("ntt", ";", above=2),
        refused="header=3",
        works={"header": 3},
    ),
    Case(
        "title, skipped",
        text("Bericht Umsatz", "Stand 2020", "id;name", "1;Anna"),
        Csv("nt", ";", above=2),
        {"skip": 2},
    ),
    Case(
        "title padded by excel", text("Bericht;;", "id;name;ort", "1;Anna;Ulm"), Csv("ntt", ";", above=1), {"header": 2}
    ),
    Case(
        "comments above",
        text("# Export v2", "# Quelle", "id;name", "1;Anna"),
        Csv("nt", ";", comment="#"),
        {"comment": "#"},
    ),
    Case(
        "comments between",
        text("id;name", "1;Anna", "# 2 geloescht", "3;Paul"),
        Csv("nt", ";", comment="#"),
        refused="comment=",
        works={"comment": "#"},
    ),
    Case(
        "comment sign in a value",
        text("# Export", "id;adresse", "1;Apt #5", "2;Weg 7"),
        Csv("nt", ";", comment="#"),
        {"comment": "#"},
    ),
    Case(
        "sql server",
        text("id,name", "1,Anna", "2,Otto", "", "(2 rows affected)", end="\r\n"),
        Csv("nt", below=1),
        refused="skip_footer=",
        works={"skip_footer": 1},
    ),
    Case(
        "mysql footer",
        text("id\tname", "1\tAnna", "2\tOtto", "12 rows in set (0.00 sec)"),
        Csv("nt", "\t", below=1),
        refused="skip_footer=",
        works={"skip_footer": 1},
        suffix=".tsv",
    ),
    Case(
        "psql",
        text(" id | name", "----+------", "  1 | Anna", "  2 | Otto", "(2 rows)", ""),
        Known("nt", ("id", "name"), ((1, " Anna"), (2, " Otto"))),
        refused="skip_footer=",
        works={"delim": "|", "comment": "-", "skip_footer": 1},
        suffix=".txt",
    ),
    Case(
        "psql csv",
        text("id,name", "1,Anna", "(1 row)"),
        Csv("nt", below=1),
        refused="skip_footer=",
        works={"skip_footer": 1},
    ),
    Case("totals are a row", text("id;wert", "1;10", "2;20", "Summe;30"), Csv("tn", ";")),
    Case(
        "totals left out",
        text("id;wert", "1;10", "2;20", ";30"),
        Known("nn", ("id", "wert"), ((1, 10), (2, 20))),
        {"incomplete_rows": "id"},
        warned=("id",),
    ),
    Case(
        "footer behind newline in quotes",
        text("id;t", '1;"a\nb"', "2;x", "Ende"),
        Csv("nt", ";", below=1),
        {"skip_footer": 1},
    ),
    Case(
        "footer in a file of cr",
        text("id;name", "1;Anna", "2;Otto", "Ende", end="\r"),
        Csv("nt", ";", below=1),
        {"skip_footer": 1},
    ),
    Case(
        "many delimiters at the end of a row",
        text("id;name", "1;Anna;;;", "2;Otto"),
        Known("nt", ("id", "name"), ((1, "Anna"), (2, "Otto"))),
    ),
    Case("line too long", text("id,name", "1,Anna", "2,Otto,Zusatz"), None, refused="line 3"),
    Case("line too short", text(*PATIENTS, "3,Paul"), None, refused="line 4"),
    Case("r write.table", text('"x" "y"', '"r1" 1 "Anna"'), None, {"delim": " "}, refused="line 2"),
    Case("delimiter at the end of rows", text("id|name", "1|Anna|", "2|Otto|"), Csv("nt", "|", trailing=True)),
    Case("last column is empty", text("a,b,c", "1,Anna,", "2,Otto,"), Csv("ntt")),
    # Headers.
    Case(
        "years",
        text("region;2019;2020", "Nord;1;2", "West;3;4"),
        Csv("tnn", ";"),
        refused="header=true",
        works={"header": True},
    ),
    Case(
        "no header, numbers",
        text("1,Anna", "2,Otto"),
        Csv("nt", named=False, names=("column_1", "column_2")),
        refused="header=false",
        works={"header": False},
    ),
    Case(
        "no header, texts",
        text("m,Berlin", "f,Berlin", "m,Ulm"),
        Csv("tt", named=False, names=("column_1", "column_2")),
        refused="header=false",
        works={"header": False},
    ),
    Case(
        "names stated",
        text("1,Anna", "2,Otto"),
        Csv("nt", named=False, names=("id", "name")),
        {"header": ["id", "name"]},
    ),
    Case(
        "names in place of the file's",
        text("nr,wer", "1,Anna", "2,Otto"),
        Csv("nt", names=("id", "name")),
        {"header": True, "names": ["id", "name"]},
    ),
    Case("same names", text("a,a,b", "1,x,4"), Csv("ntn", names=("a", "a_2", "b")), warned=("a_2",)),
    Case(
        "no name above values",
        text("a,,b", "1,xyz,4"),
        Csv("ntn", names=("a", "column_2", "b")),
        refused="header=true",
        works={"header": True},
        warned=("column_2",),
    ),
    Case(
        "no name and no values",
        text("a,b,", "1,xyz,", "2,uvw,"),
        Csv("ntt", names=("a", "b", "column_3")),
        warned=("column_3",),
    ),
    Case(
        "same names refused",
        text("a,a,b", "1,Anna,4"),
        Csv("ntn", names=("p", "q", "r")),
        {"duplicates": "error"},
        refused="names=",
        works={"header": True, "names": ["p", "q", "r"]},
    ),
    Case(
        "r write.csv",
        text('"","mpg"', '"Mazda RX4",21', '"Datsun",22.8'),
        Csv("tn", names=("column_1", "mpg")),
        warned=("column_1",),
    ),
    Case("header only", text("a,b"), Csv("tt")),
    Case("nothing", b"", None, refused="no header"),
    # Shapes.
    Case("one column", text("alter", "1", "", "3", "", ""), Csv("n")),
    Case("one column of text", text("name", "Anna", "", "Otto"), Csv("t")),
    Case("one column, comma in one value", text("name", "Anna", "Otto, jun."), Csv("t", ";")),
    Case("one column, a lone comma", text("name", "Anna", ",", "Paul"), Csv("t", ";")),
    Case("one column, comma at the end", text("name", "Anna", "Otto,", "Paul"), Csv("t", ";")),
    Case("one row", text("a;b;c", "1;2,5;x"), Csv("nnt", ";", decimal=",")),
    Case("300 columns", text(*WIDE), Csv("n" * 300)),
    Case("huge value", text("id,text", "1," + "xyz " * 1_500_000, "2,kurz"), Csv("nt")),
    Case("huge value in quotes", text("id,text", '1,"' + "xy\n" * 1_000_000 + '"', "2,kurz"), Csv("nt")),
    Case("nul bytes", b"id,text\n1,a\0b\n2,\0\n", Csv("nt")),
    Case("blanks around", text("a,b,c", " 1 , Anna ,2020-01-02 ", "2,Otto , 2020-01-03"), Csv("ntd")),
    Case("odd blanks", text("a,b", "1\u00a0,\u3000Anna", "2,Otto\u2009"), Csv("tt")),
    Case("ends of lines of unicode", text("a,b", "1,x\u2028y", "2,u\x85v", "3,p\x0bq\x0cr\x1cs"), Csv("nt")),
    Case(
        "hive",
        text("id\x01name", "1\x01Anna", "2\x01\\N"),
        Csv("nt", "\x01", null=("\\N",)),
        {"delim": "\x01", "nullstr": "\\N"},
    ),
    Case("gz", gzip.compress(text(*PATIENTS)), Csv("ntt"), suffix=".csv.gz"),
    Case("zst", zstandard.compress(text(*PATIENTS)), None, refused="unpack it", suffix=".csv.zst"),
    Case(
        "gz of cp1252",
        gzip.compress(text(*GERMAN, encoding="cp1252")),
        Csv("ntt", ";", "cp1252"),
        refused="cp1252",
        works={"encoding": "cp1252"},
        suffix=".csv.gz",
    ),
    Case(
        "gz of utf-16",
        gzip.compress(("\ufeff" + "\n".join(GERMAN)).encode("utf-16-le")),
        Csv("ntt", ";", "utf-16"),
        suffix=".csv.gz",
    ),
    Case("gz cut", gzip.compress(text(*PATIENTS))[:-12], None, refused="csv.gz", suffix=".csv.gz"),
    Case("no gz", text(*PATIENTS), None, refused="csv.gz", suffix=".csv.gz"),
    # Numbers.
    Case("decimal comma", text("id;x", "1;1,5", "2;-2,25", "3;7"), Csv("nn", ";", decimal=",")),
    Case("decimal comma or thousands", text("id;x", "1;1,234", "2;5,678"), Csv("nt", ";"), warned=("x",)),
    Case(
        "the comma is decimal",
        text("id;x", "1;1,234", "2;5,678"),
        Csv("nn", ";", decimal=","),
        {"decimal_separator": "comma"},
    ),
    Case(
        "the comma is of thousands",
        text("id;x", "1;1,234", "2;5,678"),
        Csv("nn", ";", thousands=","),
        {"thousands": ","},
    ),
    Case(
        "german thousands",
        text("id;x", "1;1.234,50", "2;12.345.678,00"),
        Csv("nn", ";", decimal=",", thousands="."),
        {"decimal_separator": "comma", "thousands": "."},
    ),
    Case("german thousands are text", text("id;x", "1;1.234,50", "2;12.345,00"), Csv("nt", ";")),
    Case("swiss", text("id;x", "1;1'234.50", "2;12'345.00"), Csv("nn", ";", thousands="'"), {"thousands": "'"}),
    Case(
        "french",
        text("id;x", "1;1 234,50", "2;12 345,00"),
        Csv("nn", ";", decimal=",", thousands=" "),
        {"thousands": " ", "decimal_separator": "comma"},
    ),
    Case("both signs", text("id;x", "1;1.5", "2;2,5"), Csv("nt", ";")),
    Case("percent and currency", text("id;p;b", "1;12%;5,00 €", "2;13,5%;1.200,00 €"), Csv("ntt", ";")),
    Case("bookkeeper's minus", text("id,a,b", "1,(12),12-", "2,13,14"), Csv("ntt")),
    Case("long ids", text("a,b", f"{'1234567890' * 2},{'1234567890' * 4}", f"{'9876543210' * 2},1"), Csv("tt")),
    Case("leading zeros", text("plz,n", "01067,1", "80331,2"), Csv("tn")),
    Case("exponents", text("a,b", "1e5,+1", "2E-3,2"), Csv("tt")),
    Case("many decimals", text("id,x", "1,0.1234567890123456789", "2,1.5"), Csv("nt")),
    Case("large beside decimals", text("id,x", "1,9007199254740993", "2,1.5"), Csv("nt")),
    Case("not numbers", text("a,b,c", "nan,0x1F,1_000", "1.5,1,2"), Csv("ttt")),
    Case("booleans", text("a,b,c", "true,ja,0", "false,nein,1"), Csv("ttn")),
    Case("unicode digits", text("a,b", "\uff11\uff12,٣", "1,2"), Csv("tt")),
    Case("late text", text("a,b", *["1,2"] * 50_000, "x,007"), Csv("tt")),
    Case("spss missing", text("id,x", "1,-9", "2,3", "-9,4"), Csv("nn", null=("-9",)), {"nullstr": "-9"}),
    Case("r missing", text("id,x", "1,NA", "2,3"), Csv("nn", null=("NA",)), {"nullstr": "NA"}),
    Case("sas missing", text("id,x,y", "1,.,.a", "2,3,4"), Csv("nnn", null=(".", ".a")), {"nullstr": [".", ".a"]}),
    Case("missing not stated", text("id,x", "1,weiß nicht", "2,3", "3,4"), Csv("nt")),
    # Dates and times.
    Case("iso dates", text("id,a,b", "1,2020-01-02,10:11:12", "2,,23:59:59.5", "3,0001-01-01,00:00:00"), Csv("ndh")),
    Case("iso timestamps", text("id,a", "1,2020-01-02 10:11:12", "2,2020-01-02T10:11:12.123456"), Csv("ns")),
    Case(
        "offsets",
        text("id,a", "1,2020-01-02T10:11:12Z", "2,2020-01-02 10:11:12+02:00", "3,2020-01-02T10:11:12-05:30"),
        Csv("nz"),
    ),
    Case("with and without offset", text("id,a", "1,2020-01-02T10:11:12Z", "2,2020-01-02T10:11:12"), Csv("nt")),
    Case("no such day", text("id,a", "1,2020-02-30", "2,2020-01-02"), Csv("nt")),
    Case("a word among dates", text("id,a", "1,2020-01-02", "2,infinity"), Csv("nt")),
    Case("a word of dates alone", text("id,a", "1,infinity", "2,"), Csv("nt")),
    Case("year zero", text("id,a", "1,0000-01-01"), Csv("nt")),
    Case("year of five digits", text("id,a", "1,2020-01-02", "2,12020-01-02"), Csv("nt")),
    Case("before christ", text("id,a", "1,2020-01-02", "2,0044-03-15 (BC)"), Csv("nt")),
    Case("24 hours", text("id,a", "1,2020-01-02 24:00:00", "2,2020-01-02 10:00:00"), Csv("nt")),
    Case("german dates are text", text("id;a;b", "1;01.02.2020;01.02.20", "2;03.04.2021;03.04.21"), Csv("ntt", ";")),
    Case(
        "german dates stated",
        text("id;a", "1;01.02.2020", "2;31.12.2021"),
        Csv("nd", ";", dates="%d.%m.%Y"),
        {"dateformat": "%d.%m.%Y"},
    ),
    Case(
        "british timestamps",
        text("id,a", "1,03/04/2020 10:11", "2,05/06/2020 12:13"),
        Csv("ns", dates="%d/%m/%Y %H:%M"),
        {"timestampformat": "%d/%m/%Y %H:%M"},
    ),
    Case("american dates are text", text("id,a", "1,12/31/2020", "2,01/02/2021"), Csv("nt")),
    # Spreadsheets.
    Case(
        "excel",
        sheet_of(
            ["id", "name", "geb", "x"], [1, "Anna", dt.date(2020, 1, 2), 1.5], [2, "Otto", dt.date(1999, 12, 31), 2]
        ),
        Sheet("ntdn"),
        suffix=".xlsx",
    ),
    Case(
        "excel, title",
        sheet_of(["Bericht"], [], ["id", "ort"], [1, "Ulm"], [2, "Köln"]),
        Sheet("nt", header=3),
        refused="header=",
        works={"header": 3},
        suffix=".xlsx",
    ),
    Case("excel, totals", sheet_of(["id", "n"], [1, 10], [2, 20], ["Summe", 30]), Sheet("tn"), suffix=".xlsx"),
    Case(
        "excel, totals skipped",
        sheet_of(["id", "n"], [1, 10], [2, 20], ["Summe", 30]),
        Sheet("nn", below=1),
        {"skip_footer": 1},
        suffix=".xlsx",
    ),
    Case(
        "excel, merged",
        sheet_of(["id", "ort"], [1, "Ulm"], [2, None], merge="B2:B3"),
        None,
        refused="are merged",
        suffix=".xlsx",
    ),
    Case(
        "excel, merged title",
        sheet_of(["Bericht", None], ["id", "ort"], [1, "Ulm"], merge="A1:B1"),
        Sheet("nt", header=2),
        {"header": 2},
        suffix=".xlsx",
    ),
    Case("excel, formula", sheet_of(["a", "b"], [1, "=A2*2"], [2, "=A3*2"]), None, refused="formula", suffix=".xlsx"),
    Case(
        "excel, number as date", sheet_of(["tag", "ort"], [43831, "Ulm"], [43832, "Köln"]), Sheet("nt"), suffix=".xlsx"
    ),
    Case("excel, text numbers", sheet_of(["plz", "n"], ["01067", 1], ["80331", 2]), Sheet("tn"), suffix=".xlsx"),
    Case("excel, mixed", sheet_of(["a", "n"], [1, 1], ["007", 2], [12, 3]), Sheet("tn"), suffix=".xlsx"),
    Case(
        "excel, empty column",
        sheet_of(["a", None, "c"], [1, None, "x"], [2, None, "y"]),
        Known("nt", ("a", "c"), ((1, "x"), (2, "y"))),
        suffix=".xlsx",
    ),
    Case(
        "excel, value without name",
        sheet_of(["a", "b"], [1, "x", "Notiz"], [2, "y"]),
        None,
        refused="column 3",
        suffix=".xlsx",
    ),
    Case(
        "excel, two sheets",
        workbook(two_sheets),
        Sheet("nt", "Codes"),
        refused="Daten, Codes",
        works={"sheet": "Codes"},
        suffix=".xlsx",
    ),
    Case(
        "excel, years",
        sheet_of(["region", 2019], ["Nord", 1], ["Süd", 3]),
        Sheet("tn"),
        refused="header=true",
        works={"header": True},
        suffix=".xlsx",
    ),
    Case("excel, shifted", workbook(shifted), Sheet("nt", header=4, first=3), suffix=".xlsx"),
    Case(
        "excel, times",
        sheet_of(
            ["a", "b"],
            [dt.time(10, 11, 12), dt.datetime(2020, 1, 2, 3, 4, 5)],
            [dt.time(0, 0), dt.datetime(2020, 1, 3)],
        ),
        Sheet("hs"),
        suffix=".xlsx",
    ),
    Case("excel, 1904", workbook(mac_epoch), Sheet("dt"), suffix=".xlsx"),
    Case("excel, lines in a cell", sheet_of(["a", "n"], ["x\ny", 1], ["  z ", 2]), Sheet("tn"), suffix=".xlsx"),
    Case("excel, blank row", sheet_of(["a", "b"], [1, "x"], [], [2, "y"]), Sheet("nt"), suffix=".xlsx"),
    Case("ods", ods, Known("nt", ("id", "plz"), ((1, "01067"), (Decimal("2.5"), "80331"))), suffix=".ods"),
]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_file_is_read_as_it_is_or_refused_with_an_option_that_works(case: Case, tmp_path: Path) -> None:
    """The same cells as the oracle has; or a refusal, and then the same cells with the option that it names."""
    path = tmp_path / f"data{case.suffix}"
    content = case.content if isinstance(case.content, bytes) else case.content()
    path.write_bytes(content)
    names, rows = case.expected.read(content) if case.expected else ([], [])
    stated = case.stated
    if case.refused:
        with pytest.raises(KanonError, match=re.escape(case.refused)) as caught:
            read(path, **stated)
        check_silent(str(caught.value), path, names, rows)
        for option in case.works:
            assert f"{option}=" in str(caught.value) or option == "sheet", str(caught.value)
        if not case.works:
            return
        stated = {**{key: stated[key] for key in stated if key != "duplicates"}, **case.works}
    assert case.expected is not None
    table = read(path, **stated)
    check_equal(table, names, [[number(value) for value in row] for row in rows], case.expected.kinds)
    for warning in table.warnings:
        check_silent(warning, path, names, rows)
    for word in case.warned:
        assert any(word in warning for warning in table.warnings), table.warnings


# Random files.

BITS = [
    *"abZ1209-+.,;\t|\"' \\#%€$/:eET_()=",
    '""',
    "  ",
    "\u00a0",
    "\u2009",
    "\u3000",
    "ü",
    "日本",
    "😀",
    "\0",
    "\x0b",
    "\x0c",
    "\x1a",
    "\x1c",
    "\x85",
    "\u2028",
    "\u200b",
    "\ufeff",
    "\n",
    "\r",
    "\r\n",
    "\\N",
    '\\"',
    "e\u0301",
]
WORDS = [
    "",
    "",
    "NA",
    "nan",
    "inf",
    "infinity",
    "true",
    "1",
    "22",
    "-3",
    "0",
    "-0",
    "007",
    "+5",
    "1e5",
    "1.5",
    "2,5",
    "1.234,5",
    "1,234",
    "0x1F",
    "1_000",
    "5.",
    "12345678901234567890",
    "9223372036854775808",
    "0.1234567890123456789",
    "9007199254740993",
    "2020-01-02",
    "2020-1-2",
    "2020-02-30",
    "0000-01-01",
    "12020-01-02",
    "0044-03-15 (BC)",
    "2020-01-02 10:11:12",
    "2020-01-02T10:11:12Z",
    "2020-01-02T10:11:12.123456789",
    "10:11:12",
    "24:00:00",
    "01.02.20",
    "Müller",
    " x",
    "x ",
    " 1",
    "1 ",
    " ",
    "epoch",
    "-",
    "1 2",
    "٣",
    "\uff11\uff12",
    "1\u00a0000",
    "12%",
    "²",
]
FAMILIES = [
    ["1", "22", "-3", "0"],
    ["1.5", "2", "-0.25"],
    ["1,5", "2", "-0,25"],
    ["2020-01-02", "1999-12-31", "0001-01-01"],
    ["2020-01-02 10:11:12", "2020-01-02T10:11:12", "2020-01-02 10:11:12.5"],
    ["10:11:12", "23:59:59.999"],
    ["2020-01-02T10:11:12Z", "2020-01-02T10:11:12+02:00", "2020-01-02 10:11:12-05:30"],
    ["007", "1"],
    ["12345678901234567890", "1"],
    ["9007199254740993", "1.5"],
    ["2020-01-02", "infinity"],
    ['7"', "x", '"y"', "z"],
]


def random_cell(chance: random.Random, family: list[str]) -> str:
    """Return a value: of a family, a word, or a few signs."""
    if family is BITS:
        return "".join(chance.choice(BITS) for _ in range(chance.randint(0, 6)))
    if chance.random() > 0.15:
        return chance.choice(family)
    return chance.choice(["", " " + chance.choice(family), chance.choice(family) + "  ", chance.choice(WORDS)])


def random_file(chance: random.Random) -> tuple[str, str, list[list[str | None]]]:
    """Return a delimiter, the text of a file, and its rows; a quoted empty value is a text, another is missing."""
    count, delimiter = chance.randint(1, 6), chance.choice(",;\t|")
    families = [chance.choice([BITS, WORDS, *[chance.choice(FAMILIES)] * 2]) for _ in range(count)]
    style = chance.choice(["bare", "all", "random"])
    ends = chance.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\n", "\r\n", "\r"]][: 5 if count > 1 else 3])
    rows: list[list[str | None]] = []
    lines = [delimiter.join(f"name{i}" for i in range(count))]
    for _ in range(chance.randint(0, 12)):
        row: list[str | None] = []
        cells = []
        for family in families:
            cell = random_cell(chance, family)
            quoted = style == "all" or (style == "random" and chance.random() < 0.4) or cell.lstrip(" ").startswith('"')
            quoted = quoted or any(sign in cell for sign in (delimiter, "\n", "\r"))
            cells.append('"' + cell.replace('"', '""') + '"' if quoted else cell)
            row.append(cell if cell or quoted else None)
        lines.append(delimiter.join(cells))
        rows.append(row)
    written = "".join(line + chance.choice(ends) for line in lines)
    while count == 1 and rows and rows[-1] == [None]:
        rows.pop()
    records = list(csv.reader(io.StringIO(written, newline=""), delimiter=delimiter))[1:]
    records = [record or [""] for record in records]
    assert records[: len(rows)] == [[cell or "" for cell in row] for row in rows], "the csv module reads it otherwise"
    return delimiter, written, rows


def says(cell: str | None, value: Any) -> bool:  # noqa: PLR0911 - one line for each type
    """Return whether a value is what the text of a cell says."""
    if isinstance(value, str):
        return cell == value
    if value is None or cell is None:
        return value is None and not (cell or "").strip(" ")
    cell = cell.strip(" ")
    try:
        match value:
            case Decimal():
                plain = re.fullmatch(r"-?(0|[1-9]\d*)?([.,]\d+)?", cell, re.ASCII)
                return bool(plain) and Decimal(cell.replace(",", ".")) == value
            case dt.datetime():
                moment = dt.datetime.fromisoformat(cell)
                return len(cell) >= 16 and moment == value and (moment.tzinfo is None) == (value.tzinfo is None)
            case dt.date():
                return len(cell) == 10 and dt.date.fromisoformat(cell) == value
            case dt.time():
                return len(cell) >= 5 and dt.time.fromisoformat(cell) == value
    except (ValueError, ArithmeticError):
        return False
    return False


@pytest.mark.parametrize("seed", range(150))
def test_random_file_is_read_as_the_csv_module_reads_it_or_refused(seed: int, tmp_path: Path) -> None:
    """No row is lost and no value is changed, whether the layout is stated or not; nothing else than KanonError."""
    chance = random.Random(f"forty {seed}")  # noqa: S311 - a file, not a secret
    delimiter, written, rows = random_file(chance)
    path = tmp_path / "data.csv"
    path.write_bytes(written.encode())
    stated = {"delim": delimiter, "header": True} if chance.random() < 0.5 else {}
    names = [f"name{i}" for i in range(len(rows[0]))] if rows else []
    try:
        table = read(path, **stated)
    except KanonError as error:
        check_silent(str(error), path, names, rows)
        return
    assert len(table.rows) == len(rows), written
    assert not rows or table.names == names
    for row, got in zip(rows, table.rows, strict=False):
        for cell, value in zip(row, got, strict=False):
            assert says(cell, value), (cell, value, written)
    for warning in table.warnings:
        check_silent(warning, path, names, rows)
