"""``kanon measure`` prints the risk of a table, and of its original beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import duckdb
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended


@pytest.fixture
def clinic_release(clinic: Path) -> Path:
    """Return the clinic with a release of it: 57 patients as one class, the three others left out; and its people."""
    with duckdb.connect(str(clinic)) as connection:
        connection.execute(
            "CREATE TABLE released AS SELECT '*' AS age, sex, '*' AS zip FROM patients WHERE zip <> '77777'"
        )
        connection.execute("CREATE TABLE everybody AS SELECT * FROM released UNION ALL SELECT * FROM released")
        connection.execute("CREATE TABLE others AS SELECT '*' AS age, 'F' AS sex, '*' AS zip FROM range(100)")
    return clinic


QI = ("--qi", "age,sex,zip")


def words(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.thorough
def test_a_table_alone(clinic_release: Path, kanon: Callable[..., Ended]) -> None:
    """29 women and 28 men."""
    ended = kanon("measure", clinic_release, "released", *QI, "--threshold", "1/28")
    assert ended.code == 0, ended.err
    text = words(ended.out)
    assert "prosecutor, highest 0.0357" in text
    assert "prosecutor, above 0.03571 0 (0.00%)" in text
    assert "counted 57 rows" in text
    assert "20-49 2 57" in text
    assert re.search(r"ema-0070 0.0900 12 yes", text)
    assert "age + sex + zip 28 0 (0.00%)" in text
    assert "journalist" not in text
    assert "population" not in text
    found = kanon("measure", clinic_release, "released", *QI, "--format", "json").json["risk"]
    assert found["prosecutor"]["average"] == pytest.approx(2 / 57)
    assert found["threshold"]["name"] == "cell-of-five"
    assert found["threshold"]["k"] == 5
    assert found["subsets"]["found"][0]["columns"]
    assert found["journalist"] is None
    assert found["uniqueness"] is None


@pytest.mark.thorough
def test_before_and_after_side_by_side(clinic_release: Path, kanon: Callable[..., Ended]) -> None:
    asked = ("--original", "patients", *QI, "--hierarchy", "zip=flat", "--hierarchy", "age=flat")
    ended = kanon("measure", clinic_release, "released", *asked, "--sampling-fraction", 0.1, "--entity", "id")
    assert ended.code == 0, ended.err
    text = words(ended.out)
    assert "risk original release" in text
    assert "counted 60 people 57 people" in text
    assert "members of the population 600 600" in text
    assert "none by any, release no row of the table is unique" in text
    assert "age + zip" in text
    found = kanon("measure", clinic_release, "released", *asked, "--format", "json").json["risk"]
    assert found.keys() == {"before", "after"}
    assert found["before"]["smallest_class"] == 1
    assert found["after"]["smallest_class"] == 28
    assert [met["met"] for met in found["after"]["thresholds"]] == [True] * 6


@pytest.mark.thorough
def test_people_are_people_and_averages_are_of_records(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    """Ann is alone in three towns and Bob in one; Bob and Cem are together in one more."""
    rows = ["town,who", "1,Ann", "2,Ann", "3,Ann", "3,Ann", "4,Bob", "4,Cem", "5,Bob"]
    (in_tmp / "table.csv").write_text("\n".join(rows) + "\n")
    (in_tmp / "release.csv").write_text("\n".join(["town", *["*"] * 7]) + "\n")
    ended = kanon("measure", "table.csv", "--qi", "town", "--entity", "who")
    assert ended.code == 0, ended.err
    text = words(ended.out)
    assert "counted 3 people, 6 records" in text
    assert "average by record 0.8333" in text
    assert "unique 2 (66.67%)" in text
    assert "classes records" in text
    asked = ("--original", "table.csv", "--qi", "town", "--entity", "who", "--hierarchy", "town=flat")
    ended = kanon("measure", "release.csv", *asked)
    assert ended.code == 0, ended.err
    assert "unique 2 (66.67%) 0 (0.00%)" in words(ended.out)
    found = kanon("measure", "release.csv", *asked, "--format", "json").json["risk"]
    assert (found["before"]["people"], found["before"]["members"], found["after"]["people"]) == (3, 6, 3)


@pytest.mark.thorough
def test_the_population_is_a_table_beside_it_or_a_file(
    clinic_release: Path, kanon: Callable[..., Ended], tmp_path: Path
) -> None:
    with duckdb.connect(str(clinic_release)) as connection:
        connection.execute(f"COPY everybody TO '{tmp_path / 'everybody.csv'}'")
        connection.execute(f"COPY patients TO '{tmp_path / 'patients.parquet'}'")
    for population in (
        ("--population", "everybody"),
        ("--population", tmp_path / "everybody.csv"),
        ("--population", clinic_release, "--population-table", "everybody"),
    ):
        for original in ((), ("--original", "patients"), ("--original", tmp_path / "patients.parquet")):
            hierarchies = ("--hierarchy", "zip=flat", "--hierarchy", "age=flat") if original else ()
            arguments = (*QI, *population, *original, *hierarchies)
            ended = kanon("measure", clinic_release, "released", *arguments, "--format", "json")
            assert ended.code == 0, ended.err
            risk = ended.json["risk"]
            found = risk["after"] if original else risk
            assert found["journalist"]["smallest_class"] == 56
            assert found["journalist"]["average"] == pytest.approx(2 / 114)
            if original:
                assert risk["before"]["journalist"] is None
    shown = kanon("measure", clinic_release, "released", *QI, "--population", "everybody")
    assert "journalist, highest 0.0179" in words(shown.out)


@pytest.mark.thorough
def test_sql_is_what_was_run(clinic_release: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("measure", clinic_release, "released", *QI, "--population", "everybody", "--sql")
    assert ended.code == 0
    for title in (
        "combinations of quasi-identifiers",
        "sizes of the classes",
        "classes of the population",
        "classes of the table in the population",
        "classes by age; sex; zip; age, sex; age, zip; sex, zip; age, sex, zip",
    ):
        assert f"-- {title}\n" in ended.out
    for dialect in ("postgres", "spark"):
        assert kanon("measure", clinic_release, "released", *QI, "--sql", "--dialect", dialect).code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--threshold", "2"), "A threshold is a risk"),
        (("--subsets", "4"), "here 3"),
        (("--entity", "patient"), "no column 'patient' to count people by in released"),
        (("--sampling-fraction", "0"), "sampling fraction"),
        (("--population", "others"), "others does not contain the table: 1 classes"),
        (("--population", "nobody"), "nobody"),
        (("--population-table", "everybody"), "name the population"),
    ],
)
def test_what_is_wrong_is_said(
    clinic_release: Path, kanon: Callable[..., Ended], arguments: tuple[str, ...], said: str
) -> None:
    ended = kanon("measure", clinic_release, "released", *QI, *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.thorough
def test_a_table_without_rows(clinic: Path, kanon: Callable[..., Ended]) -> None:
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE nobody AS FROM patients WHERE false")
    asked = ("--sampling-fraction", 0.5, "--population", "patients")
    ended = kanon("measure", clinic, "nobody", *QI, *asked)
    assert ended.code == 0, ended.err
    found = kanon("measure", clinic, "nobody", *QI, *asked, "--format", "json").json["risk"]
    assert found["prosecutor"]["highest"] is None
    assert found["smallest_class"] is None
    assert found["journalist"]["highest"] is None
    assert found["uniqueness"]["pitman"]["uniques"] is None


@pytest.mark.thorough
def test_no_subsets_and_all_of_them(clinic_release: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("measure", clinic_release, "patients", "--qi", "id,age,sex,zip,disease", "--subsets", 0)
    assert "columns known" not in ended.out
    ended = kanon("measure", clinic_release, "patients", "--qi", "id,age,sex,zip,disease")
    assert "25 subsets of up to 3 columns looked at, 12 shown; 6 larger ones not looked at" in words(ended.out)
    ended = kanon(
        "measure", clinic_release, "patients", "--qi", "id,age,sex,zip,disease", "--subsets", 5, "--format", "json"
    )
    assert len(ended.json["risk"]["subsets"]["found"]) == 31
