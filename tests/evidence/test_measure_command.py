"""``kanon measure``: what a published table says by itself, against what its recoding said before it was published."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brute_force
import duckdb
import pandas as pd
import pytest
from conftest import ADULT_QI
from effort import examples
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import TABLE, Case, cases, load

import kanon_sql as kanon
from kanon_sql.measures import quality

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

OF_CLASSES = {"discernibility", "average_class_size", "average_rows_per_class"}


@pytest.mark.thorough
@given(cases(max_rows=20), st.sampled_from(["optimal", "datafly", "spolg", "local"]))
@examples(40)
def test_before_publishing_and_after_the_measures_agree(case: Case, algorithm: str) -> None:
    """... wherever a label can be told from a value that is written like it."""
    assume(not any(brute_force.root_of(tree) in tree for tree in case.hierarchies))
    connection, person = load(case)
    with tempfile.TemporaryDirectory() as directory:
        hierarchies = case.write_hierarchies(Path(directory))
        asked: dict[str, Any] = {"quasi_identifiers": case.columns, "hierarchies": hierarchies}
        model = kanon.KAnonymity(case.k, entity=person)
        try:
            release = kanon.anonymize(
                connection, TABLE, models=[model], max_suppressed=case.max_suppressed, algorithm=algorithm, **asked
            )
        except kanon.NoSolutionError:
            return
        with release:
            published = release.to_table("published")
            before, levels = release.measures, release.levels
            rows, suppressed = release.rows_out, release.rows_suppressed
        found = kanon.measure(connection, "published", original=TABLE, models=[kanon.KAnonymity(case.k)], **asked)
    assert (found.rows_out, found.rows_suppressed) == (rows, suppressed)
    assert found.classes == published.verification.classes
    for name, value in before.items():
        if name == "distortion":
            continue
        if name in OF_CLASSES and algorithm in {"spolg", "local"}:  # classes of two steps may be written alike
            continue
        assert found.measures[name] == pytest.approx(value, abs=1e-8), name
    if rows and levels is not None and found.levels is not None:
        labels = {column: set(connection.table("published").project(_quoted(column)).fetchall()) for column in levels}
        for column, tree in zip(case.columns, case.hierarchies, strict=True):
            # A column of roots alone is at the root, on whatever level that was read.
            only_roots = levels[column] and labels[column] == {(brute_force.root_of(tree),)}
            assert found.levels[column] == (len(next(iter(tree.values()))) if only_roots else levels[column])


def _quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def test_by_hand(tmp_path: Path, kanon: Callable[..., Ended]) -> None:
    """Six rows, leaves a b c d under A = {a, b, c} and D = {d}; published: five rows of A.

    Loss (5 * 2/3 + 1)/6. Entropy: a 2, b 2, c 1, d 1 rows; under A there are 5: cells of A take
    2 log2(5/2) + 2 log2(5/2) + log2(5), the suppressed d log2(6); at the root 4 log2(6/2) + 2 log2(6). Ambiguity
    (5*3 + 4)/6. The reader spreads 5 rows over a, b, c and one over all four: 5/3 + 1/4 = 23/12 for each of a, b and c,
    1/4 for d; KL = (2 log2(2/(23/12)) * 2 + log2(1/(23/12)) + log2(4))/6.
    """
    from math import log2

    (tmp_path / "c.csv").write_text("a;A;*\nb;A;*\nc;A;*\nd;D;*\n", encoding="utf-8")
    pd.DataFrame({"c": ["a", "a", "b", "b", "c", "d"]}).to_csv(tmp_path / "original.csv", index=False)
    pd.DataFrame({"c": ["A"] * 5}).to_csv(tmp_path / "release.csv", index=False)
    ended = kanon(
        "measure", tmp_path / "release.csv", "--original", tmp_path / "original.csv", "--qi", "c", "-k", 3,
        "--hierarchies", tmp_path, "--format", "json", "--read", "header=true",
    )  # fmt: skip
    assert ended.code == 0
    found = ended.json
    assert found["levels"] == {"c": 1}
    assert (found["rows_in"], found["rows_out"], found["rows_suppressed"], found["classes"]) == (6, 5, 1, 1)
    bits = (4 * log2(5 / 2) + log2(5) + log2(6)) / (4 * log2(3) + 2 * log2(6))
    divergence = (4 * log2(2 / (23 / 12)) + log2(12 / 23) + log2(4)) / 6
    expected = {
        "loss": 13 / 18,
        "gcp": (5 * 3 / 4 + 1) / 6,
        "precision": 1 - 3.5 / 6,
        "nonuniform_entropy": bits,
        "distortion": 1 / 2,
        "discernibility": 25 + 6,
        "average_class_size": 5 / 3,
        "average_rows_per_class": 5,
        "ambiguity": 19 / 6,
        "kl_divergence": divergence,
    }
    assert found["measures"] == pytest.approx(expected, abs=1e-7)


@pytest.mark.thorough
def test_a_label_on_several_levels_is_taken_for_what_all_labels_of_the_column_have_in_common(tmp_path: Path) -> None:
    """``x`` is a value, and the label of x and y on level 1. Beside Z, of level 1, it is that; alone, the value."""
    (tmp_path / "c.csv").write_text("x;x;*\ny;x;*\nz;Z;*\n", encoding="utf-8")
    original = pd.DataFrame({"c": ["x", "y", "z", "z"]})
    asked: dict[str, Any] = {"quasi_identifiers": ["c"], "hierarchies": tmp_path, "original": original}
    beside = kanon.measure(pd.DataFrame({"c": ["x", "x", "Z", "Z"]}), **asked)
    assert beside.levels == {"c": 1}
    assert beside.measures["loss"] == pytest.approx(2 * (1 / 2) / 4)
    alone = kanon.measure(pd.DataFrame({"c": ["x"]}), **asked)
    assert alone.levels == {"c": 0}
    assert alone.measures["loss"] == pytest.approx(3 / 4)  # the three rows that are missing
    # On no level are both: each by itself, and x is what stands for most.
    apart = kanon.measure(pd.DataFrame({"c": ["x", "y", "Z", "Z"]}), **asked)
    assert apart.levels == {"c": None}
    assert apart.measures["loss"] == pytest.approx((1 / 2) / 4)
    assert apart.measures["distortion"] is None


@pytest.mark.thorough
def test_adult_optimal_and_local_after_publishing(adult: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """A text file of labels says the same as the search did; DuckDB's own count of classes agrees."""
    columns = ",".join(ADULT_QI)
    for algorithm in ("optimal", "local"):
        made = kanon(
            "anonymize", adult / "adult.csv", "--qi", columns, "--rest", "drop", "--hierarchies", adult, "-k", 10,
            "--max-suppressed", 0.02, "--algorithm", algorithm, "--out", "release.csv", "--replace", "--format", "json",
        )  # fmt: skip
        ended = kanon(
            "measure", "release.csv", "--original", adult / "adult.csv", "--qi", columns, "--hierarchies", adult,
            "-k", 10, "--format", "json",
        )  # fmt: skip
        assert ended.code == 0
        expected = {name: value for name, value in made.json["measures"].items() if name not in OF_CLASSES}
        found = {name: value for name, value in ended.json["measures"].items() if name not in OF_CLASSES}
        assert found == pytest.approx(expected, abs=1e-8)
        if algorithm == "optimal":
            assert ended.json["levels"] == made.json["levels"]
        else:
            assert set(ended.json["levels"].values()) == {None}
        quoted = ", ".join(f'"{column}"' for column in ADULT_QI)
        sizes = duckdb.read_csv(str(in_tmp / "release.csv")).aggregate("count(*) AS n", quoted)
        assert sizes.aggregate("count(*), min(n)").fetchall() == [(ended.json["classes"], ended.json["smallest_class"])]


