"""Hierarchies that Python gives as a mapping or a data frame, and the text files of a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from each import each
from needs import IN_OTHER_FRAMES, needs

import kanon_sql as kanon
from kanon_sql.dp.questions.counts import Histogram, _level_keys
from kanon_sql.engine.base import Column

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

PEOPLE = pd.DataFrame({"job": ["nurse", "nurse", "cook", "baker"], "age": [25, 31, 31, 42]})
JOBS = {"nurse": ["health", "*"], "cook": ["food", "*"], "baker": ["food", "*"]}


def published(column: str, hierarchy: Any, k: int = 2) -> list[str]:
    with kanon.anonymize(
        PEOPLE[[column]], quasi_identifiers=[column], hierarchies={column: hierarchy}, k=k, max_suppressed=0
    ) as release:
        return sorted(release.to_pandas()[column])


def test_a_mapping_from_values_to_their_labels() -> None:
    assert published("job", JOBS) == ["food", "food", "health", "health"]
    # One label for each value: two roots, so that * is put above them, as above those of a file.
    assert published("job", {"nurse": "health", "cook": "food", "baker": "food"}) == [
        "food",
        "food",
        "health",
        "health",
    ]
    assert published("job", {"nurse": ["*"], "cook": ["*"], "baker": ["*"]}) == ["*"] * 4
    # Child to parent, as in a file of pairs: nurse, health, *.
    tree = {"nurse": "health", "cook": "food", "baker": "food", "health": "*", "food": "*"}
    assert published("job", tree) == ["food", "food", "health", "health"]
    assert published("age", {25: ["<40", "*"], 31: ["<40", "*"], 42: [">=40", "*"]}, k=1) == [25, 31, 31, 42]
    assert published("age", {25: ["<40", "*"], 31: ["<40", "*"], 42: [">=40", "*"]}, k=4) == ["*"] * 4


@pytest.mark.parametrize("kind", ["pandas", *IN_OTHER_FRAMES])
def test_a_data_frame_has_the_value_first(kind: str) -> None:
    columns = {"job": ["nurse", "cook", "baker", None], "sector": ["health", "food", "food", "*"], "all": ["*"] * 4}
    frame: Any = pd.DataFrame(columns)
    if kind == "polars":
        frame = needs("polars").LazyFrame(columns)
    elif kind == "arrow":
        frame = needs("pyarrow").table(columns)
    assert published("job", frame) == ["food", "food", "health", "health"]


def test_every_function_that_takes_a_file_takes_levels(tmp_path: Path) -> None:
    people = PEOPLE[["job"]].assign(id=range(4))
    asked: dict[str, Any] = {"quasi_identifiers": ["job"], "hierarchies": {"job": JOBS}, "entity": "id"}
    with kanon.prepare(people, **asked) as table, table.anonymize(models=[kanon.KAnonymity(2)]) as release:
        safe = release.to_pandas()
        assert "health" in release.sql()
        assert release.summary()["hierarchies"]["job"]["origin"] == "levels from Python"
        assert "levels from Python" in kanon.report(release).to_html()
    original = {"original": people, **asked}
    assert kanon.check(safe, k=2, **original).holds
    assert kanon.measure(safe, **original).measures["loss"] == release.loss
    assert kanon.known(safe, k=2, **original).holds
    assert not kanon.attack(safe, k=2, **original).succeeded
    kanon.export_hierarchy(PEOPLE, column="job", hierarchy=JOBS, out=tmp_path / "job.csv")
    assert (tmp_path / "job.csv").read_text() == ";*;*\nbaker;food;*\ncook;food;*\nnurse;health;*\n"


def test_labels_of_levels_are_keys_of_a_histogram() -> None:
    asked = Histogram(column="job", hierarchy=JOBS, level=1, epsilon=1)
    keys = _level_keys(asked.hierarchy, 1, Column("job", "VARCHAR"))
    assert keys.labels == ("health", "food")
    assert keys.label_of == {"nurse": "health", "cook": "food", "baker": "food"}


def test_a_file_cannot_name_levels(tmp_path: Path) -> None:
    policy = kanon.Policy(columns=kanon.NamedColumns(quasi_identifiers=("job",)), hierarchies={"job": JOBS})
    with pytest.raises(kanon.UsageError, match=r"levels from Python, which kanon.toml cannot name. Write it to a file"):
        kanon.write_policy(policy, kanon.Destination(), tmp_path / "kanon.toml")
    assert not list(tmp_path.iterdir())
    tables = kanon.TablesPolicy(
        (kanon.TablePolicy("people", "people", "id", columns=policy.columns, hierarchies=policy.hierarchies),)
    )
    with pytest.raises(kanon.UsageError, match=r"levels from Python, which kanon.toml cannot name"):
        kanon.write_tables_policy(tables, tmp_path / "kanon.toml")
    database = tmp_path / "people.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.from_df(PEOPLE[["job"]]).create("people")
    with (
        kanon.anonymize(database, quasi_identifiers=["job"], hierarchies={"job": JOBS}, k=2) as release,
        pytest.raises(kanon.UsageError, match="levels from Python, which a lock cannot name"),
    ):
        release.to_table("released", lock=tmp_path / "kanon.lock")
    assert "nurse" not in repr(policy)


@each(
    ("levels", "says"),
    [
        ({}, r"The hierarchy of column 'job' \(levels from Python\) has no rows"),
        ({"nurse": []}, r"\(levels from Python\) has one field per line"),
        ({"nurse": ["health", "*"], "cook": ["health", "x"]}, "entry 2: .* does not end in the root"),
        ({"nurse": ["a", "b", "*"], "cook": ["a", "c", "*"]}, "entry 2: the label of level 1 has another parent"),
        ({"nurse": ["*"]}, "has no row for 2 values"),
        (["nurse"], "A hierarchy is a rule, a file, a mapping .*; not list"),
    ],
)
def test_an_error_has_no_value(levels: Any, says: str) -> None:
    with pytest.raises(kanon.KanonError, match=says) as caught:
        published("job", levels)
    assert not {"nurse", "cook", "health"} & set(str(caught.value).replace("'", " ").split())


def test_text_files_of_a_directory(clinic: Path, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    (tmp_path / "patients_hierarchy_sex.txt").write_text("F,person\n\nM,person\n\nperson,*", encoding="utf-8")
    (tmp_path / "zpi.csv").write_text("10000;*\n", encoding="utf-8")
    ended = kanon("hierarchy", "list", tmp_path)
    assert "patients_hierarchy_sex" in ended.out
    note = f"No quasi-identifier uses zpi.csv of {tmp_path}. A file is called <column>.csv, <column>.txt,"
    ended = kanon("hierarchy", "check", clinic, "patients", "--hierarchies", tmp_path, "--format", "json")
    assert [(fit["column"], fit["format"], fit["height"]) for fit in ended.json] == [("sex", "child,parent pairs", 2)]
    assert note in " ".join(ended.err.split())
    ended = kanon(
        "anonymize", clinic, "--qi", "sex", "--rest", "drop", "--hierarchies", tmp_path, "--into", "x", "-k", "60"
    )
    assert ended.code == 0
    assert note in " ".join(ended.err.split())
    (tmp_path / "sex.csv").write_text("F;*\nM;*\n", encoding="utf-8")
    ended = kanon("hierarchy", "check", clinic, "patients", "--hierarchies", tmp_path)
    assert "2 hierarchy files for column 'sex'" in ended.err


def test_the_label_of_null_is_not_counted(clinic: Path, tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    """A file without a row for NULL: its two values have one label at level 1, and NULL goes to the root."""
    (tmp_path / "sex.csv").write_text("F;person;*\nM;person;*\n", encoding="utf-8")
    loaded = kanon("hierarchy", "load", clinic, "patients", f"sex={tmp_path / 'sex.csv'}", "--format", "json").json
    assert [(shape["values"], shape["labels_per_level"]) for shape in loaded] == [(2, [1, 1])]
    (tmp_path / "null.csv").write_text(";unknown;*\nF;person;*\nM;person;*\n", encoding="utf-8")
    shown = kanon("hierarchy", "show", tmp_path / "null.csv", "--format", "json").json
    assert (shown["values"], shown["labels_per_level"]) == (2, [1, 1])
