"""Publishing: tables, views, files, frames; verified on their own rows before they take their name; all or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import files_in, tables_of
from rows import released_records
from sqlglot import exp

import kanon_sql as kanon
from kanon_sql.release.publish import publisher
from kanon_sql.release.statements import view as publish_view
from kanon_sql.release.statements.release import release_query
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended

    from kanon_sql.release.publication import Publication

QI = ["age", "sex", "zip"]


def anonymize(source: Any, **settings: Any) -> kanon.Release:
    """Anonymize the patients of the clinic."""
    asked: dict[str, Any] = {
        "quasi_identifiers": QI,
        "identifying": ["name", "id"],
        "sensitive": ["disease"],
        "models": [kanon.KAnonymity(4)],
        "max_suppressed": 0.2,
    }
    return kanon.anonymize(source, "patients", **(asked | settings))


def rows_of(path: Path, table: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.table(table).fetchall()


@pytest.mark.thorough
def test_a_table_has_the_columns_in_order_and_no_identifying_one(clinic: Path) -> None:
    with anonymize(clinic) as release:
        published = release.to_table("released")
    with duckdb.connect(str(clinic), read_only=True) as connection:
        assert connection.table("released").columns == ["age", "sex", "zip", "disease"]
        (smallest,) = connection.execute(
            "SELECT min(n) FROM (SELECT count(*) AS n FROM released GROUP BY age, sex, zip)"
        ).fetchall()
        left = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    assert smallest[0] == published.verification.smallest_class >= 4
    assert sorted(left) == ["patients", "released", "releases"]  # the last one is the ledger


@pytest.mark.thorough
def test_rest_decides_about_columns_without_a_role(clinic: Path) -> None:
    for rest, columns in [("drop", ["age"]), ("keep", ["id", "name", "age", "sex", "zip", "disease"])]:
        kept = [] if rest == "drop" else ["id", "name", "sex", "zip"]  # what may identify people needs a role
        with kanon.anonymize(clinic, quasi_identifiers=["age"], insensitive=kept, rest=rest) as release:
            assert list(release.to_pandas().columns) == columns


@pytest.mark.thorough
def test_the_order_of_rows_says_nothing_and_can_be_repeated(clinic: Path) -> None:
    """The same rows in another order in the source: the release stands in the same order, which is not the source's."""
    frame = duckdb.connect(str(clinic), read_only=True).table("patients").df()
    shuffled = frame.sample(frac=1, random_state=3)

    def released(source: pd.DataFrame, seed: int) -> list[tuple[Any, ...]]:
        with kanon.anonymize(
            source,
            quasi_identifiers=["sex"],
            identifying=["name", "id"],
            insensitive=["age", "zip"],
            rest="keep",
            seed=seed,
        ) as release:
            return list(release.to_pandas().itertuples(index=False, name=None))

    first = released(frame, 1)
    assert released(shuffled, 1) == first
    assert released(frame, 2) != first
    assert sorted(released(frame, 2)) == sorted(first)
    in_source_order = list(frame[["age", "sex", "zip", "disease"]].itertuples(index=False, name=None))
    assert sorted(in_source_order) == sorted(first)
    assert in_source_order != first


@pytest.mark.quick(4)
@pytest.mark.parametrize("suffix", ["parquet", "csv", "json", "jsonl"])
def test_every_format_holds_the_same_rows(clinic: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"release.{suffix}"
    with anonymize(clinic, seed=1) as release:
        published = release.to_file(path)
        expected = released_records(release)
    readers = {"parquet": duckdb.read_parquet, "csv": duckdb.read_csv, "json": duckdb.read_json}
    found = readers.get(suffix, duckdb.read_json)(str(path))
    assert [dict(zip(found.columns, map(str, row), strict=True)) for row in found.fetchall()] == [
        {name: str(value) for name, value in row.items()} for row in expected
    ]
    assert published.destination == str(path)
    assert files_in(tmp_path) == {"clinic.duckdb", path.name}


def test_in_csv_null_and_the_empty_text_stay_two_classes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"c": ["", "", None, None]})
    with kanon.anonymize(frame, quasi_identifiers=["c"], models=[kanon.KAnonymity(2)]) as release:
        published = release.to_file(tmp_path / "release.csv")
    assert published.verification.classes == 2
    assert (tmp_path / "release.csv").read_text(encoding="utf-8").splitlines().count('""') == 2