@pytest.fixture
def database(in_tmp: Path) -> Path:
    """Return a database with a table and a release of it."""
    path = in_tmp / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE patients AS SELECT i % 20 + 20 AS age, i % 2 AS sex FROM range(200) AS t(i)")
    with kanon.anonymize(
        path, "patients", quasi_identifiers=["age", "sex"], hierarchies={"age": "intervals:5", "sex": "flat"},
        models=[kanon.KAnonymity(20)], max_suppressed=0,
    ) as release:  # fmt: skip
        release.to_table("patients_k20")
    return path


ASKED = ("--qi", "age,sex", "--hierarchy", "age=intervals:5", "--hierarchy", "sex=flat")


@pytest.mark.thorough
def test_the_original_is_a_table_beside_it_another_database_or_a_file(
    database: Path, in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("COPY patients TO 'patients.parquet'")
        connection.execute("ATTACH 'other.duckdb' AS other; CREATE TABLE other.p AS FROM patients; DETACH other")
        connection.execute("COPY patients_k20 TO 'release.csv'")
    beside = kanon("measure", database, "patients_k20", "--original", "patients", *ASKED, "--format", "json")
    assert beside.code == 0, beside.err
    assert beside.json["original"] == "patients"
    expected = {**beside.json, "original": None}
    for original in (
        ("--original", in_tmp / "patients.parquet"),
        ("--original", in_tmp / "other.duckdb"),
        ("--original", in_tmp / "other.duckdb", "--original-table", "p"),
        ("--original", database, "--original-table", "patients"),
    ):
        ended = kanon("measure", database, "patients_k20", *original, *ASKED, "--format", "json")
        assert ended.code == 0, ended.err
        assert {**ended.json, "original": None} == expected
    ended = kanon(
        "measure", "release.csv", "--original", database, "--original-table", "patients", *ASKED, "--format", "json"
    )
    assert {**ended.json, "original": None, "table": "patients_k20"} == expected


@pytest.mark.thorough
def test_two_tables_of_one_name_are_named_with_their_schemas(database: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE SCHEMA released; CREATE TABLE released.patients AS FROM patients_k20")
    for command in ("measure", "attack"):
        ended = kanon(command, database, "released.patients", "--original", "patients", *ASKED)
        assert ended.out.startswith("released.patients against patients"), ended.err


@pytest.mark.thorough
def test_without_its_original_a_table_has_classes_alone(database: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("measure", database, "patients_k20", "--qi", "age,sex", "-k", 20, "--format", "json")
    assert ended.code == 0
    assert ended.json["rows_in"] is None
    assert ended.json["rows_out"] == 200
    assert ended.json["measures"].keys() == {"average_class_size", "average_rows_per_class"}
    assert ended.json["measures"]["average_class_size"] == pytest.approx(200 / ended.json["classes"] / 20)
    screen = kanon("measure", database, "patients_k20", "--qi", "age,sex", "-k", 20)
    assert "loss" not in screen.out
    assert "200 rows" in screen.out


@pytest.mark.thorough
def test_sql_is_what_was_run(database: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("measure", database, "patients_k20", "--original", "patients", *ASKED, "--sql")
    assert ended.code == 0
    assert "-- what labels of age can stand for" in ended.out
    assert "-- KL divergence" in ended.out


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("patients_k20", "--original", "patients", "--qi", "age,sex", "--hierarchy", "age=flat"),
            "neither values of the original nor labels",
        ),
        (("patients", "--original", "patients_k20", *ASKED), "HierarchyError|type|values"),
        (("patients_k20", "--original", "nowhere", *ASKED), "nowhere"),
        (("patients_k20", "--original", "nowhere.csv", *ASKED), "nowhere.csv"),
        (("patients_k20", "--original", "patients"), "quasi-identifier"),
        (("patients_k20", "--qi", "age,sex", "--hierarchy", "age=intervals:5"), "--original"),
        (("few", "--original", "few_original", "--qi", "age"), "is it a release"),
    ],
)
def test_what_is_wrong_is_said(
    database: Path, kanon: Callable[..., Ended], arguments: tuple[str, ...], said: str
) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            "CREATE TABLE few AS SELECT 1 AS age FROM range(3); CREATE TABLE few_original AS SELECT 1 AS age"
        )
    ended = kanon("measure", database, *arguments)
    assert ended.code in {2, 3}
    assert any(part in ended.err for part in said.split("|"))
    assert "Traceback" not in ended.err


