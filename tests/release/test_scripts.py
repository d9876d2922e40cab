"""``--sql``: pasted into a plain DuckDB on the original, the script gives the same release; and nothing was touched."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from conftest import ADULT_QI, files_in
from effort import examples
from hypothesis import given
from needs import needs
from rows import released_records
from strategies import PERSON, TABLE, Case, anonymize, cases, load

import kanon_sql as kanon
from kanon_sql.cli.options.shared import DialectName
from kanon_sql.policy.policy import Destination
from kanon_sql.sql.dialects import DIALECTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

ANONYMIZE = ("--id", "name,id", "--qi", "age,sex,zip", "--sensitive", "disease", "-k", 4, "--max-suppressed", 0.2)


def paste(connection: duckdb.DuckDBPyConnection, script: str) -> list[tuple[Any, ...]]:
    """Run a script as a shell does; return the rows of its last statement."""
    rows: list[tuple[Any, ...]] = []
    for statement in connection.extract_statements(script):
        rows = connection.execute(statement).fetchall()
    return rows


def fingerprint(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "destination", [("--into", "pasted"), ("--into", "pasted", "--as", "view"), ("--out", "pasted.csv")]
)
@pytest.mark.parametrize("prepared", [(), ("age=intervals:10,20", "zip=mask:right:1,2")])
def test_the_pasted_script_gives_the_same_release(
    clinic: Path, in_tmp: Path, kanon: Callable[..., Ended], destination: tuple[str, ...], prepared: tuple[str, ...]
) -> None:
    if prepared:  # hierarchies in the database are joined there; others stand in the script
        assert kanon("hierarchy", "build", clinic, "patients", *prepared).code == 0
    before = fingerprint(clinic)
    script = kanon("anonymize", clinic, "patients", *ANONYMIZE, "--seed", 3, *destination, "--sql")
    assert script.code == 0
    assert fingerprint(clinic) == before
    assert files_in(in_tmp) == {"clinic.duckdb"}
    made = kanon("anonymize", clinic, "patients", *ANONYMIZE, "--seed", 3, "--into", "made", "--format", "json").json
    with duckdb.connect(str(clinic)) as connection:
        checked = paste(connection, script.out)
        assert all(foreign == 0 for _, foreign in checked)  # the last statement verifies the labels
        pasted = "'pasted.csv'" if "--out" in destination else "pasted"
        rows = connection.execute("FROM made").fetchall()
        found = connection.execute(f"FROM {pasted}").fetchall()
        assert [tuple(map(str, row)) for row in found] == [tuple(map(str, row)) for row in rows]
        assert len(found) == made["rows_out"]
        classes = Counter(row[:3] for row in found)
        assert (len(classes), min(classes.values())) == (made["classes"], made["k"])


@pytest.mark.thorough
def test_the_pasted_script_on_adult_from_a_file(adult: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    asked = (adult / "adult.csv", "--qi", ",".join(ADULT_QI), "--rest", "keep", "--hierarchies", adult, "--seed", 1)
    script = kanon("anonymize", *asked, "--out", in_tmp / "pasted.parquet", "--sql")
    made = kanon("anonymize", *asked, "--out", in_tmp / "made.parquet", "--format", "json").json
    with duckdb.connect() as connection:
        paste(connection, script.out)
        found = connection.read_parquet(str(in_tmp / "pasted.parquet")).fetchall()
        assert found == connection.read_parquet(str(in_tmp / "made.parquet")).fetchall()
    classes = Counter(row[:8] for row in found)
    assert len(found) == made["rows_out"]
    assert (len(classes), min(classes.values())) == (made["classes"], made["k"])


@pytest.mark.thorough
@given(cases())
@examples(20)
def test_the_script_of_any_table_stands_alone(case: Case) -> None:
    """Hostile names, NULLs, people: what the script prints is the release, and its own check agrees."""
    connection, person = load(case)
    try:
        release = anonymize(case, connection, person, seed=1)
    except kanon.NoSolutionError:
        return
    with release:
        destination = Destination(into="re\"leased; '")
        script = release.sql(destination=destination)
        expected = released_records(release)
    other, _ = load(case)
    paste(other, script)
    columns = [*case.columns]
    rows = [dict(zip(columns, row, strict=True)) for row in other.table('"re""leased; \'"').fetchall()]
    assert rows == expected
    assert PERSON not in columns
    assert TABLE not in columns


@pytest.mark.thorough
def test_all_statements_are_shown_with_what_they_are_for(clinic: Path, kanon: Callable[..., Ended]) -> None:
    ended = kanon("anonymize", clinic, "patients", *ANONYMIZE, "--into", "pasted", "--sql=all")
    assert ended.code == 0
    shown = ended.out
    for title in (
        "-- test node",
        "-- frequency set of the quasi-identifiers",
        "-- prefix codes of age",
        "-- 1. The release",  # all columns are at their root: no hierarchy is joined
    ):
        assert title in shown
    headings = [line.removeprefix("-- Step ") for line in shown.splitlines() if line.startswith("-- Step ")]
    assert headings == ["open", "gate", "hierarchies", "frequency set", "search", "measure"]
    assert "$mask" not in shown
    everything_ran, script = shown.split("-- The script of the release")
    with duckdb.connect(str(clinic), read_only=True) as connection:
        paste(
            connection, everything_ran
        )  # every statement of a search runs on a database that is open for reading only
    assert "CREATE TABLE pasted" in script


@pytest.mark.parametrize("dialect", [pytest.param("postgres", marks=pytest.mark.thorough), "spark"])
def test_other_dialects_stand_alone(clinic: Path, kanon: Callable[..., Ended], dialect: str) -> None:
    assert kanon("hierarchy", "build", clinic, "patients", "age=intervals:10,20:top=90", "zip=mask:right:1,2").code == 0
    ended = kanon(
        "anonymize", clinic, "patients", *ANONYMIZE, "--into", "pasted", "--seed", 3, "--sql", "--dialect", dialect
    )
    assert ended.code == 0
    assert "kanon.hierarchy" not in ended.out
    assert "hash(" not in ended.out
    if dialect == "postgres":
        # The parser is PostgreSQL's own.
        kinds = [type(statement.stmt).__name__ for statement in needs("pglast").parse_sql(ended.out)]
        assert kinds[-3:] == ["CreateTableAsStmt", "SelectStmt", "SelectStmt"]
    else:
        assert "MATERIALIZED" not in ended.out
        assert "XXHASH64(" in ended.out


def test_dialects_of_the_command_line_are_those_of_the_library() -> None:
    assert DialectName.__args__ == DIALECTS  # type: ignore[attr-defined]  # a Literal has its values there


@pytest.mark.thorough
def test_the_library_shows_what_it_runs() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "b": list("xxyy")})
    with kanon.anonymize(frame, quasi_identifiers=["a", "b"], models=[kanon.KAnonymity(2)]) as release:
        assert "HAVING\n    COUNT(*) < 2" in release.sql()
        assert "HASH_RECORD_EXTENDED" in release.sql("postgres")
        assert "-- test node (" in release.statements_run()
        with pytest.raises(kanon.UsageError, match="no dialect 'oracle'"):
            release.sql("oracle")
