"""What a hierarchy must be, checked in SQL; every complaint has its count and says what to do, and no cell value."""

from __future__ import annotations

from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import tables_of
from each import each

import kanon_sql as kanon

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

HIDDEN = "Rumpelstiltskin"


def anonymize(tmp_path: Path, hierarchy: str, values: list[object]) -> kanon.Release:
    """Anonymize a table of one column with a hierarchy of this text."""
    path = tmp_path / "c.csv"
    path.write_text(hierarchy, encoding="utf-8")
    return kanon.anonymize(
        pd.DataFrame({"c": values}), quasi_identifiers=["c"], hierarchies={"c": path}, models=[kanon.KAnonymity(1)]
    )


@each(
    ("hierarchy", "values", "says"),
    [
        (
            f"a;A;*\n{HIDDEN};B;*\n",
            ["a", "b", "b", "c"],
            r"has no row for 2 values of the column \(3 rows of the table\)\. Add a line for each",
        ),
        ("1;0-9;*\n2;0-9;*\nx;rest;*\n", [1, 2], r"1 of its 3 values cannot be read as BIGINT.*or remove the header"),
        ("1;0-9;*\n01;0-9;*\n", [1], "1 value has more than one row"),
        ("a;A;*\nb;A;*\n", ["a ", " b"], "All are there but for surrounding spaces: trim the column"),
        ("25;20s;*\n30;30s;*\n", ["25.0", "030"], "All are there as numbers but the column is VARCHAR"),
    ],
)
def test_what_is_wrong_is_counted_and_a_fix_is_named(
    tmp_path: Path, hierarchy: str, values: list[object], says: str
) -> None:
    with pytest.raises(kanon.HierarchyError, match=says) as caught:
        anonymize(tmp_path, hierarchy, values)
    assert "'c'" in str(caught.value)
    assert "c.csv" in str(caught.value)
    assert HIDDEN not in str(caught.value)
    assert "\n" not in str(caught.value)