@pytest.mark.thorough
def test_a_divergence_that_takes_long_is_left_to_measure(monkeypatch: pytest.MonkeyPatch) -> None:
    """... and is the same in many statements as in one."""
    frame = pd.DataFrame({"a": [i % 7 for i in range(90)], "b": [i * i % 11 for i in range(90)]})
    asked: dict[str, Any] = {"quasi_identifiers": ["a", "b"], "hierarchies": {"a": "intervals:2,4", "b": "intervals:3"}}
    with kanon.anonymize(frame, **asked, models=[kanon.KAnonymity(6)], algorithm="local") as release:
        assert release.steps is not None
        assert len(release.steps) > 1
        expected = release.measures["kl_divergence"]
        published = release.to_pandas()
    monkeypatch.setattr(quality, "_PAIRS_IN_A_STATEMENT", 1)
    with kanon.anonymize(frame, **asked, models=[kanon.KAnonymity(6)], algorithm="local") as release:
        assert release.measures["kl_divergence"] == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr(quality, "MOST_PAIRS", 0)
    with kanon.anonymize(frame, **asked, models=[kanon.KAnonymity(6)], algorithm="local") as release:
        assert release.measures["kl_divergence"] is None
        assert release.measures["ambiguity"] is not None
    found = kanon.measure(published, original=frame, **asked)
    assert found.measures["kl_divergence"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.thorough
def test_a_label_that_has_more_rows_than_the_original_is_no_value(tmp_path: Path) -> None:
    """Rounded to tens, 40 is an age too: five rows are 40, and two people are; so it is a label, and none is lost."""
    original = pd.DataFrame({"age": [20, 20, 21, 23, 30, 31, 34, 36, 40, 40, 41, 43]})
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "hierarchies": {"age": "round:1"}}
    with kanon.anonymize(original, max_suppressed=0, models=[kanon.KAnonymity(3)], **asked) as release:
        assert release.levels == {"age": 1}
        expected, published = release.measures, release.to_pandas()
    found = kanon.measure(published, original=original, models=[kanon.KAnonymity(3)], **asked)
    assert found.levels == {"age": 1}
    assert found.measures == pytest.approx(expected)
    # The root of this one is a value as well.
    (tmp_path / "c.csv").write_text("a;L;a\nb;L;a\nc;M;a\nd;M;a\n", encoding="utf-8")
    letters = pd.DataFrame({"c": list("abcd")})
    root = pd.DataFrame({"c": ["a"] * 4})
    found = kanon.measure(root, original=letters, quasi_identifiers=["c"], hierarchies=tmp_path)
    assert (found.levels, found.measures["loss"]) == ({"c": 2}, 1)


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (["a"] * 4 + ["b"] * 4, "more rows than the original"),
        (["a"] * 8, "more rows than the original"),
        (list("aabbccddaabbccdd"), "is it a release"),
    ],
)
def test_what_is_no_release_of_the_original_is_refused(release: list[str], said: str) -> None:
    original = pd.DataFrame({"c": list("aabbccdd")})
    with pytest.raises(kanon.UsageError, match=said):
        kanon.measure(
            pd.DataFrame({"c": release}), original=original, quasi_identifiers=["c"], hierarchies={"c": "flat"}
        )


