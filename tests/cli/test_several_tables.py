"""``kanon anonymize`` and ``kanon check`` with a policy of several tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.support.hospital import make_hospital

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cli import Ended

POLICY = """
[source]
from = "clinic.duckdb"

[privacy]
k = 5

[search]
max_suppressed = 0.5

[release]
into_schema = "released"

[tables.patients]
rows = "people"
person = "patient_id"
identifying = ["name"]
quasi_identifiers = ["birth_date", "sex", "zip"]
hierarchies = { birth_date = "date:year,decade", zip = "mask:right:2,5", sex = "flat" }

[tables.visits]
person = "patient_id"
key = "visit_id"
quasi_identifiers = ["admission_date", "ward"]
sensitive = ["diagnosis"]
hierarchies = { admission_date = "date:year", ward = "flat" }

[tables.results]
person = { through = "visit_id", to = "visits" }
quasi_identifiers = ["test"]
rest = "drop"
hierarchies = { test = "flat" }

[tables.prescriptions]
rows = "dropped"

[tables.drugs]
rows = "kept"
"""


@pytest.fixture
def clinic(in_tmp: Path) -> Path:
    (in_tmp / "clinic.toml").write_text(POLICY, encoding="utf-8")
    return make_hospital(in_tmp / "clinic.duckdb", 200)


@pytest.mark.usefixtures("clinic")
def test_the_file_is_enough(kanon: Callable[..., Ended]) -> None:
    made = kanon("anonymize", "--policy", "clinic.toml", "--format", "json")
    assert made.code == 0, made.err
    summary = json.loads(made.out)
    assert summary["destination"] == "released"
    assert summary["verification"]["holds"]
    assert [one["name"] for one in summary["tables"]] == ["patients", "visits", "results", "drugs"]
    checked = kanon("check", "--policy", "clinic.toml")
    assert checked.code == 0
    assert "keep the promise" in checked.out


def test_a_dry_run_and_sql_change_nothing(clinic: Path, kanon: Callable[..., Ended]) -> None:
    before = clinic.read_bytes()
    tried = kanon("anonymize", "--policy", "clinic.toml", "--dry-run")
    assert (tried.code, "written nowhere" in tried.out) == (0, True)
    printed = kanon("anonymize", "--policy", "clinic.toml", "--sql")
    assert "CREATE TABLE released.visits AS" in printed.out
    assert clinic.read_bytes() == before


@pytest.mark.usefixtures("clinic")
def test_raw_tables_do_not_keep_the_promise(kanon: Callable[..., Ended]) -> None:
    ended = kanon("check", "clinic.duckdb", "--policy", "clinic.toml", "--schema", "main")
    assert ended.code == 1
    assert "DOES NOT HOLD" in ended.out
    assert "patients.name: an identifying column" in ended.out


@pytest.mark.usefixtures("clinic")
def test_command_line_goes_before_the_file(in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    made = kanon("anonymize", "--policy", "clinic.toml", "-k", "9", "--out-dir", "files", "--file-format", "parquet")
    assert made.code == 0, made.err
    assert {path.name for path in (in_tmp / "files").iterdir()} == {
        f"{name}.parquet" for name in ("patients", "visits", "results", "drugs")
    }
    assert "k = 9 holds" in made.out
    with duckdb.connect("clinic.duckdb", read_only=True) as connection:
        schemas = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'released'").fetchone()
    assert schemas == (0,)


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("anonymize", "--policy", "clinic.toml", "--qi", "zip"), "--qi is not for a policy of several tables"),
        (("anonymize", "--policy", "clinic.toml", "--into", "x"), "--into is not for a policy of several tables"),
        (("anonymize", "--policy", "clinic.toml", "--out", "x.duckdb", "--out-dir", "x"), "one place"),
        (("anonymize", "clinic.duckdb", "patients", "--into-schema", "x"), "--into-schema is for a policy of several"),
        (("check", "clinic.duckdb", "patients", "--schema", "x"), "--schema is for a policy of several tables"),
        (("check", "--policy", "clinic.toml", "--schema", "nothing"), "has no table 'patients'"),
        (("measure", "clinic.duckdb", "patients", "--policy", "clinic.toml"), "policy of several tables"),
        (("anonymize", "--policy", "clinic.toml", "--into-schema", "main"), "that are to be anonymized"),
    ],
)
def test_refused(kanon: Callable[..., Ended], arguments: tuple[str, ...], message: str) -> None:
    ended = kanon(*arguments)
    assert ended.code == 2, ended.err
    assert message in " ".join(ended.err.split())
