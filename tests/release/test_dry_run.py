"""A dry run says what a real run says, for every destination, and writes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import files_in, tables_of
from needs import needs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

ASKED = ("--qi", "age,sex,zip", "--id", "name,id", "--sensitive", "disease", "-k", 5, "--max-suppressed", 0.1)


@pytest.mark.thorough
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
    assert (tried["ledger"].pop("remembered"), made["ledger"].pop("remembered")) == (False, True)
    tried.pop("seconds")
    made.pop("seconds")
    # Divergences are sums of fractions, whose last digit depends on which thread ends first.
    assert tried.pop("measures") == pytest.approx(made.pop("measures"), rel=1e-12)
    assert tried == made


@pytest.mark.thorough
def test_a_dry_run_refuses_what_a_real_run_would(clinic: Path, kanon: Callable[..., Ended], in_tmp: Path) -> None:
    """Fails on 0.1.0: --dry-run was for --in-place only."""
    taken = kanon("anonymize", clinic, "patients", *ASKED, "--into", "patients", "--dry-run")
    assert taken.code == 2
    nowhere = kanon("anonymize", clinic, "patients", *ASKED, "--dry-run")
    assert nowhere.code == 2
    assert "--into" in nowhere.err
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("ALTER TABLE patients ADD COLUMN dose DOUBLE DEFAULT 'NaN'")
    rest = ("--rest", "keep")
    for destination in (("--out", "shared.json"), ("--into", "shared", "--as", "materialized-view")):
        asked = ("anonymize", clinic, "patients", *ASKED, *rest, *destination)
        dry, real = kanon(*asked, "--dry-run"), kanon(*asked)
        assert (dry.code, real.code) == (2, 2), dry.err
        assert dry.err == real.err
    assert files_in(in_tmp) == {"clinic.duckdb"}


@pytest.mark.thorough
def test_a_dry_run_is_held_against_earlier_releases(clinic: Path, kanon: Callable[..., Ended], in_tmp: Path) -> None:
    """Fails on 0.1.0: --dry-run was for --in-place only.

    By hand: the one of age 200 is suppressed in the first release, and the second one less the first is that one.
    """
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE few AS SELECT 30 AS age, 'flu' AS disease FROM range(20)")
        connection.execute("INSERT INTO few VALUES (200, 'cough')")
    asked = (
        "anonymize",
        clinic,
        "few",
        "--qi",
        "age",
        "--keep",
        "disease",
        "--rest",
        "keep",
        "--count",
        "rows",
        "-k",
        5,
    )
    assert kanon(*asked, "--max-suppressed", 0.1, "--out", in_tmp / "first.csv").code == 0
    for more in ((), ("--time-limit", 60)):
        beside = kanon(*asked, *more, "--max-suppressed", 0, "--into", "second", "--dry-run")
        assert beside.code == 1, beside.err
        assert "among fewer than 5 (1 of them alone)" in " ".join(beside.err.split())
    again = kanon(
        *asked, "--max-suppressed", 0, "--out", in_tmp / "first.csv", "--replace", "--dry-run", "--format", "json"
    )
    assert again.code == 0, again.err
    assert [found["rows_below_k"] for found in json.loads(again.out)["ledger"]["beside_replaced"]] == [1]
    assert "Together with the release that it replaces" in " ".join(again.err.split())
    assert len(json.loads(kanon("ledger", clinic, "--format", "json").out)["releases"]) == 1


@pytest.mark.thorough
def test_a_dry_run_beside_a_table_of_postgresql(postgres: str, kanon: Callable[..., Ended], tmp_path: Path) -> None:
    """Fails on 0.1.0: --dry-run was for --in-place only."""
    psycopg = needs("psycopg")
    schema = "dry_run_of_postgresql"

    def relations(connection: psycopg.Connection) -> list[tuple[str, str]]:
        found = connection.execute(
            "SELECT relnamespace::regnamespace::text, relname FROM pg_class WHERE relnamespace::regnamespace::text "
            "IN (%s, 'kanon', 'public') ORDER BY 1, 2",
            [schema],
        )
        return found.fetchall()

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(
            "CREATE TABLE dry_run_of_postgresql.few AS SELECT 30 AS age, 'flu' AS disease FROM generate_series(1, 20) "
            "UNION ALL SELECT 200, 'cough'"
        )
        try:
            where = ("anonymize", postgres, f"{schema}.few", "--qi", "age", "--keep", "disease", "--count", "rows")
            asked = (*where, "-k", 5, "--into", f"{schema}.shared")
            for kind in ((), ("--as", "view"), ("--as", "materialized-view")):
                before = relations(connection)
                dry = kanon(*asked, *kind, "--max-suppressed", 0.1, "--dry-run", "--format", "json")
                assert dry.code == 0, dry.err
                assert relations(connection) == before
                real = kanon(*asked, *kind, "--max-suppressed", 0.1, "--replace", "--format", "json")
                assert real.code == 0, real.err
                tried, made = json.loads(dry.out), json.loads(real.out)
                assert (tried["rows_suppressed"], tried["k"]) == (made["rows_suppressed"], made["k"]) == (1, 20)
                assert (tried["ledger"]["remembered"], made["ledger"]["remembered"]) == (False, True)
                connection.execute(f"DROP {'TABLE' if not kind else kind[1].replace('-', ' ')} {schema}.shared")
            beside = kanon(*where, "-k", 5, "--max-suppressed", 0, "--into", f"{schema}.other", "--dry-run")
            assert beside.code == 1, beside.err
            assert f"the table {schema}.shared is needed for that, and is gone" in " ".join(beside.err.split())
            written = tmp_path / "few.csv"
            file = kanon(*where, "-k", 5, "--max-suppressed", 0.1, "--out", written, "--dry-run")
            assert file.code == 0, file.err
            assert list(tmp_path.iterdir()) == []
        finally:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")
            connection.execute("DROP SCHEMA IF EXISTS kanon CASCADE")


@pytest.mark.thorough
def test_tables_of_the_file_that_may_hold_the_same_values_are_named(clinic: Path, kanon: Callable[..., Ended]) -> None:
    """Fails on 0.1.0: nothing said that a copy of the table was left in the file.

    By hand: a copy has all columns, a list of names one that identifies, visits two quasi-identifiers, and bills an age
    beside a value that is published; a table of ages alone and the ledger have nothing that singles somebody out. Of
    those under other names or types, three have the values, and the last has others.
    """
    with duckdb.connect(str(clinic)) as connection:
        connection.execute("CREATE TABLE backup AS FROM patients")
        connection.execute("CREATE TABLE names AS SELECT name FROM patients")
        connection.execute("CREATE SCHEMA other")
        connection.execute("CREATE TABLE other.visits AS SELECT AGE, zip, 1 AS cost FROM patients")
        connection.execute("CREATE TABLE bills AS SELECT CAST(age AS BIGINT) AS age, disease, 1 AS cost FROM patients")
        connection.execute("CREATE TABLE renamed AS SELECT age AS years, zip AS place, 1 AS one FROM patients")
        connection.execute("CREATE TABLE as_texts AS SELECT CAST(id AS VARCHAR) AS number FROM patients")
        connection.execute("CREATE TABLE others AS SELECT age + 1 AS years, 'x' || zip AS place FROM patients")
        connection.execute("CREATE TABLE ages AS SELECT age FROM patients")
        connection.execute("CREATE TABLE labels AS SELECT CAST(age AS VARCHAR) AS age, sex FROM patients")
    asked = ("anonymize", clinic, "patients", *ASKED, "--in-place", "--no-backup")
    expected = {
        "backup": ["id", "name", "age", "sex", "zip", "disease"],
        "bills": ["age", "disease"],
        "names": ["name"],
        "other.visits": ["age", "zip"],
    }
    copies = {"as_texts": ["number"], "labels": ["age", "sex"], "renamed": ["years", "place"]}
    dry = kanon(*asked, "--dry-run", "--format", "json")
    assert json.loads(dry.out)["in_place"]["siblings"] == expected
    assert json.loads(dry.out)["in_place"]["copies"] == copies
    assert json.loads(dry.out)["dry_run"] is True
    ended = kanon(*asked)
    assert ended.code == 0, ended.err
    said = " ".join(ended.out.split())
    assert "names has columns of the same names and kinds of types (name): it may hold the same raw values" in said
    assert "renamed holds the same values under other names or types (years, place), and was left as it is" in said
    assert "ages has columns" not in said
    assert "Name 1" not in ended.out
