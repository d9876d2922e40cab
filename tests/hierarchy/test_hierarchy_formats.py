"""Hierarchy files of other tools: of each format a sample is read, and a broken one refused with line and reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from each import each

from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.formats import read_hierarchy

if TYPE_CHECKING:
    from pathlib import Path

    from kanon_sql.hierarchy.formats.rows import HierarchyRows

ROWS: list[tuple[str, str, str, list[tuple[str | None, ...]]]] = [
    ("ARX CSV", "1;0-4;0-9;*\r\n7;5-9;0-9;*\r\n", "c", [("1", "0-4", "0-9", "*"), ("7", "5-9", "0-9", "*")]),
    (
        "ARX CSV",  # kaylode: the last field is the key of a root, and there are several
        "32.54;32.5;32\n33.1;33.1;33\n",
        "c",
        [("32.54", "32.5", "32", "*"), ("33.1", "33.1", "33", "*")],
    ),
    (
        "levels between semicolons, rows of different length",  # qiyuangong
        "Private;*\nSelf-emp-inc;Self-employ;*\nNever-worked;;not-work;*",
        "c",
        [
            ("Private", "*", "*", "*"),
            ("Self-emp-inc", "Self-employ", "*", "*"),
            ("Never-worked", "Never-worked", "not-work", "*"),
        ],
    ),
    (
        "levels between commas",  # anjana
        '17,"[15, 20[","[10, 20[",*\n20,"[20, 25[","[20, 30[",*',
        "c",
        [("17", "[15, 20[", "[10, 20[", "*"), ("20", "[20, 25[", "[20, 30[", "*")],
    ),
    (
        "child,parent pairs",
        "NM,*\nNever-married,NM\n\nMarried,*\n",
        "c",
        [("Never-married", "NM", "*"), ("Married", "*", "*")],
    ),
]


def read(tmp_path: Path, content: str, column: str = "c") -> HierarchyRows:
    path = tmp_path / "tree"
    path.write_bytes(content.encode())
    return read_hierarchy(path, column)


@each(("name", "content", "column", "expected"), ROWS)
def test_a_sample_is_recognised_and_read(
    tmp_path: Path, name: str, content: str, column: str, expected: list[tuple[str | None, ...]]
) -> None:
    found = read(tmp_path, content, column)
    assert found.format == name
    assert list(zip(found.values, *found.levels, strict=True)) == expected


@each(
    ("content", "says"),
    [
        # ARX and its like
        ("a;A;*\nb;B;*\na;B;*\n", ", line 3: this value has a row already (line 1)"),
        ("a;A;X;*\nb;A;Y;*\n", ", line 2: the label of level 1 has another parent than before (line 1)"),
        ("a;A;*\nb;B;*\nc;C;\n", ", line 3: this row does not end in the root *"),
        ('a;A;*\n"b;B;*\nc;C;*\n', ", line 2: a quote is opened here and not closed"),
        (f"a;A;*\n{'b' * 200_000};B;*\n", ", line 2: this cannot be read as CSV"),
        # child,parent
        ("a,A\nA,*\nb,\n", ", line 3: the parent is missing"),
        ("a,b\nb,c\nc,b\n", ", line 2: this label is its own ancestor"),
        # not read: XML, JSON, Amnesia
        ("<?xml version='1.0'?>\n<config method='Datafly'/>", " is XML, JSON or a file of Amnesia"),
        ("<config method='Datafly' k='5'>", " is XML, JSON or a file of Amnesia"),
        ('{"terms":[["Single","Alone","*"]]}', " is XML, JSON or a file of Amnesia"),
        ('[["male","*"],["female","*"]]', " is XML, JSON or a file of Amnesia"),
        ('"embedded":[["Paris","France"]]', " is XML, JSON or a file of Amnesia"),
        ("distinct\r\nname marital\r\ntype string\r\n", " is XML, JSON or a file of Amnesia"),
    ],
)
def test_a_broken_one_is_refused_with_its_line_and_the_reason(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        read(tmp_path, content)
    message = str(caught.value)
    assert says in message
    assert message.startswith(str(tmp_path / "tree"))