def test_rows_that_nothing_covers_are_no_release() -> None:
    """Each column has the right values, and the rows are others."""
    original = pd.DataFrame({"a": list("xxyy"), "b": list("ppqq")})
    release = pd.DataFrame({"a": list("xxyy"), "b": list("qqpp")})
    with pytest.raises(kanon.UsageError, match="covers 4 of the 4 rows"):
        kanon.measure(release, original=original, quasi_identifiers=["a", "b"], hierarchies={"a": "flat", "b": "flat"})


@pytest.mark.thorough
def test_values_may_be_written_as_other_tools_write_them() -> None:
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE original AS SELECT DATE '2024-01-01' + (i % 2)::INT AS day, "
            "(1.50 + i % 2)::DECIMAL(5, 2) AS price FROM range(8) AS t(i)"
        )
        asked: dict[str, Any] = {"quasi_identifiers": ["day", "price"], "original": "original"}
        frame = pd.DataFrame(
            {"day": pd.to_datetime(["2024-01-01", "2024-01-02"] * 4), "price": [1.5, 2.5] * 4}
        )  # what pandas makes of such columns
        connection.register("frame", frame)
        connection.execute("CREATE TABLE released AS FROM frame")
        found = kanon.measure(connection, "released", **asked)
        assert found.levels == {"day": 0, "price": 0}
        assert found.measures["loss"] == 0


