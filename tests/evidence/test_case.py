"""One case for every judge: the library and the command line open the same tables, and find the same."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import kanon_sql
from kanon_sql.evidence.case import CaseSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

NOT_USED: dict[str, set[str]] = {
    "check": set(),
    "known": {"identifying", "sensitive", "models"},
    "measure": {"identifying", "sensitive"},
    "attack": {"identifying"},
    "risk": {"original", "original_table", "identifying", "sensitive", "hierarchies", "prepare", "k", "models"},
}


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """Return a database with a table and a release of it, where two rows were suppressed."""
    file = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TABLE visits AS SELECT i AS person, i // 10 AS age, i % 3 AS ill FROM range(42) t(i)"
        )
        connection.execute("CREATE TABLE released AS SELECT age, ill FROM visits WHERE age < 4")
    return file


@pytest.mark.parametrize(("judge", "not_used"), NOT_USED.items())
def test_a_judge_takes_the_settings_of_a_case_that_it_uses(judge: str, not_used: set[str]) -> None:
    call = getattr(kanon_sql, judge)
    assert {*CaseSettings.__annotations__} - {*inspect.signature(call).parameters} == not_used
    assert "a connection has settings of its own" in call.__doc__
    for name in ["kee", *not_used]:
        with pytest.raises(TypeError, match=f"no setting '{name}'"):
            call("clinic.duckdb", "released", **{name: 3})


@pytest.mark.parametrize("judge", ["check", "known", "measure", "attack"])
@pytest.mark.parametrize("name", ["rel", "mydb"])
def test_a_database_without_a_suffix_is_not_a_table_beside_its_release(
    judge: str, name: str, tmp_path: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version compared a release with itself if the file of its database had the name of the release."""
    monkeypatch.chdir(tmp_path)
    with duckdb.connect(name) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS pid, i % 4 AS age, i % 3 AS ill FROM range(60) r(i)")
    (tmp_path / "kanon.toml").write_text(
        f'[source]\nfrom = "{name}"\n[columns]\nidentifying = ["pid"]\nquasi_identifiers = ["age"]\nentity = "pid"\n'
        'insensitive = ["ill"]\n[hierarchies]\nage = "flat"\n[release]\ninto = "rel"\n'
    )
    assert kanon("anonymize", "--policy", "kanon.toml").code == 0
    found = json.loads(kanon(judge, "--policy", "kanon.toml", "--format", "json").out)
    assert (found["table"], found["original"]) == ("rel", "t")


@pytest.mark.parametrize("judge", ["check", "known", "measure", "attack"])
@pytest.mark.parametrize("original", [None, "visits"])
def test_command_and_library_find_the_same(
    judge: str, original: str | None, clinic: Path, kanon: Callable[..., Ended]
) -> None:
    options = ["--original", original, "--entity", "person"] if original else []
    ended = kanon(judge, str(clinic), "released", "--qi", "age", "--keep", "ill", "--format", "json", *options)
    given: dict[str, Any] = {"original": original, "entity": "person"} if original else {}
    call = getattr(kanon_sql, judge)
    try:
        found = call(clinic, "released", quasi_identifiers=["age"], insensitive=["ill"], **given).summary()
    except kanon_sql.UsageError:
        assert ended.code == 2
    else:
        assert json.loads(ended.out) == json.loads(json.dumps(found))