@each(
    ("hierarchy", "says"),
    [
        (
            f"a;A;*\na;B;*\n{HIDDEN};A;*\n",
            r"c.csv, line 2: this value has a row already \(line 1\)\. 1 row is for a value",
        ),
        (f"a;A;*\na;B;*\na;C;*\n{HIDDEN};B;*\n", r"line 2: .* 2 rows are for a value that came before"),
        (
            f"a;A;X;*\nb;A;Y;*\n{HIDDEN};B;X;*\n",
            r"line 2: the label of level 1 has another parent than before \(line 1\)\. Give the label a different name",
        ),
        (
            f"a;A;X;*\n;*;X;*\n{HIDDEN};B;X;*\n",
            "line 2: the label of the root stands at level 1, and another one above it. Nothing stands above the root",
        ),
        (f"a;A;*\nb;B;*\n{HIDDEN};C\n", r"line 3: this row does not end in the root \* as others do \(1 row in all\)"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(tmp_path: Path, hierarchy: str, says: str) -> None:
    with pytest.raises(kanon.HierarchyError, match=says) as caught:
        anonymize(tmp_path, hierarchy, ["a"])
    assert HIDDEN not in str(caught.value)


def test_of_several_trees_a_common_root_is_made_and_told(tmp_path: Path) -> None:
    with anonymize(tmp_path, f"a;A\n{HIDDEN};B\n", ["a"]) as release:
        (hierarchy,) = release.prepared.hierarchies
        assert hierarchy.height == 2
        assert hierarchy.root == "*"
        assert hierarchy.notes == ("it has 2 roots, and a common root * was put above them",)


@pytest.mark.thorough
def test_a_stored_hierarchy_that_was_broken_by_hand_is_no_tree(clinic: Path, kanon: Callable[..., Ended]) -> None:
    """What the reader of files sees, SQL sees in tables."""
    assert kanon("hierarchy", "build", clinic, "sex=flat").code == 0
    for statement, says in [
        ("INSERT INTO kanon.hierarchy_sex FROM kanon.hierarchy_sex LIMIT 1", "1 value has more than one row"),
        ("UPDATE kanon.hierarchy_sex SET level_1 = 'x' WHERE value = 'F'", "2 labels instead of one root"),
        ("ALTER TABLE kanon.hierarchy_sex ADD level_2 VARCHAR DEFAULT 'z'", None),
        (
            "UPDATE kanon.hierarchy_sex SET level_1 = 'x', level_2 = value",
            "1 label of level 1 has more than one parent",
        ),
    ]:
        with duckdb.connect(str(clinic)) as connection:
            connection.execute(statement)
        ended = kanon("hierarchy", "check", clinic, "--format", "json")
        if says is not None:
            assert ended.code == 1
            assert says in ended.json[0]["problem"]


def test_numbers_match_a_numeric_column_and_texts_a_text_column(tmp_path: Path) -> None:
    """The classic mismatch: "25" in the file against 25 in the table, and the other way round."""
    with anonymize(tmp_path, "25;20-29;*\n30;30-39;*\n", [25, 30, 30]) as release:
        assert release.rows_out == 3
    with anonymize(tmp_path, "25;20-29;*\n30;30-39;*\n", ["25", "30"]) as release:
        assert release.rows_out == 2


def test_null_goes_to_the_root_or_to_a_row_of_its_own(tmp_path: Path) -> None:
    values = ["a", "a", "b", "b", None, None]
    for text, label in [("a;A;*\nb;B;*\n", "*"), (";Unknown;*\na;A;*\nb;B;*\n", "Unknown")]:
        path = tmp_path / "c.csv"
        path.write_text(text, encoding="utf-8")
        frame = pd.DataFrame({"c": values, "d": list("xyxyxy")})
        with kanon.anonymize(
            frame,
            quasi_identifiers=["c", "d"],
            hierarchies={"c": path, "d": "flat"},
            models=[kanon.KAnonymity(2)],
            max_suppressed=0,
        ) as release:
            rows = release.prepared.source.engine.rows(release.plan().statements("release")[0])
            assert release.levels == {"c": 0, "d": 1}
            assert sorted({row[0] for row in rows}, key=str) == [None, "a", "b"]
            lookup = release.publication.hierarchies[0].relation
            found = release.prepared.source.engine.connection.table(lookup.name).filter("value IS NULL").fetchall()
            assert found[0][1:3] == (label, "*")


def test_a_value_without_a_row_ends_with_exit_code_3_and_leaves_nothing(
    clinic: Path, tmp_path: Path, kanon: Callable[..., Ended]
) -> None:
    (tmp_path / "zip.csv").write_text("10000;1000*;*\n", encoding="utf-8")
    before = tables_of(clinic)
    ended = kanon("anonymize", clinic, "--qi", "zip", "--rest", "drop", "--hierarchies", tmp_path, "--into", "released")
    assert ended.code == 3
    assert "has no row for 6 values" in ended.err
    assert "100" not in ended.err.replace("error:", "").split("Add")[0].replace(str(tmp_path), "")
    assert ended.out == ""
    assert tables_of(clinic) == before


def test_check_says_which_hierarchies_fit(clinic: Path, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    (tmp_path / "patients_hierarchy_zip.csv").write_text("10000;1000*;*\n10001;1000*;*\n", encoding="utf-8")
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    ended = kanon("hierarchy", "check", clinic, "patients", "--hierarchies", tmp_path, "--format", "json")
    assert ended.code == 1
    by_column = {found["column"]: found for found in ended.json}
    assert by_column.keys() == {"zip", "sex"}
    assert by_column["sex"]["problem"] is None
    with duckdb.connect(str(clinic), read_only=True) as connection:
        (missing,) = connection.execute("SELECT count(*) FROM patients WHERE zip NOT IN ('10000', '10001')").fetchall()
    assert by_column["zip"]["rows_missing"] == missing[0]
    assert kanon("hierarchy", "check", clinic, "--qi", "sex", "--hierarchies", tmp_path).code == 0


def test_check_prints_the_query_that_lists_the_missing_values(
    clinic: Path, tmp_path: Path, kanon: Callable[..., Ended]
) -> None:
    (tmp_path / "sex.csv").write_text("F;*\n", encoding="utf-8")
    ended = kanon("hierarchy", "check", clinic, "--hierarchies", tmp_path, "--sql")
    assert ended.code == 0
    with duckdb.connect(str(clinic), read_only=True) as connection:
        assert connection.execute(ended.out).fetchall() == [("M", 30)]


def test_of_two_files_for_one_column_none_is_guessed(clinic: Path, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    (tmp_path / "b_hierarchy_sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    ended = kanon("anonymize", clinic, "--qi", "sex", "--rest", "drop", "--hierarchies", tmp_path, "--into", "x")
    assert ended.code == 3
    assert "2 hierarchy files for column 'sex'" in ended.err


FAR_OUTSIDE: list[tuple[Any, str, tuple[str, ...]]] = [
    (pd.array([1, 2, 1, 2], dtype="int64"), "1;x;*\n2;x;*\n99999999999;y;*\n-9223372036854775808;y;*\n", ()),
    (pd.array([1, 2, 1, 2], dtype="int32"), "1;x;*\n2;x;*\n2000000000;y;*\n3;y;*\n99999999999;y;*\n", ("INTEGER",)),
    ([1.5, 2.5, 1.5, 2.5], "1.5;x;*\n2.5;x;*\n1e308;y;*\n-1e308;y;*\n", ()),
    ([Decimal("1.50"), Decimal("1.51")] * 2, "1.50;x;*\n1.51;x;*\n9.99;y;*\n3;y;*\n99999999;y;*\n", ("DECIMAL",)),
    (
        pd.to_datetime(["2024-01-01 00:00:00", "2024-01-01 00:00:01"] * 2).astype("datetime64[us]"),
        "2024-01-01 00:00:00;x;*\n2024-01-01 00:00:01;x;*\n9999-12-31;y;*\n0001-01-01;y;*\n",
        (),
    ),
    (
        pd.to_datetime(["2024-01-01 00:00:00", "2024-01-01 00:00:01"] * 2).astype("datetime64[ns]"),
        "2024-01-01 00:00:00;x;*\n2024-01-01 00:00:01;x;*\n2200-01-01;y;*\n1700-01-01;y;*\n9999-12-31;y;*\n",
        ("TIMESTAMP_NS",),
    ),
]


@pytest.mark.thorough
@each(
    ("values", "hierarchy", "note", "algorithm"),
    [(*row, algorithm) for row, algorithm in product(FAR_OUTSIDE, ["optimal", "mondrian"])],
    quick=4,
)
def test_values_far_outside_the_data_are_leaves_like_any_other(
    tmp_path: Path, values: Any, hierarchy: str, note: tuple[str, ...], algorithm: str
) -> None:
    """Two values under x, two beside them that no row has: at x a cell is one of 2 of 4 leaves, loss 1/3.

    Of gcp it has the whole range of the table, 1. A value that the type of the column cannot hold is left out.
    Fails on 0.1.0: "DuckDB stopped with an error of type Conversion", or "cannot be read as INTEGER".
    """
    (tmp_path / "c.csv").write_text(hierarchy)
    asked: dict[str, Any] = {"quasi_identifiers": ["c"], "hierarchies": {"c": tmp_path / "c.csv"}}
    with kanon.anonymize(
        pd.DataFrame({"c": values}), **asked, models=[kanon.KAnonymity(4)], algorithm=algorithm
    ) as release:
        out = release.to_pandas()
        assert len(set(out["c"])) == 1
        if algorithm == "optimal":
            assert out["c"].unique() == ["x"]
            assert release.loss == pytest.approx(1 / 3)
            assert release.measures["gcp"] == pytest.approx(1)
        (made,) = release.prepared.hierarchies
        assert len(made.notes) == len(note)
        for kind, said in zip(note, made.notes, strict=True):
            assert said.startswith(f"1 value is beyond what {kind}")


def test_equal_lines_say_the_same(tmp_path: Path) -> None:
    """A line that stands there twice is no contradiction.

    Fails on 0.1.0: "this value has a row already. Keep one row per value".
    """
    (tmp_path / "c.csv").write_text("a;A;*\nb;A;*\na;A;*\nb;A;*\n")
    frame = pd.DataFrame({"c": ["a", "b"]})
    asked: dict[str, Any] = {"quasi_identifiers": ["c"], "hierarchies": {"c": tmp_path / "c.csv"}}
    with kanon.anonymize(frame, **asked, models=[kanon.KAnonymity(2)]) as release:
        assert release.to_pandas()["c"].tolist() == ["A", "A"]
