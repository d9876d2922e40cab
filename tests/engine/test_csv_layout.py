"""CSV files of which a line is malformed are refused; all others are read as they are meant."""

from __future__ import annotations

import codecs
import gzip
import re
import tempfile
from datetime import date, datetime, time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from each import each
from effort import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

NAMES = ["name", "born", "zip", "income"]
HEADER = "name;born;zip;income\n"
ROW = "Ada Lovelace;10.12.1815;01067;4384,11\n"
LONG = "Ada Lovelace;10.12.1815;01067;4384,11;private\n"
SHORT = "Ada Lovelace;10.12.1815\n"


def read(path: Path, *, as_text: bool = False) -> tuple[list[str], list[tuple[object, ...]]]:
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


@each("name", ["t.csv.gz", "t.csv.zst", "t.tsv", "t.txt"])
def test_a_malformed_line_in_files_of_other_names(tmp_path: Path, name: str) -> None:
    text = HEADER + ROW * 20 + LONG + ROW * 20
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    elif name.endswith(".zst"):
        lines = duckdb.values([duckdb.ConstantExpression(text.rstrip("\n"))])
        lines.to_csv(str(path), header=False, sep="\x01", quotechar="\x02", compression="zstd")
        assert path.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"  # of zstd
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


@pytest.mark.thorough
@each(
    ("text", "columns", "rows"),
    [
        pytest.param(HEADER + ROW * 9, NAMES, 9, id="intact"),
        pytest.param("\ufeff" + HEADER + ROW * 9, NAMES, 9, id="BOM"),
        pytest.param((HEADER + ROW * 9).replace("\n", "\r\n"), NAMES, 9, id="CRLF"),
        pytest.param((HEADER + ROW * 9).replace(";", "\t"), NAMES, 9, id="tabs"),
        pytest.param(HEADER, NAMES, 0, id="a header only"),
        pytest.param("Register of Dresden\n" + HEADER + ROW * 9, NAMES, 9, id="a line above"),
        pytest.param("Register\nof: 01.01.2024\n\n" + HEADER + ROW * 9, NAMES, 9, id="three lines above"),
        pytest.param("Register, Dresden\n" + HEADER + ROW * 9, NAMES, 9, id="a comma above"),
        pytest.param("Register, Dresden, of, May\n" + HEADER + ROW * 9, NAMES, 9, id="more commas above than columns"),
        pytest.param("Register, Dresden\na,b,c\n" + "1,2,x\n" * 9, ["a", "b", "c"], 9, id="the same separator above"),
        pytest.param("Register, Dresden\na;b\n" + "1,5;x\n" * 9, ["a", "b"], 9, id="as many commas above as in rows"),
        pytest.param(
            "Register, May\nn;a (EUR, net);b\n" + "x;1,5;2,5\n" * 9, ["n", "a (EUR, net)", "b"], 9, id="commas all over"
        ),
        pytest.param("remark\nthis\nthat\n", ["remark"], 2, id="one column"),
        pytest.param("name, first\nAda\nKarl\nEmmy\n", ["name, first"], 3, id="one column with a comma in its name"),
        pytest.param("n (a, b)\n" + "7,5\nx\n7,5\n" * 9, ["n (a, b)"], 27, id="one column with a comma in most values"),
        pytest.param(
            "A, B\n\na;b (c, d);e\n" + 'x;"7,5";z\n' * 9, ["a", "b (c, d)", "e"], 9, id="commas above and in quotes"
        ),
        pytest.param(
            "A, B\n" + '"a (c, d)","b","c"\n' + '"1","","z"\n' * 9, ["a (c, d)", "b", "c"], 9, id="commas in quotes"
        ),
        pytest.param("1;x\n2;y\n3;z\n", ["column0", "column1"], 3, id="no header"),
        pytest.param('"a;x";b\n' + '"1;\n2";3\n' * 9, ["a;x", "b"], 9, id="separators and ends of lines in quotes"),
        pytest.param("a;b, c, d, e\n" + "1;x\n" * 9, ["a", "b, c, d, e"], 9, id="more commas in a header than columns"),
        pytest.param("a;b\n" + "1;x\n" * 9 + "\n\n", ["a", "b"], 9, id="blank lines at the end"),
        pytest.param('a;b\n1;5" pipe\n' + "1;x\n" * 9, ["a", "b"], 10, id="a quotation mark that is none"),
    ],
    quick=12,
)
def test_a_file_without_damage_is_read_as_it_is_meant(tmp_path: Path, text: str, columns: list[str], rows: int) -> None:
    names, found = read(written(tmp_path / "t.csv", text))
    assert names == columns
    assert len(found) == rows
    plain = duckdb.read_csv(str(tmp_path / "t.csv"))
    assert names == plain.columns
    # DuckDB takes an empty text in quotes for NULL.
    assert [tuple(value if value != "" else None for value in row) for row in found] == plain.fetchall()


