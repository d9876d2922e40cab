"""CSV files of which a line is malformed are refused; all others are read as they are meant."""

from __future__ import annotations

import codecs
import gzip
import re
import tempfile
import warnings
from datetime import date, datetime, time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from each import each
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.engine.sources.layout import DataFile, layout_of_texts
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import SourceError
from kanon_sql.policy.policy import parse_policy, policy_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

NAMES = ["name", "born", "zip", "income"]
COLUMNS = ["column_1", "column_2", "column_3"]
HEADER = "name;born;zip;income\n"
ROW = "Ada Lovelace;10.12.1815;01067;4384,11\n"
LONG = "Ada Lovelace;10.12.1815;01067;4384,11;private\n"
SHORT = "Ada Lovelace;10.12.1815\n"


def read(path: Path | DataFile, *, as_text: bool = False) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return the columns and rows of a file as a command would see them."""
    source = open_source(path, as_text=as_text)
    try:
        columns = [column.name for column in source.engine.columns(source.relation)]
        return columns, source.engine.rows(exp.select("*").from_(source.relation))
    finally:
        source.engine.close()


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


DAMAGED = {LONG: "5 fields", SHORT: "2 fields", "Total\n": "1 field"}


@each(
    ("before", "damaged", "separator", "end", "as_text"),
    product([0, 1, 7, 30], DAMAGED, [";", ",", "\t", "|"], ["\n", "\r\n"], [False, True]),
    quick=20,
)
def test_a_malformed_line_is_named(
    tmp_path: Path, damaged: str, before: int, separator: str, end: str, as_text: bool
) -> None:
    text = HEADER + ROW * before + damaged + ROW * (30 - before)
    if separator == ",":
        text = text.replace("4384,11", "4384.11")
    path = written(tmp_path / "t.csv", text.replace(";", separator).replace("\n", end))
    with pytest.raises(SourceError) as raised:
        read(path, as_text=as_text)
    assert f"t.csv, line {before + 2} has {DAMAGED[damaged]}, and its first line has 4 " in str(raised.value)
    assert not re.search("Ada|1815|01067|4384|private|Total", str(raised.value))


@each("damaged", [LONG, SHORT])
@each("as_text", [False, True])
def test_a_malformed_line_after_those_that_duckdb_looks_at(tmp_path: Path, damaged: str, as_text: bool) -> None:
    path = written(tmp_path / "t.csv", HEADER + ROW * 25_000 + damaged + ROW)
    with pytest.raises(SourceError, match=r"line 25,002 has \d fields, and its first line has 4 "):
        read(path, as_text=as_text)


def test_a_comma_in_numbers_separates_nothing(tmp_path: Path) -> None:
    """Commas split each of these rows into 4 fields, as many as semicolons split the header into."""
    rows = "1,5;2,5;3,5;x\n" * 30
    path = written(tmp_path / "t.csv", "a;b;c;d\n" + rows + "1,5;2,5;3,5;x;y\n" + rows)
    with pytest.raises(
        SourceError, match=r"line 32 has 5 fields, and its first line has 4 \(separated by semicolons\)"
    ):
        read(path)


def test_the_line_is_that_of_the_file_whatever_is_quoted_in_it(tmp_path: Path) -> None:
    quoted = '"Ada;\nLovelace";10.12.1815;01067;1\n'  # two lines of the file
    path = written(tmp_path / "t.csv", HEADER + quoted * 5 + "\n" + SHORT + quoted)
    with pytest.raises(SourceError, match="line 13 has 2 fields"):
        read(path)


@each("name", ["t.csv.gz", "t.tsv", "t.txt"])
def test_a_malformed_line_in_files_of_other_names(tmp_path: Path, name: str) -> None:
    text = HEADER + ROW * 20 + LONG + ROW * 20
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        written(path, text)
    with pytest.raises(SourceError, match=f"{name}, line 22 has 5 fields"):
        read(path)


@each("which", [0, 1, 11])
def test_a_malformed_line_in_one_of_several_files(tmp_path: Path, which: int) -> None:
    for i in range(12):
        written(tmp_path / f"part{i:02}.csv", HEADER + ROW * 5 + (SHORT if i == which else ROW) + ROW)
    with pytest.raises(SourceError, match=f"part{which:02}.csv, line 7 has 2 fields"):
        read(tmp_path / "part*.csv")


def test_a_header_with_another_number_of_fields_than_all_rows(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "name;born;zip;income;more\n" + ROW * 20)
    with pytest.raises(SourceError, match="line 2 has 4 fields, and its first line has 5"):
        read(path)
    trailing = written(tmp_path / "trailing.csv", HEADER + ROW.replace("\n", ";\n") * 20)
    assert read(trailing)[0] == NAMES


@each(
    ("text", "columns", "rows"),
    [
        pytest.param(HEADER + ROW * 9, NAMES, 9, id="intact"),
        pytest.param("\ufeff" + HEADER + ROW * 9, NAMES, 9, id="BOM"),
        pytest.param((HEADER + ROW * 9).replace("\n", "\r\n"), NAMES, 9, id="CRLF"),
        pytest.param((HEADER + ROW * 9).replace("\n", "\r\n", 3), NAMES, 9, id="two ends of lines"),
        pytest.param((HEADER + ROW * 9).replace("\n", "\r"), NAMES, 9, id="CR"),
        pytest.param((HEADER + ROW * 9).replace(";", "\t"), NAMES, 9, id="tabs"),
        pytest.param("\n \n" + HEADER + ROW * 9, NAMES, 9, id="blank lines above"),
        pytest.param("sep=;\n" + HEADER + ROW * 9, NAMES, 9, id="sep="),
        pytest.param(HEADER, NAMES, 0, id="a header only"),
        pytest.param("remark\nthis\nthat\n", ["remark"], 2, id="one column"),
        pytest.param("n (a, b)\tm\n" + "7,5\tx\n" * 9, ["n (a, b)", "m"], 9, id="a comma in a name"),
        pytest.param('"a (c, d)","b","c"\n' + '"1","","z"\n' * 9, ["a (c, d)", "b", "c"], 9, id="commas in quotes"),
        pytest.param('"a;x";b\n' + '"1;\n2";3\n' * 9, ["a;x", "b"], 9, id="separators and ends of lines in quotes"),
        pytest.param("a;b, c, d, e\n" + "1;x\n" * 9, ["a", "b, c, d, e"], 9, id="more commas in a header than columns"),
        pytest.param("a;b\n" + "1;x\n" * 9 + "\n\n", ["a", "b"], 9, id="blank lines at the end"),
        pytest.param('a;b\n1;5" pipe\n' + "1;x\n" * 9, ["a", "b"], 10, id="a quotation mark that is none"),
    ],
)  # fmt: skip
def test_a_file_without_damage_is_read_as_it_is_meant(tmp_path: Path, text: str, columns: list[str], rows: int) -> None:
    path = written(tmp_path / "t.csv", text)
    for as_text in (False, True):
        names, found = read(path, as_text=as_text)
        assert names == columns
        assert len(found) == rows


@each(
    ("text", "options"),
    [
        ("Register of Dresden\n" + HEADER + ROW * 9, "header=2"),
        ("Register, Dresden\na;b\n" + "1,5;x\n" * 9, "skip=LINES"),
        ("Register, Dresden\na,b,c\n" + "1,2,x\n" * 9, "skip=LINES"),
        ("name\nKing, Ada\nKarl, I\nEmmy\n", "delim=pipe"),
        ("Register\n\nOf May\n" + HEADER + ROW * 9, "header=4"),
        ("1;x\n2;y\n3;z\n", "header=false"),
        ("Ward 7;;\nage;sex;zip\n31;f;1\n", "header=LINE"),
        ("Ward;Ward;Ward\nage;sex;zip\n31;f;1\n", "header=LINE"),
        ("a;b\nb;1\na;2\n", "header=true"),
        ("a,b\n1,2\nTotal\n", "skip_footer=LINES"),
        ('a,b\n1,"2\n', "quote=SIGN"),
        ('a,b\n1,"2" or 3\n', "quote=SIGN"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is text because")
def test_what_the_rule_does_not_read_is_refused_with_what_to_state(tmp_path: Path, text: str, options: str) -> None:
    with pytest.raises((SourceError, kanon.UsageError)) as raised:
        read(written(tmp_path / "t.csv", text))
    assert options in str(raised.value)
    assert not re.search(r"Karl|Dresden|Emmy|Ada|Lovelace", str(raised.value))


@each(
    ("text", "stated", "columns", "rows"),
    [
        ("t\nu\na,b\n1,2\n", {"header": 3}, ["a", "b"], [(1, 2)]),
        ("t\nu\na,b\n1,2\n", {"skip": 2}, ["a", "b"], [(1, 2)]),
        ("1,2\n3,4\n", {"header": False}, ["column_1", "column_2"], [(1, 2), (3, 4)]),
        ("1,2\n3,4\n", {"names": ["x", "y"]}, ["x", "y"], [(1, 2), (3, 4)]),
        ("a,b\n3,4\n", {"names": ["x", "y"], "header": True}, ["x", "y"], [(3, 4)]),
        ("a,b\n'x,y',4\n", {"quote": "'"}, ["a", "b"], [("x,y", 4)]),
        ('a,b\n"x\\"y",4\n', {"escape": "\\"}, ["a", "b"], [('x"y', 4)]),
        ('a,b\n5",4\n', {"quote": "none"}, ["a", "b"], [('5"', 4)]),
        ("#t\na,b\n#x\n3,4\n", {"comment": "#"}, ["a", "b"], [(3, 4)]),
        ("a,b\n3,4\nTotal\n\n", {"skip_footer": 1}, ["a", "b"], [(3, 4)]),
        ("a,b\n3,NA\n4,5\n", {"nullstr": "NA"}, ["a", "b"], [(3, None), (4, 5)]),
        ("a,b\n3,-\n4,x\n", {"nullstr": ["-", "4"]}, ["a", "b"], [(3, None), (None, "x")]),
        ("a,b\n3,02.01.2024\n", {"dateformat": "%d.%m.%Y"}, ["a", "b"], [(3, date(2024, 1, 2))]),
        ("a,b\n3,1.234\n4,5\n", {"thousands": "."}, ["a", "b"], [(3, 1234), (4, 5)]),
        ("a;b\n3;1,234\n4;5\n", {"decimal_separator": "comma"}, ["a", "b"], [(3, 1.234), (4, 5.0)]),
        ("a|b\n3|4\n", {"delim": "|"}, ["a", "b"], [(3, 4)]),
        ("3, x, NA\n4, ?, 5\n", {"delim": ", ", "header": False, "nullstr": "NA,?"}, COLUMNS,
         [(3, "x", None), (4, None, 5)]),
        ("3, x\n4, NA\n", {"names": "a,b", "nullstr": "NA"}, ["a", "b"], [(3, " x"), (4, None)]),
        ("a,b\n3,4/5/24\n", {"dateformat": "%m/%d/%Y"}, ["a", "b"], [(3, "4/5/24")]),
        ("a,a\n3,4\n", {"duplicates": "rename"}, ["a", "a_2"], [(3, 4)]),
        ("a,b\n3,4\n,5\n", {"incomplete_rows": "a"}, ["a", "b"], [(3, 4)]),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*is read as|.*left out|.*is text because")
def test_a_layout_that_is_stated(
    tmp_path: Path, text: str, stated: dict[str, object], columns: list[str], rows: list[tuple[object, ...]]
) -> None:
    path = written(tmp_path / "t.csv", text)
    assert read(DataFile(path, **stated)) == (columns, rows)
    # The same as it is typed, and as it is in a policy file.
    assert layout_of_texts(DataFile(path, **stated).layout.texts) == DataFile(path, **stated).layout
    policy = kanon.Policy(origin=kanon.Origin(str(path), layout=DataFile(path, **stated).layout))
    text = policy_text(policy, kanon.Destination(), tmp_path)
    assert parse_policy(text, tmp_path / "kanon.toml")[0].origin == policy.origin


@each(
    ("stated", "message"),
    [
        ({"heading": True}, "has no key 'heading'. Keys are format, header,"),
        ({"header": 0}, "header must be true, false, the number of a line, or a list of names"),
        ({"skip": -1}, "skip must be a number of lines"),
        ({"delim": ";;"}, "delim must be one character, with blanks behind it or without, or its name"),
        ({"dateformat": "%d.%m.%y"}, "dateformat must be a format with a year of four digits"),
        ({"duplicates": "keep"}, "duplicates must be one of rename, error"),
        ({"names": ["a"]}, "names has 1 name, and .* has 2 columns"),
        ({"sheet": "x"}, "is no file that sheet is for"),
        ({"duplicates": "error"}, "has two columns 'A'"),
        ({"incomplete_rows": "c"}, "incomplete_rows must be error or a column of"),
        ({"format": "doc"}, "format must be one of csv, parquet"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is read as")
def test_a_layout_that_is_none(tmp_path: Path, stated: dict[str, object], message: str) -> None:
    with pytest.raises(kanon.UsageError, match=message):
        read(DataFile(written(tmp_path / "t.csv", "a,A\n1,2\n"), **stated))


@each(
    ("values", "kind"),
    [
        (["17.11.63", "01.02.50"], str), (["1-2-10", "2-2-10"], str), (["1E5", "2E5"], str), (["03/04/1990"], str),
        (["007", "8"], str), (["+5", "6"], str), (["1_000", "5"], str), (["true", "false"], str), (["0x1F"], str),
        (["12345678901234567890", "1"], str), (["0.12345678901234567890", "1"], str), (["1.234,5", "5,6"], str),
        (["NaN", "1.5"], str), (["24:61"], str), (["2024-02-30"], str), (["2024-1-2"], str), (["2024-01"], str),
        (["5", "-7"], int), ([" 5", "6 "], int), (["5.0", "6"], float), ([".5", "-0.25"], float),
        (["0.1", "0.30000000000000004"], float), (["2024-02-29", "1890-01-01"], date),
        (["2024-02-29 10:00", "2024-02-29T10:00:00.25"], datetime), (["10:30", "23:59:59"], time),
    ],
)  # fmt: skip
def test_a_column_has_a_type_if_no_value_is_changed_by_it(tmp_path: Path, values: list[str], kind: type) -> None:
    text = "id;x\n" + "".join(f"{number};{value}\n" for number, value in enumerate(values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [row[1] for row in read(written(tmp_path / "t.csv", text))[1]]
    assert [type(value) for value in found] == [kind] * len(values)
    if kind in {int, float}:
        assert found == [kind(value) for value in values]
    elif kind is str:
        assert found == values


def test_why_a_column_is_text_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "age,price\n" + "31,1.234\nNA,5.678\n" * 3)
    with pytest.warns(UserWarning, match="age is text because of 3 values: DataFile nullstr=NA"):
        read(path)
    total = written(tmp_path / "s.csv", "ward,age\n" + "A,31\n" * 40 + "B,Total\n")
    with pytest.warns(UserWarning, match="age is text because of 1 value .a total, or a code"):
        read(total)
    late = written(tmp_path / "l.csv", "ward,age\n" + "A,31\n" * 4000 + "B,Total\n")
    with pytest.warns(UserWarning, match="age is text because of 1 value .a total, or a code"):
        read(late)
    german = written(tmp_path / "g.csv", "age;price\n" + "31;1.234\n32;5.678\n" * 3)
    with pytest.warns(
        UserWarning,
        match=r"price is text: .*decimal signs, DataFile decimal_separator=point; .* thousands, DataFile thousands=\.",
    ):
        read(german)


@each(
    "text",
    [
        "age,sex\n91,F\n17,M\nage,sex,zip\n" + "30,M,81667\n" * 10,
        "unit,age\n" + "A,30\n" * 10 + "#7,91\n# 11 rows\n",
    ],
)
def test_no_row_is_lost_on_any_path(in_tmp: Path, kanon: Callable[..., Ended], text: str) -> None:
    """The first file lost the people above the second header, the second one those behind a #."""
    written(in_tmp / "t.csv", text)
    other = written(in_tmp / "other.csv", "age\n31\n")
    asked = ["--qi", "age", "-k", 5]
    for command in (
        *(
            ["anonymize", "t.csv", *asked, *where]
            for where in (["--in-place", "--no-backup"], ["--out", "o.csv"], ["--sql"])
        ),
        *([name, "t.csv", *asked] for name in ("check", "measure", "compare")),
        ["report", "t.csv", *asked, "--format", "json"],
        *([name, other, "--original", "t.csv", "--qi", "age"] for name in ("check", "measure", "attack", "known")),
        *([name, "t.csv", "--original", other, "--qi", "age"] for name in ("measure", "attack")),
        *([name, "t.csv"] for name in ("profile", "init")),
        ["lattice", "t.csv", *asked],
    ):
        ended = kanon(*command)
        assert ended.code == 3, (command, ended.err)
        assert "its first line has 2 (separated by commas)" in ended.err, command
    assert (in_tmp / "t.csv").read_text(encoding="utf-8") == text


