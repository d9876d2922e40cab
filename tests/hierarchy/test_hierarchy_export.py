"""Hierarchies exported for ARX: read back, they are what they were."""

from __future__ import annotations

import csv
from io import StringIO
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pytest
from conftest import files_in, tables_of
from each import each
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

import kanon_sql as kanon_library
from kanon_sql.hierarchy.export import arx_text
from kanon_sql.hierarchy.formats import read_hierarchy
from kanon_sql.hierarchy.formats.rows import HierarchyRows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

HOSTILE = [
    *("", " ", ";", '"', '""', "\n", "\r", "\r\n", "a;b", ' "', "[[", '{"a":1}', "<config>", "<18", "value", "child"),
    *("\ufeffa", "PK\x03\x04", "* ", "NULL", "distinct", "name x", "qid hei 0 0:1", "a,b", "a\tb", '"embedded":', "*"),
]
TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=4))


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str | None, ...]]:
    """Return rows of a tree with hostile values and labels, and maybe a row for NULL."""
    values = draw(st.lists(st.one_of(st.none(), TEXTS), min_size=1, max_size=6, unique=True))
    root = draw(TEXTS.filter(bool))
    rows: list[tuple[str | None, ...]] = [(value,) for value in values]
    for _ in range(draw(st.integers(0, 2))):
        # Who has the same label keeps the same label: a label has one parent.
        groups = list(dict.fromkeys(row[-1] if len(row) > 1 else row for row in rows))
        names = {group: draw(TEXTS.filter(lambda text: bool(text) and text != root)) for group in groups}
        rows = [(*row, names[row[-1] if len(row) > 1 else row]) for row in rows]
    return [(*row, root) for row in rows]


def back(path: Path) -> list[tuple[str | None, ...]]:
    found = read_hierarchy(path, "value")
    assert isinstance(found, HierarchyRows)
    return list(zip(found.values, *found.levels, strict=True))


@given(trees())
@examples(150)
def test_what_is_exported_reads_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str | None, ...]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "exported.csv"
    path.write_bytes(arx_text(rows).encode())
    assert back(path) == rows


@given(trees())
@examples(25)
def test_arx_reads_the_same(rows: list[tuple[str | None, ...]]) -> None:
    """ARX's syntax: ``;`` between fields, quotes doubled within quotes, all rows of one length, one root."""
    found = list(csv.reader(StringIO(arx_text(rows), newline=""), delimiter=";"))
    assert found == [["" if cell is None else cell for cell in row] for row in rows]
    assert len({len(row) for row in found}) == 1
    assert len({row[-1] for row in found}) == 1


def test_a_long_file_with_line_ends_in_its_labels(tmp_path: Path) -> None:
    """The separator is told from the first lines, which may end within a label."""
    rows: list[tuple[str | None, ...]] = [(f"v{n}", f"a,b\nc,d\n{n},", "*") for n in range(700)]
    (tmp_path / "x.csv").write_bytes(arx_text(rows).encode())
    assert back(tmp_path / "x.csv") == rows


def test_null_and_empty_labels() -> None:
    rows = [(None, "*"), ("", "*"), ("a", "*")]
    assert arx_text(rows) == ';*\n"";*\na;*\n'
    assert arx_text(rows, "NULL") == 'NULL;*\n"";*\na;*\n'
    with pytest.raises(kanon_library.HierarchyError, match="Row 2 of the hierarchy has an empty label"):
        arx_text([("a", "A", "*"), ("b", "", "*")])