@each("header", ["name;zip\n", ""])
def test_zeros_that_lead_after_many_rows_are_kept(tmp_path: Path, header: str) -> None:
    path = written(tmp_path / "t.csv", header + "7;12345\n" * 30_000 + "8;01067\n")
    names, rows = read(path)
    assert names == (["name", "zip"] if header else ["column0", "column1"])
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


@pytest.mark.thorough
@given(rows=st.lists(st.tuples(st.sampled_from("ab"), st.text("ab' ", min_size=1)), min_size=1, max_size=25))
def test_values_with_apostrophes_are_read_as_rows(rows: list[tuple[str, str]]) -> None:
    rows = [("x", "x"), *rows]
    begin, end = (
        sum(text.startswith("'") == begins and text.endswith("'") != begins for _, text in rows)
        for begins in (True, False)
    )
    assume(not 0 < begin == end)  # then it is apostrophes that quote values of several lines
    with tempfile.TemporaryDirectory() as directory:
        text = "n,x\n" + "".join(f"{left},{right}\n" for left, right in rows)
        columns, found = read(written(Path(directory) / "t.csv", text), as_text=True)
    assert columns == ["n", "x"]
    assert len(found) == len(rows)


@given(
    rows=st.lists(st.lists(st.text("ab1#/-. é", max_size=4), min_size=2, max_size=2), min_size=1, max_size=25),
    separator=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
)
@examples(25)
def test_without_any_quote_duckdb_takes_the_layout_that_it_takes_by_itself(
    rows: list[list[str]], separator: str, end: str
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        lines = [["name", "group"], *rows]
        path = written(Path(directory) / "t.csv", end.join(separator.join(line) for line in lines) + end)
        with duckdb.connect() as connection:
            found = connection.execute("FROM read_csv(?)", [str(path)])
            expected = [column for column, *_ in found.description], found.fetchall()
        assert read(path) == expected


def test_apostrophes_quote_what_separators_are_in(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "'n','x'\n1,'a,b'\n2,'c'\n")
    assert read(path) == (["n", "x"], [(1, "a,b"), (2, "c")])


@each("late", ['"z"', '"z ""y"""'])
def test_quotes_that_come_late_are_no_part_of_values(tmp_path: Path, late: str) -> None:
    """DuckDB looks at the first 20,480 rows for what quotes values."""
    path = written(tmp_path / "t.csv", "n,x\n" + "a,b\n" * 30_000 + f"c,{late}\n")
    _, rows = read(path)
    assert len(rows) == 30_001
    assert rows[-1] == ("c", late[1:-1].replace('""', '"'))


def test_quotation_marks_that_are_no_quotes_stay(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", "n,x\n" + "a,b\n" * 30_000 + 'c,5" pipe\nd,"nick" name "x"\n')
    assert read(path)[1][-2:] == [("c", '5" pipe'), ("d", '"nick" name "x"')]


@each(
    ("text", "rows"),
    [
        ("note\n" + "'a\nb'\n" * 50 + "c\n", [("a\nb",)] * 50 + [("c",)]),
        (
            "id,note\n" + "".join(f"{number},'first\n{number},second'\n" for number in range(50)),
            [(number, f"first\n{number},second") for number in range(50)],
        ),
    ],
)
def test_apostrophes_quote_values_of_several_lines(tmp_path: Path, text: str, rows: list[tuple[object, ...]]) -> None:
    assert read(written(tmp_path / "t.csv", text))[1] == rows


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
    full = '"x";"13.02.1991";"3";"2.5";"2020-01-02 10:00:00";"false";"10:00:00";"' + "9" * 130 + '"\n'
    path = written(tmp_path / "t.csv", header + full + '"";"";"";"";"";"";"";""\n' + ';"";;"";;"";"";\n' + full)
    row = ("x", date(1991, 2, 13), 3, 2.5, datetime(2020, 1, 2, 10), False, time(10), "9" * 130)
    none = (None,) * 7
    assert read(path)[1] == [row, ("", *none), (None, *none), row]
    assert read(path, as_text=True)[1][1] == ("",) * 8


@pytest.mark.thorough
@each(
    ("text", "rows"),
    [
        pytest.param('"",1\n,2\nx,3\n', [("", 1), (None, 2), ("x", 3)], id="no header"),
        pytest.param('Register of May\n\na;b\n"";1\n;2\n', [("", 1), (None, 2)], id="a line above"),
        pytest.param("a,b\n'',1\n,2\n'x,y',3\n", [("", 1), (None, 2), ("x,y", 3)], id="apostrophes"),
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
        ("", 1, None, 2024),
        (None, None, None, 2024),
        (None, None, "x", 2024),
        (None, 2, "", 2024),
    ]