@each("header", ["name;zip\n", ""])
@pytest.mark.filterwarnings("ignore:.*is text because")
def test_zeros_that_lead_after_many_rows_are_kept(tmp_path: Path, header: str) -> None:
    path = written(tmp_path / "t.csv", header + "7;12345\n" * 30_000 + "8;01067\n")
    names, rows = read(path if header else DataFile(path, header=False))
    assert names == (["name", "zip"] if header else ["column_1", "column_2"])
    assert rows[0] == (7, "12345")  # a number stays one where no zero leads
    assert rows[-1] == (8, "01067")


def test_zeros_that_lead_in_another_file_are_kept(tmp_path: Path) -> None:
    written(tmp_path / "part1.csv", "name;zip\n7;12345\n")
    written(tmp_path / "part2.csv", "name;zip\n8;01067\n")
    assert read(tmp_path / "part*.csv")[1] == [(7, "12345"), (8, "01067")]


@each("content", [b"", b"\n\r\n", codecs.BOM_UTF8])
def test_a_file_without_a_line_is_no_table(in_tmp: Path, kanon: Callable[..., Ended], content: bytes) -> None:
    (in_tmp / "t.csv").write_bytes(content)
    ended = kanon("profile", "t.csv")
    assert ended.code == 3
    assert ended.err.startswith("error: t.csv has no header and no rows.")


