"""One case for every judge: the library and the command line open the same tables, and find the same."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

import kanon_sql

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

JUDGES = ["check", "known", "measure", "attack", "risk"]


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


@pytest.mark.parametrize("judge", JUDGES)
def test_all_judges_take_the_settings_of_a_case(judge: str) -> None:
    call = getattr(kanon_sql, judge)
    assert {"original", "quasi_identifiers", "hierarchies", "policy", "resources"} <= {
        *inspect.signature(call).parameters
    }
    assert "a connection has settings of its own" in call.__doc__
    with pytest.raises(TypeError, match="no setting 'kee'"):
        call("clinic.duckdb", "released", kee=3)


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