@pytest.mark.thorough
def test_a_view_is_live_and_keeps_hierarchies_of_its_own(clinic: Path, kanon: Callable[..., Ended]) -> None:
    assert kanon("hierarchy", "build", clinic, "patients", "zip=mask:right:1,2").code == 0
    ended = kanon(
        "anonymize", clinic, "patients", "--id", "name,id", "--qi", "zip", "--sensitive", "disease", "--rest", "drop",
        "-k", 5, "--into", "shown", "--as", "view", "--max-suppressed", 0.9,
    )  # fmt: skip
    assert ended.code == 0
    assert "To hand data out, make a table or a file" in ended.err
    before = sorted(rows_of(clinic, "shown"))
    # Another hierarchy under the same name must not change what the view says.
    assert kanon("hierarchy", "build", clinic, "patients", "zip=flat", "--replace").code == 0
    assert sorted(rows_of(clinic, "shown")) == before
    # A row that comes later is alone in its class, and is not shown.
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("INSERT INTO patients VALUES (99, 'New', 33, 'F', '99999', 'rare')")
    assert "rare" not in {row[-1] for row in rows_of(clinic, "shown")}


@pytest.mark.thorough
def test_what_is_there_is_not_replaced_unless_asked(clinic: Path, tmp_path: Path) -> None:
    (tmp_path / "kept.csv").write_text("precious", encoding="utf-8")
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'precious' AS c")
        connection.execute("CREATE VIEW seen AS SELECT 'precious' AS c")
    before = tables_of(clinic)
    with anonymize(clinic) as release:
        for name in ("kept", "KEPT", "main.kept", "seen"):
            with pytest.raises(kanon.UsageError, match="already"):
                release.to_table(name)
        for name in ("patients", "PATIENTS", "main.patients"):
            with pytest.raises(kanon.UsageError, match="is the table that is to be anonymized"):
                release.to_table(name, replace=True)
        with pytest.raises(kanon.UsageError, match="already"):
            release.to_file(tmp_path / "kept.csv")
    assert tables_of(clinic) == before
    assert (tmp_path / "kept.csv").read_text(encoding="utf-8") == "precious"
    with anonymize(clinic) as release:
        with pytest.raises(kanon.UsageError, match="the ledger does not know as a release"):
            release.to_table("kept", replace=True)
        release.to_table("seen", replace=True)
        release.to_file(tmp_path / "kept.csv", replace=True)
    assert rows_of(clinic, "kept") == [("precious",)]
    assert len(rows_of(clinic, "seen")) == release.rows_out


@pytest.mark.thorough
def test_into_a_schema(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE SCHEMA shared")
    with anonymize(clinic) as release:
        release.to_table("shared.released")
        release.to_table("SHARED.again")
        release.to_table("clinic.shared.third")
        release.to_table("release v1.2")  # no names of schemas: the dot is part of the name
        for missing in ("no.such.schema", "sharde.released"):
            with pytest.raises(kanon.UsageError, match="schema that is not there"):
                release.to_table(missing)
        for kept in ("", " ", "kanon.hierarchy_age", "kanon_release"):
            with pytest.raises(kanon.UsageError):
                release.to_table(kept)
    made = {"shared.released", "shared.again", "shared.third", "main.release v1.2"}
    assert made < tables_of(clinic).keys()


# When the output is wrong, it is taken back. Each of these breaks the making of a release in another way.


def without_suppression(publication: Publication, lookups: Any, **how: Any) -> Any:
    """Publish small classes too."""
    query = release_query(publication, lookups, **how)
    query.set("where", None)
    return query


def without_generalization(publication: Publication, lookups: Any, **how: Any) -> Any:
    """Publish raw values under a recoding that generalizes."""
    node = tuple(0 for _ in publication.recoding.node)
    return release_query(replace(publication, recoding=replace(publication.recoding, node=node)), lookups, **how)


def with_a_row_less(publication: Publication, lookups: Any, **how: Any) -> Any:
    """Lose a row on the way."""
    return release_query(publication, lookups, **how).limit(20)


def with_an_identifier(publication: Publication, lookups: Any, **how: Any) -> Any:
    """Publish an identifying column."""
    columns = (*publication.columns, *publication.roles.identifying[:1])
    return release_query(replace(publication, columns=columns), lookups, **how)


@pytest.mark.quick(4)
@pytest.mark.parametrize("broken", [without_suppression, without_generalization, with_a_row_less, with_an_identifier])
@pytest.mark.parametrize("destination", ["table", "view", "file", "frame"])
@pytest.mark.parametrize("people", [False, True])
def test_a_release_that_fails_its_check_leaves_nothing_behind(
    clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Any, destination: str, people: bool
) -> None:
    before = tables_of(clinic)
    models = [kanon.KAnonymity(4, entity="name" if people else None)]
    with anonymize(clinic, models=models, max_suppressed=0.5) as release:
        assert release.rows_suppressed > 0
        assert any(level > 0 for level in release.levels.values())
        for module in (publisher, publish_view):
            monkeypatch.setattr(module, "release_query", broken)
        publish = {
            "table": lambda: release.to_table("released"),
            "view": lambda: release.to_view("released"),
            "file": lambda: release.to_file(tmp_path / "released.csv"),
            "frame": release.to_pandas,
        }
        # A column that cannot be read back as what it must be is found while it is read.
        with pytest.raises((kanon.VerificationError, kanon.SourceError)):
            publish[destination]()
    assert tables_of(clinic) == before
    assert files_in(tmp_path) == {"clinic.duckdb"}


@pytest.mark.quick(3)
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "duckdb"])
@pytest.mark.parametrize("column", ["age", "zip"])
def test_labels_that_are_not_those_of_the_level_are_counted(
    clinic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, column: str
) -> None:
    """The classes are as large as they must be: the labels alone are wrong, of one column of two that have any."""

    def with_other_labels(publication: Publication, lookups: Any, **how: Any) -> Any:
        query = release_query(publication, lookups, **how)
        label = next(one for one in query.selects if one.alias_or_name == column)
        label.replace(sql.named(exp.DPipe(this=label.copy(), expression=sql.literal("?")), column))
        return query

    rules = {"age": "intervals:30,60", "zip": "mask:1,3", "sex": "flat"}
    with anonymize(clinic, hierarchies=rules, max_suppressed=0) as release:
        assert release.levels["age"] > 0
        assert release.levels["zip"] > 0
        foreign = release.to_pandas()[column].nunique()
        monkeypatch.setattr(publisher, "release_query", with_other_labels)
        with pytest.raises(kanon.VerificationError, match=f": {foreign} labels of column '{column}' are not of its"):
            release.to_file(tmp_path / f"released.{suffix}")
    assert files_in(tmp_path) == {"clinic.duckdb"}


