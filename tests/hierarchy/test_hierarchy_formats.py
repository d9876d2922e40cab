"""Hierarchy files of other tools: of each format a sample is read, and a broken one refused with line and reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from each import each

from kanon_sql.errors import HierarchyError
from kanon_sql.hierarchy.formats import read_hierarchy
from kanon_sql.hierarchy.formats.rows import HierarchyRows, IntervalTree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

AMNESIA = """distinct
name marital
type string
height 3

NotMarried has Single Divorced 
Married has Spouse 

* has NotMarried Married 

"""  # noqa: W291 - Amnesia writes a space after each label
RANGES = """range
name age
type decimal
height 3

0.0,20.0 has 0.0,10.0 10.0,20.0
20.0,40.0 has 20.0,30.0 30.0,40.0

0.0,40.0 has 0.0,20.0 20.0,40.0 NaN,NaN
"""
UTD = """<?xml version="1.0" encoding="ISO-8859-1"?>
<config method='Datafly' k='5'>
 <qid><att index='0' name='age'><vgh value='[0:100)'><node value='[0:50]'/></vgh></att></qid>
</config>
"""
CONFIG = "sep ,\nqid hei\t0 0:100,0:50-0:25-25:50,50:100-50:75-75:100\nqid cat 12 Female=0,Male=1\n"
MOSAICROWN = """{"cat": "World", "subcats": [
  {"cat": "Europe", "subcats": [{"cat": "Greece", "subcats": null}, {"cat": "Italy", "subcats": []}]},
  {"cat": "?", "subcats": null}
]}"""

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
    (
        "Amnesia text",
        AMNESIA,
        "c",
        [("Single", "NotMarried", "*"), ("Divorced", "NotMarried", "*"), ("Spouse", "Married", "*")],
    ),
    (
        "Amnesia JSON",
        """{"hierType":"distinct","name":"m","type":"string","height":3,
"level1":{"Not married":["Never married","Divorced"],"Married":["Spouse"]},
"level2":{"*":["Not married","Married"]}}""",
        "c",
        [("Never married", "Not married", "*"), ("Divorced", "Not married", "*"), ("Spouse", "Married", "*")],
    ),
    (
        "mosaicrown JSON tree",
        MOSAICROWN,
        "c",
        [("Greece", "Europe", "World"), ("Italy", "Europe", "World"), ("?", "World", "World")],
    ),
    (
        "IBM Data Privacy Toolkit JSON",
        '{"terms":[["Single","Alone","*"],["Married","In marriage","*"]]}',
        "c",
        [("Single", "Alone", "*"), ("Married", "In marriage", "*")],
    ),
    (
        "IBM Data Privacy Toolkit JSON",  # as its documentation says, and its examples do not
        '{"terms":[["*","Alone","Single"],["*","In marriage","Married"]]}',
        "c",
        [("Single", "Alone", "*"), ("Married", "In marriage", "*")],
    ),
    ("rows in JSON (ARXaaS)", '[["M","Person"],["F","Person"]]', "c", [("M", "Person"), ("F", "Person")]),
    (
        "rows in JSON (ARXaaS)",
        '[[25, "20s"], [31.50, "30s"], [null, "?"]]',
        "c",
        [("25", "20s", "*"), ("31.50", "30s", "*"), (None, "?", "*")],
    ),
    (
        "SAP HANA embedded JSON",
        '"embedded":[["Paris","France"],["Munich","Germany"]]',
        "c",
        [("Paris", "France", "*"), ("Munich", "Germany", "*")],
    ),
    (
        "SAP HANA embedded JSON",
        '{"is_quasi_identifier":true,"hierarchy":{"embedded":[["Paris","France"],["Lyon","France"]]}}',
        "c",
        [("Paris", "France", "*"), ("Lyon", "France", "*")],
    ),
]

INTERVALS: list[tuple[str, str, str, list[list[str]]]] = [
    (
        "Amnesia text, ranges",
        RANGES,
        "c",
        [
            ["[0, 10)", "[0, 20)", "*"],
            ["[10, 20)", "[0, 20)", "*"],
            ["[20, 30)", "[20, 40]", "*"],
            ["[30, 40]", "[20, 40]", "*"],
        ],
    ),
    (
        "Amnesia JSON, ranges",
        '{"hierType":"range","name":"m","type":"int","height":2,"level1":{"-20-10":["-20--5","-5-10"]}}',
        "c",
        [["[-20, -5)", "*"], ["[-5, 10]", "*"]],
    ),
]


def read(tmp_path: Path, content: str, column: str = "c") -> HierarchyRows | IntervalTree:
    path = tmp_path / "tree"
    path.write_bytes(content.encode())
    return read_hierarchy(path, column)


@each(("name", "content", "column", "expected"), ROWS)
def test_a_sample_is_recognised_and_read(
    tmp_path: Path, name: str, content: str, column: str, expected: list[tuple[str | None, ...]]
) -> None:
    found = read(tmp_path, content, column)
    assert isinstance(found, HierarchyRows)
    assert found.format == name
    assert list(zip(found.values, *found.levels, strict=True)) == expected


@each(("name", "content", "column", "expected"), INTERVALS)
def test_a_tree_of_intervals_is_recognised_and_read(
    tmp_path: Path, name: str, content: str, column: str, expected: list[list[str]]
) -> None:
    found = read(tmp_path, content, column)
    assert isinstance(found, IntervalTree)
    assert found.format == name
    assert found.paths() == expected


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
        # Amnesia
        (AMNESIA.replace("\nMarried has", "\nJust married has"), ", line 7: the parent has a space in it"),
        (AMNESIA.replace("Spouse", "Spouse Single"), ", line 7: this label already has another parent (line 6)"),
        (AMNESIA.replace("height 3", "height 4"), ", line 4: the height is said to be another one than what is there"),
        (AMNESIA.replace("Married has Spouse", "Married Spouse"), ", line 7: this is no relation"),
        (AMNESIA.partition("NotMarried")[0], " has no relations"),
        (RANGES.replace("10.0,20.0", "9.0,20.0"), ", line 6: this interval overlaps the one before it"),
        (RANGES.replace("30.0,40.0", "30.0,41.0"), ", line 7: this interval is not within the one above it"),
        (RANGES.replace("20.0,30.0", "20.0-30.0"), ", line 7: a range is written with its bounds"),
        (RANGES.replace("type decimal", "type date"), ", line 3: ranges of dates are not read"),
        (
            '{"hierType":"distinct",\n"level1":{"A":["a"],\n"A":["b"]}}',
            ", line 2: an object has two entries of the same name",
        ),
        ('{"hierType":"distinct",\n"level1":{"A":"a"}}', ", line 2: the children of a parent of level1 are no list"),
        ('{"hierType":"range","level1":{"young":["1-2"]}}', ", line 1: a range is written with its bounds"),
        (
            "range\nname x\n\n" + "".join(f"0,{n + 1} has 0,{n}\n" for n in range(1, 3000)),
            ": the tree is more than 100 levels high",
        ),
        ("range\nname x\n\n0,1 has 0,2\n0,2 has 0,1\n0,9 has 0,3\n0,3 has 0,1\n", "levels high, or a range is its own"),
        # UTD
        (UTD, " is XML, or a config.txt, of the UTD Anonymization Toolbox, which is not read any more. Read are CSV"),
        (
            CONFIG,
            " is XML, or a config.txt, of the UTD Anonymization Toolbox, which is not read any more. Read are CSV",
        ),
        # JSON
        (MOSAICROWN.replace('"cat": "Europe"', '"dog": "Europe"'), ", line 2: a category has no cat"),
        (MOSAICROWN.replace("[]", '"none"'), ", line 2: subcats is a list of categories, or null"),
        (MOSAICROWN.replace("?", "Italy"), ", line 3: this value has a row already (line 2)"),
        (MOSAICROWN[:-1], ", line 4: this is not JSON"),
        ('{"cat":' * 3000 + "1" + "}" * 3000, "JSON"),
        ('{"terms":"MARITAL_STATUS"}', ", line 1: terms is the name of a hierarchy that is built into IBM's toolkit"),
        ('{"terms":[["a","*"],\n["b"]]}', ", line 2, entry 2: a row needs the value and at least one level"),
        ('{"terms":[]}', " has no rows"),
        ('[["a","A","*"],\n["a","B","*"]]', ", line 2, entry 2: this value has a row already (line 1, entry 1)"),
        ('[["a","*"],\n"b"]', ", line 1: entry 2 is no row in brackets"),
        ('[["a",["*"]]]', ", line 1, entry 1: a row holds texts and numbers"),
        ('[["a","*"],\n["b",,"*"]]', ", line 2: this is not JSON"),
        ('{"view":"V_OFFICE_HIERARCHY"}', ", line 1: the hierarchy is a view in the HANA database"),
        ('{"function":"F","levels":7}', ", line 1: the hierarchy is a function in the HANA database"),
        ('{"embedded":[["Paris","France"],["Paris","Texas"]]}', ", line 1, entry 2: this value has a row already"),
        ('{"name":"x"}', " is JSON, but no hierarchy of a kind that is known"),
    ],
)
def test_a_broken_one_is_refused_with_its_line_and_the_reason(tmp_path: Path, content: str, says: str) -> None:
    with pytest.raises(HierarchyError) as caught:
        read(tmp_path, content)
    message = str(caught.value)
    assert says in message
    assert message.startswith(str(tmp_path / "tree"))


@pytest.mark.thorough
def test_the_command_line_says_which_format_it_was(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "age.txt").write_text(RANGES.replace("40.0", "100.0"), encoding="utf-8")
    (in_tmp / "sex.json").write_text('[["F", "woman"], ["M", "man"]]', encoding="utf-8")
    ended = kanon(
        "hierarchy", "check", clinic, "--hierarchy", "age=age.txt", "--hierarchy", "sex=sex.json", "--format", "json"
    )
    assert ended.code == 0, ended.out + ended.err
    assert [(fit["column"], fit["origin"], fit["format"], len(fit["notes"])) for fit in ended.json] == [
        ("age", "age.txt", "Amnesia text, ranges", 0),
        ("sex", "sex.json", "rows in JSON (ARXaaS)", 1),
    ]
    shown = kanon("hierarchy", "show", "age.txt").out
    assert "age: intervals for any values, labels per level 4 > 2 > 1 (from age.txt, Amnesia text, ranges)" in shown
    shown = kanon("hierarchy", "show", "sex.json").out
    assert "sex: it has 2 roots, and a common root * was put above them." in shown
    loaded = kanon("hierarchy", "load", clinic, "sex=sex.json", "age=age.txt", "--format", "json").json
    assert [shape["format"] for shape in loaded] == ["rows in JSON (ARXaaS)", "Amnesia text, ranges"]
    ended = kanon("anonymize", clinic, "--qi", "sex", "--rest", "drop", "--hierarchy", "sex=sex.json", "--out", "a.csv")
    assert ended.code == 0
    assert "sex: it has 2 roots, and a common root * was put above them." in ended.err
