"""A dry run says what a real run says, for every destination, and writes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import files_in, tables_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

ASKED = ("--qi", "age,sex,zip", "--id", "name,id", "--sensitive", "disease", "-k", 5, "--max-suppressed", 0.1)


@pytest.mark.parametrize(
    "destination",
    [("--into", "shared"), ("--into", "shared", "--as", "view"), ("--out", "shared.csv"), ("--out", "shared.duckdb")],
    ids=" ".join,
)
def test_a_dry_run_has_all_figures_and_writes_nothing(
    clinic: Path,
    kanon: Callable[..., Ended],
    destination: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fails on 0.1.0: --dry-run was for --in-place only."""
    monkeypatch.chdir(clinic.parent)
    asked = ("anonymize", clinic, "patients", *ASKED, "--seed", 1, *destination)
    before, files, content = tables_of(clinic), files_in(clinic.parent), clinic.read_bytes()
    dry = kanon(*asked, "--dry-run", "--format", "json")
    assert dry.code == 0, dry.err
    assert (tables_of(clinic), files_in(clinic.parent)) == (before, files)
    assert clinic.read_bytes() == content
    text = kanon(*asked, "--dry-run")
    assert "nothing was written" in text.out
    assert "kanon report" not in text.err
    real = kanon(*asked, "--format", "json")
    assert real.code == 0, real.err
    tried, made = json.loads(dry.out), json.loads(real.out)
    assert (tried.pop("dry_run"), made.pop("dry_run")) == (True, False)
    assert tried.keys() == made.keys()
    tried.pop("seconds")
    made.pop("seconds")
    assert tried == made


def test_a_dry_run_refuses_what_a_real_run_would(clinic: Path, kanon: Callable[..., Ended]) -> None:
    taken = kanon("anonymize", clinic, "patients", *ASKED, "--into", "patients", "--dry-run")
    assert taken.code == 2
    nowhere = kanon("anonymize", clinic, "patients", *ASKED, "--dry-run")
    assert nowhere.code == 2
    assert "--into" in nowhere.err


def test_tables_of_the_file_that_may_hold_the_same_values_are_named(clinic: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: nothing said that a copy of the table was left in the file.

    By hand: a copy has all columns, a list of names one that identifies, and visits two quasi-identifiers; a table of
    ages alone, one whose age is a text, and the ledger, have nothing that singles somebody out.
    """
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE backup AS FROM patients")
        connection.execute("CREATE TABLE names AS SELECT name FROM patients")
        connection.execute("CREATE SCHEMA other")
        connection.execute("CREATE TABLE other.visits AS SELECT AGE, zip, 1 AS cost FROM patients")
        connection.execute("CREATE TABLE ages AS SELECT age FROM patients")
        connection.execute("CREATE TABLE labels AS SELECT CAST(age AS VARCHAR) AS age, sex FROM patients")
    asked = ("anonymize", clinic, "patients", *ASKED, "--in-place")
    expected = {
        "backup": ["id", "name", "age", "sex", "zip"],
        "names": ["name"],
        "other.visits": ["age", "zip"],
    }
    dry = kanon(*asked, "--dry-run", "--format", "json")
    assert json.loads(dry.out)["in_place"]["siblings"] == expected
    assert json.loads(dry.out)["dry_run"] is True
    ended = kanon(*asked)
    assert ended.code == 0, ended.err
    said = " ".join(ended.out.split())
    assert "names has columns of the same names and types (name): it may hold the same raw values" in said
    assert "ages has columns" not in said
    assert "Name 1" not in ended.out