def test_an_empty_text_and_nothing_are_two_values_in_a_file(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "o.csv").write_text('c,x\n"",1\n"",1\n,1\n,1\na,2\na,2\na,2\na,2\n', encoding="utf-8")
    ended = kanon("check", "o.csv", "--qi", "c,x", "-k", 3, "--format", "json")
    assert ended.code == 1
    assert (ended.json["classes"], ended.json["smallest_class"]) == (3, 2)


@pytest.mark.thorough
def test_nothing_is_left_in_a_connection_and_no_transaction_is_undone(database: Path, in_tmp: Path) -> None:
    with duckdb.connect(str(database)) as connection:
        connection.execute("COPY patients_k20 TO 'release.parquet'")
        connection.execute("ATTACH 'other.duckdb' AS other; CREATE TABLE other.r AS FROM patients_k20; DETACH other")
        asked: dict[str, Any] = {
            "original": connection,
            "original_table": "patients",
            "quasi_identifiers": ["age", "sex"],
            "hierarchies": {"age": "intervals:5", "sex": "flat"},
        }
        for release in ("release.parquet", "other.duckdb"):
            kanon.measure(in_tmp / release, **asked)
        seen = connection.execute("SELECT view_name FROM duckdb_views() WHERE view_name LIKE 'kanon%'").fetchall()
        seen += connection.execute("SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'kanon%'").fetchall()
        databases = connection.execute("SELECT database_name FROM duckdb_databases()").fetchall()
        assert seen == []
        assert ("kanon_attached",) not in databases
        connection.begin()
        connection.execute("CREATE TABLE mine (i INT)")
        with pytest.raises(kanon.UsageError, match="transaction"):
            kanon.measure(in_tmp / "other.duckdb", **asked)
        with pytest.raises(kanon.UsageError, match="transaction"):
            kanon.anonymize(connection, "patients", quasi_identifiers=["age"], rest="drop", time_limit=1)
        connection.commit()
        assert connection.execute("SELECT count(*) FROM mine").fetchone() == (0,)


@pytest.mark.thorough
def test_a_table_is_not_hidden_by_a_directory_of_its_name(
    database: Path, in_tmp: Path, kanon: Callable[..., Ended]
) -> None:
    (in_tmp / "patients").mkdir()
    ended = kanon("measure", database, "patients_k20", "--original", "patients", *ASKED)
    assert ended.code == 0


def test_hierarchies_without_an_original_are_not_ignored() -> None:
    with pytest.raises(kanon.UsageError, match="original"):
        kanon.measure(pd.DataFrame({"a": [1]}), quasi_identifiers=["a"], hierarchies={"a": "flat"})