@pytest.mark.thorough
def test_any_hierarchy_is_exported(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    assert kanon("hierarchy", "build", clinic, "zip=mask:right:2,4").code == 0
    # One that is stored
    assert kanon("hierarchy", "export", clinic, "ZIP", "--out", "zip.csv").code == 0
    with duckdb.connect(str(clinic), read_only=True) as connection:
        stored = connection.execute(
            "SELECT value, level_1, level_2, level_3 FROM kanon.hierarchy_zip ORDER BY value NULLS FIRST"
        ).fetchall()
    assert back(in_tmp / "zip.csv") == stored
    # A rule, and one that is chosen
    ended = kanon("hierarchy", "export", clinic, "patients", "age=intervals:10", "--out", "age.csv", "--format", "json")
    assert ended.json[0]["levels"] == 2
    assert ended.json[0]["origin"] == "intervals:10"
    assert ("25", "20-29", "*") in back(in_tmp / "age.csv")
    ended = kanon("hierarchy", "export", clinic, "sex", "--out", "sex.csv")
    assert "sex: no hierarchy was given, and this one was chosen, as kanon init would." in ended.out
    assert {(None, "*"), ("F", "*"), ("M", "*")} <= set(back(in_tmp / "sex.csv"))
    # A file of another format, and one that comes with kanon
    (in_tmp / "sex.txt").write_text("F,all\n\nM,all\n", encoding="utf-8")
    assert kanon("hierarchy", "export", "sex.txt", "--out", "sex.csv", "--replace").code == 0
    assert (in_tmp / "sex.csv").read_text(encoding="utf-8") == "F;all\nM;all\n"
    assert kanon("hierarchy", "export", "ready:us_state", "--out", "state.csv").code == 0
    assert len(back(in_tmp / "state.csv")) == 51
    # --sql shows what is read, and writes nothing
    script = kanon("hierarchy", "export", clinic, "age=intervals:10", "--sql")
    with duckdb.connect(str(clinic), read_only=True) as connection:
        assert ("25", "20-29", "*") in connection.execute(script.out).fetchall()


@pytest.mark.thorough
@each(
    ("line", "code", "says"),
    [
        ("zip", 2, "Say which file to write"),
        ("zip --out zip.txt", 2, "whose name ends in .csv"),
        ("zip --out there.csv", 2, "there.csv exists already"),
        ("zip --out nowhere/zip.csv", 3, "The directory nowhere does not exist"),
        ("zipp --out zip.csv", 2, "zipp"),
        ("patients zip sex --out zip.csv", 2, "one column: name one"),
        ("zip=none.csv --out zip.csv", 3, "none.csv does not exist"),
        ("zip= --out zip.csv", 2, "COLUMN=FILE or COLUMN=RULE"),
        ("zip --sql --format json", 2, "--format json"),
    ],
)
def test_mistakes(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended], line: str, code: int, says: str) -> None:
    (in_tmp / "there.csv").write_text("a;*\n", encoding="utf-8")
    before, files = tables_of(clinic), files_in(in_tmp)
    ended = kanon("hierarchy", "export", clinic, *line.split())
    assert ended.code == code, ended.err
    assert says in ended.err
    assert ended.out == ""
    assert tables_of(clinic) == before
    assert files_in(in_tmp) == files


@pytest.mark.usefixtures("in_tmp")
def test_mistakes_with_files(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "age.txt").write_text("25,young\nyoung,*\n", encoding="utf-8")
    assert kanon("hierarchy", "export", "age.txt", "--sql").code == 2
    assert files_in(in_tmp) == {"age.txt"}


def test_the_library_exports(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a=b": [1, 2, None], "x": list("pqr")})
    shape = kanon_library.export_hierarchy(
        frame, column="a=b", hierarchy="intervals:2", out=tmp_path / "a.csv", null="NULL"
    )
    assert (shape.height, shape.leaves) == (2, 2)
    assert (tmp_path / "a.csv").read_text(encoding="utf-8").startswith('NULL;*;*\n1.0;"[0, 2)";*\n')
    assert kanon_library.export_hierarchy("ready:country", out=tmp_path / "c.csv").leaves == 249
    with pytest.raises(kanon_library.UsageError, match="name the column"):
        kanon_library.export_hierarchy(frame, hierarchy="flat", out=tmp_path / "b.csv")