def test_the_command_line_ends_with_3_and_leaves_nothing(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    written(in_tmp / "t.csv", HEADER + ROW * 10 + LONG)
    for command in (["profile", "t.csv"], ["init", "t.csv"], ["anonymize", "t.csv", "--qi", "zip", "--out", "out.csv"]):
        ended = kanon(*command)
        assert ended.code == 3
        assert "t.csv, line 12 has 5 fields, and its first line has 4" in ended.err
        assert "Ada" not in ended.err + ended.out
    assert [path.name for path in in_tmp.iterdir()] == ["t.csv"]


values = st.sampled_from(["Ada", "Karl", "7,5", "12,25", "01067", "x y", "", "3", "2.5", "10.12.1815", '"q;q,q"'])


@pytest.mark.filterwarnings("ignore:.*is text because")
@given(st.data())
@examples(30)
def test_one_damaged_row_never_gives_a_column_its_name(data: st.DataObject) -> None:
    separator = data.draw(st.sampled_from([";", "\t", "|"]))
    width = data.draw(st.integers(3, 6))
    rows = data.draw(st.lists(st.lists(values, min_size=width, max_size=width), min_size=3, max_size=30))
    damaged = data.draw(st.integers(0, len(rows) - 1))
    rows[damaged] = (
        [*rows[damaged], "Ada"] if data.draw(st.booleans()) else rows[damaged][: data.draw(st.integers(1, width - 1))]
    )
    names = [f"column of {i}" for i in range(width)]
    text = "".join(separator.join(row) + "\n" for row in [names, *rows])
    with tempfile.TemporaryDirectory() as directory:
        path = written(Path(directory) / "t.csv", text)
        try:
            said, found = "", read(path)[0]
        except SourceError as error:
            said, found = str(error), names
    assert found == names
    assert not said or f"t.csv, line {damaged + 2} has {len(rows[damaged])} field" in said


@each("as_text", [False, True])
def test_an_apostrophe_is_a_value_and_holds_no_lines_together(tmp_path: Path, as_text: bool) -> None:
    """DuckDB alone reads three rows, of which one has five lines for a value."""
    rows = [("a", text) for text in ("a", "'", "a", "a", "'", "a")]
    path = written(tmp_path / "t.csv", "n,x\n" + "".join(f"{left},{right}\n" for left, right in rows))
    assert len(duckdb.read_csv(str(path)).fetchall()) == 3  # else this test tests nothing
    assert read(path, as_text=as_text) == (["n", "x"], rows)


@each("late", ['"z"', '"z ""y"""'])
def test_quotes_that_come_late_are_no_part_of_values(tmp_path: Path, late: str) -> None:
    """DuckDB looks at the first 20,480 rows for what quotes values."""
    path = written(tmp_path / "t.csv", "n,x\n" + "a,b\n" * 30_000 + f"c,{late}\n")
    _, rows = read(path)
    assert len(rows) == 30_001
    assert rows[-1] == ("c", late[1:-1].replace('""', '"'))


def test_an_empty_text_in_quotes_is_a_text(tmp_path: Path) -> None:
    """Five texts "" and five fields without a value are two classes, not one of ten.

    Fails on 0.1.0: both are NULL.
    """
    path = written(tmp_path / "t.csv", "ward;age\n" + '"";"3"\n' * 5 + ";4\n" * 5)
    assert read(path)[1] == [("", 3)] * 5 + [(None, 4)] * 5
    found = kanon.check(path, quasi_identifiers=["ward"], models=[kanon.KAnonymity(5)])
    assert (found.classes, found.smallest_class) == (2, 5)


def test_an_empty_text_in_quotes_is_null_among_numbers_and_dates(tmp_path: Path) -> None:
    """Types stay what they are where "" stands for a number, a date or a time that is missing; texts keep theirs.

    Fails on 0.1.0: the empty texts are NULL.
    """
    header = "who;born;n;share;seen;ok;at;huge\n"
    full = '"x";"1991-02-13";"3";"2.5";"2020-01-02 10:00:00";"false";"10:00:00";"' + "9" * 130 + '"\n'
    path = written(tmp_path / "t.csv", header + full + '"";"";"";"";"";"";"";""\n' + ';"";;"";;"";"";\n' + full)
    row = ("x", date(1991, 2, 13), 3, 2.5, datetime(2020, 1, 2, 10), "false", time(10), "9" * 130)
    none = (None,) * 4
    assert read(path)[1] == [row, ("", *none, "", None, ""), (None, *none, "", None, None), row]
    assert read(path, as_text=True)[1][1] == ("",) * 8


@pytest.mark.thorough
@each(
    ("text", "rows"),
    [
        pytest.param('a,b\n"",\n"",\n', [("", None), ("", None)], id="nothing but empty texts"),
        pytest.param('a,b\n"a ""b""",1\n,2\n', [('a "b"', 1), (None, 2)], id="quotes in a text"),
        pytest.param('a,b\n"",x\n1,y\n', [(None, "x"), (1, "y")], id="among numbers only"),
        pytest.param("a,b\n" + "1,x\n" * 21_000 + ',""\n"",\n', [(None, ""), (None, None)], id="after many rows"),
        pytest.param("a,b\n" + "1,x\n" * 21_000 + ',""\n01,\n', [(None, ""), ("01", None)], id="and a leading zero"),
    ],
)
def test_empty_texts_of_any_layout(tmp_path: Path, text: str, rows: list[tuple[object, ...]]) -> None:
    assert read(written(tmp_path / "t.csv", text))[1][-len(rows) :] == rows


def test_empty_texts_of_several_files(tmp_path: Path) -> None:
    """Also where a directory gives a column (which fails on 0.1.0: "Columns with names ... do not exist")."""
    (tmp_path / "year=2024").mkdir()
    written(tmp_path / "year=2024" / "1.csv", 'a,b\n"",1\n,""\n')
    written(tmp_path / "year=2024" / "2.csv", 'b,c\n"",x\n2,""\n')
    assert read(tmp_path / "year=2024")[1] == [
        ("", 1, 2024, None),
        (None, None, 2024, None),
        (None, None, 2024, "x"),
        (None, 2, 2024, ""),
    ]


@each(
    ("files", "stated", "columns", "rows"),
    [
        (["x\n1\n\n", "x\n2\n"], {}, ["x"], [(1,), (2,)]),
        (["x\n\n1\n", "x\n2\n\n\n", "x\n\n"], {}, ["x"], [(None,), (1,), (2,)]),
        (["A,b\nNA,2\n", "a,b\n3,4\n"], {}, ["A", "b"], [("NA", 2), ("3", 4)]),
        (["A;b\n1,5;2\n", "a;b\n2,5;4\n"], {"decimal_separator": ","}, ["A", "b"], [(1.5, 2), (2.5, 4)]),
        (["n\n1.234.5\n1.234\n"], {"thousands": ".", "delim": ";"}, ["n"], [("1.234.5",), ("1.234",)]),
        (["n\n1.234,5\n1.234\n"], {"thousands": ".", "delim": ";"}, ["n"], [(1234.5,), (1234,)]),
        (
            ["d;e\nepoch;x\n31.01.2024;y\n"],
            {"dateformat": "%d.%m.%Y"},
            ["d", "e"],
            [("epoch", "x"), ("31.01.2024", "y")],
        ),
        (["t;e\n2024-01-31 10:30+25:00;x\n"], {"header": True}, ["t", "e"], [("2024-01-31 10:30+25:00", "x")]),
    ],
)
@pytest.mark.filterwarnings("ignore:.* is text")
def test_what_an_adversary_found_in_the_reader(
    tmp_path: Path, files: list[str], stated: dict[str, object], columns: list[str], rows: list[tuple[object, ...]]
) -> None:
    """Rows that were lost, values that were changed; each failed before."""
    for number, text in enumerate(files):
        written(tmp_path / f"f{number}.csv", text)
    assert read(DataFile(tmp_path / "f*.csv", **stated)) == (columns, rows)


@pytest.mark.filterwarnings("ignore:.* is text")
def test_a_decimal_comma_counts_also_where_a_later_value_is_of_another_kind(tmp_path: Path) -> None:
    rows = "".join(f"2,5\t{number}\n" for number in range(600))
    path = written(tmp_path / "t.csv", f"a\tb\n1,5\t1\nNA\t2\n{rows}2,5\t1.234\n")
    assert read(path)[1][-1] == ("2,5", "1.234")


def test_a_carriage_return_alone_before_quotes_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,\r""\n2,3\n')
    with pytest.raises(SourceError):
        read(path)


def test_a_release_of_one_column_with_missing_values_says_what_an_encoding_lacks(
    in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    written(in_tmp / "t.csv", "age\n31\n名\n\n名\n\n")
    asked = ("--read", "header=true", "--read", "delim=|", "--qi", "age", "-k", 1, "--out", "o.csv")
    ended = kanon("anonymize", "t.csv", *asked, "--out-encoding", "cp1252")
    assert (ended.code, "cp1252 lacks characters that the release has" in ended.err) == (2, True)