def test_people_are_counted_in_the_output_by_looking_each_class_up_in_the_source(tmp_path: Path) -> None:
    """Five rows of two people are no class of three: the rows alone would not tell."""
    path = tmp_path / "p.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (person VARCHAR, zip VARCHAR)")
        connection.execute("INSERT INTO t VALUES ('a', '1'), ('a', '1'), ('a', '1'), ('b', '1'), ('b', '1')")
        connection.execute("INSERT INTO t VALUES ('c', '2'), ('d', '2'), ('e', '2')")
    with kanon.anonymize(
        path, quasi_identifiers=["zip"], models=[kanon.KAnonymity(3, entity="person")], max_suppressed=1
    ) as release:
        assert release.rows_suppressed == 5
        published = release.to_table("released")
    (model,) = published.verification.models
    assert (model.required, model.measured, model.holds) == (3, 3, True)
    assert rows_of(path, "released") == [("2",)] * 3


@pytest.mark.thorough
def test_an_open_transaction_of_the_caller_is_not_touched(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("BEGIN")
        with anonymize(connection) as release, pytest.raises(kanon.UsageError, match="transaction open"):
            release.to_table("released")
        connection.execute("ROLLBACK")
        assert [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()] == [
            "patients"
        ]


@pytest.mark.thorough
def test_a_release_holds_nothing_in_the_callers_connection_after_it_is_closed(clinic: Path) -> None:
    with duckdb.connect(str(clinic)) as connection:
        with anonymize(connection) as first, anonymize(connection, seed=5) as second:
            assert first.to_pandas().shape == second.to_pandas().shape
        names = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        assert names == [("patients",)]


@pytest.mark.thorough
def test_a_file_is_not_left_half_written_when_its_directory_goes(clinic: Path, tmp_path: Path) -> None:
    with anonymize(clinic) as release:
        with pytest.raises(kanon.SourceError, match="does not exist"):
            release.to_file(tmp_path / "nowhere" / "released.csv")
        with pytest.raises(kanon.UsageError, match="not known by its suffix"):
            release.to_file(Path("released.ods"))


@pytest.mark.parametrize(
    "made",
    [
        "CREATE TEMPORARY TABLE kanon_unverified_released AS FROM patients",
        "CREATE TEMPORARY VIEW kanon_unverified_released AS FROM patients",
    ],
)
def test_a_temporary_table_with_the_name_of_a_release_that_is_made_is_not_taken_for_it(clinic: Path, made: str) -> None:
    """A version verified the caller's own table in place of the release, and gave it the name of the release."""
    with duckdb.connect(str(clinic)) as connection:
        connection.execute(made)
        with anonymize(connection) as release:
            release.to_table("released")
        (rows,) = connection.execute("SELECT count(*) FROM main.released").fetchone() or ()
        assert rows == release.rows_out
        assert "name" not in connection.table("main.released").columns
        assert "name" in connection.table("temp.kanon_unverified_released").columns
    assert "main.kanon_unverified_released" not in tables_of(clinic)
