"""Hierarchy files as they are found in the wild (../shared/FORMATS.md), and what is wrong with some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from each import each

from kanon_sql.errors import HierarchyError, SourceError
from kanon_sql.hierarchy.formats import read_hierarchy

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.hierarchy.formats.rows import HierarchyRows


def read(tmp_path: Path, content: str | bytes, column: str = "column") -> HierarchyRows:
    path = tmp_path / "hierarchy.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_hierarchy(path, column)


def rows(read_rows: HierarchyRows) -> list[tuple[str | None, ...]]:
    return list(zip(read_rows.values, *read_rows.levels, strict=True))


def test_arx_levels_with_crlf(tmp_path: Path) -> None:
    content = "Bachelors;Undergraduate;Higher education;*\r\n11th;High School;Secondary education;*\r\n"
    assert rows(read(tmp_path, content)) == [
        ("Bachelors", "Undergraduate", "Higher education", "*"),
        ("11th", "High School", "Secondary education", "*"),
    ]


def test_arx_root_that_is_not_a_star(tmp_path: Path) -> None:
    content = "81667;8166*;816**;81***;8****;*****\n81675;8167*;816**;81***;8****;*****\n"
    assert [row[-1] for row in rows(read(tmp_path, content))] == ["*****", "*****"]


def test_anjana_commas_inside_quoted_labels(tmp_path: Path) -> None:
    content = '17,"[15, 20[","[10, 20[",*\n20,"[20, 25[","[20, 30[",*'
    assert rows(read(tmp_path, content)) == [
        ("17", "[15, 20[", "[10, 20[", "*"),
        ("20", "[20, 25[", "[20, 30[", "*"),
    ]


def test_jagged_rows_are_padded_upwards_and_gaps_keep_the_label_below(tmp_path: Path) -> None:
    """Qiyuangong's adult_workclass.txt: two heights in one file, an empty token, no final newline."""
    found = read(tmp_path, "Private;*\nSelf-emp-inc;Self-employ;*\nNever-worked;;not-work;*\nState-gov;gov;gov;*")
    assert rows(found) == [
        ("Private", "*", "*", "*"),
        ("Self-emp-inc", "Self-employ", "*", "*"),
        ("Never-worked", "Never-worked", "not-work", "*"),
        ("State-gov", "gov", "gov", "*"),
    ]


def test_samarati_child_parent_pairs(tmp_path: Path) -> None:
    """Ltzheng's adult_marital_status.txt, whole: no header, blank line at the end, several depths."""
    content = (
        "NM,*\nMarried,*\nleave,*\nalone,*\nNever-married,NM\nMarried-civ-spouse,Married\nMarried-AF-spouse,Married\n"
        "Divorced,leave\nSeparated,leave\nWidowed,alone\nMarried-spouse-absent,alone\n\n"
    )
    found = read(tmp_path, content)
    assert sorted(rows(found)) == [
        ("Divorced", "leave", "*"),
        ("Married-AF-spouse", "Married", "*"),
        ("Married-civ-spouse", "Married", "*"),
        ("Married-spouse-absent", "alone", "*"),
        ("Never-married", "NM", "*"),
        ("Separated", "leave", "*"),
        ("Widowed", "alone", "*"),
    ]


def test_child_parent_pairs_of_several_depths_are_padded_upwards(tmp_path: Path) -> None:
    found = read(tmp_path, "child,parent\nx,*\na,A\nb,A\nA,AA\nAA,*\n")
    assert found.header
    assert sorted(rows(found)) == [("a", "A", "AA", "*"), ("b", "A", "AA", "*"), ("x", "*", "*", "*")]


@each(
    ("first_line", "column"),
    [("value;level_1;root", "age"), ("Age;band;all", "age"), ("leaf;group;everything", "x"), ("x;y;z", "w")],
)
def test_a_header_is_seen(tmp_path: Path, first_line: str, column: str) -> None:
    found = read(tmp_path, f"{first_line}\n1;0-4;*\n7;5-9;*\n", column)
    assert found.header
    assert found.values == ["1", "7"]


@each(
    ("content", "column"),
    [
        ("Male;*\nFemale;*\n", "sex"),
        ("sex;*\nFemale;*\n", "sex"),  # a value called like its column is not a header: it ends in the root
        ("a;x;*\nb;y;*\n", "c"),
        ("only;*\n", "only"),
        ("Other;Other\nx;Other\n", "c"),
    ],
)
def test_no_header_is_taken_for_one(tmp_path: Path, content: str, column: str) -> None:
    found = read(tmp_path, content, column)
    assert not found.header
    assert len(found.values) == content.count("\n")


def test_null_and_the_empty_text_are_two_values(tmp_path: Path) -> None:
    assert rows(read(tmp_path, ';Unknown;*\n"";Empty;*\na;A;*\n')) == [
        (None, "Unknown", "*"),
        ("", "Empty", "*"),
        ("a", "A", "*"),
    ]


def test_values_keep_their_spaces_and_labels_do_not(tmp_path: Path) -> None:
    assert rows(read(tmp_path, " a ; A ;*\n b; B;*\n")) == [(" a ", "A", "*"), (" b", "B", "*")]


def test_byte_order_mark_tabs_quotes_and_line_breaks_in_quotes(tmp_path: Path) -> None:
    assert rows(read(tmp_path, '\ufeff"say ""hi""";"two\nlines"\t;*\nb;c;*\n')) == [
        ('say "hi"', "two\nlines", "*"),
        ("b", "c", "*"),
    ]
    assert rows(read(tmp_path, "a\tA\t*\nb\tB\t*\n")) == [("a", "A", "*"), ("b", "B", "*")]


@each(
    ("content", "says"),
    [
        ("", "has no rows"),
        ("\n\n", "has no rows"),
        ("a\nb\n", "one field per line"),
        ("a;b\nb;a\n", "own ancestor"),
        ("x;a\na;b\nb;a\n", "own ancestor"),
        ("a;b\na;c\nb;*\nc;*\n", "line 2: this label already has another parent"),
        ("a;\nb;a\nc;b\n", "line 1: the parent is missing"),
        (b"\xac\xed\x00\x05sr", "binary file of ARX"),
        (b"PK\x03\x04", "binary file of ARX"),
        (b"caf\xe9;*\n", "not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_without_its_values(tmp_path: Path, content: str | bytes, says: str) -> None:
    with pytest.raises(HierarchyError, match=says):
        read(tmp_path, content)


def test_a_file_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        read_hierarchy(tmp_path / "none.csv", "c")
