"""What is installed: a wheel with its SQL and hierarchies inside, and an import that costs next to nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import REPOSITORY

import kanon_sql as kanon

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    subprocess.run(  # noqa: S603 - builds this repository
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(directory), str(REPOSITORY)],
        check=True,
        capture_output=True,
    )
    (path,) = directory.glob("*.whl")
    return path


@pytest.mark.thorough
def test_the_wheel_has_sql_hierarchies_licence_and_types_inside(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("sql", "hierarchies"):
        files = [path for path in (REPOSITORY / folder).rglob("*") if path.is_file()]
        shipped = {f"kanon_sql/_data/{path.relative_to(REPOSITORY)}" for path in files}
        assert shipped <= names
    templates = {path.name for path in (REPOSITORY / "kanon_sql/evidence/report/templates").iterdir()}
    assert {"report.j2", "html.j2", "markdown.j2", "report.css"} <= templates
    assert {f"kanon_sql/evidence/report/templates/{name}" for name in templates} <= names
    assert "kanon_sql/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("tests/", "benchmarks/")) for name in names)


@pytest.mark.thorough
def test_the_wheel_works_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    """Unpacked elsewhere, with nothing of the repository on the path: SQL and hierarchies come out of the wheel."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    code = (
        "import kanon_sql, sys; assert 'installed' in kanon_sql.__file__, kanon_sql.__file__\n"
        "from kanon_sql.cli.main import run\n"
        "sys.exit(run(['demo', '--rows', '300', '-k', '2', '-q']) or run(['hierarchy', 'show', 'ready:us_state']))"
    )
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    with duckdb.connect(str(tmp_path / "kanon_demo.duckdb"), read_only=True) as connection:
        assert connection.table("admissions").aggregate("count(*)").fetchall() == [(300,)]


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = (
        "import sys, kanon_sql\n"
        "heavy = {'duckdb', 'sqlglot', 'pandas', 'numpy', 'polars', 'pyarrow', 'typer', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "kanon_sql.anonymize\n"
        "assert not {'pandas', 'numpy', 'polars', 'pyarrow', 'typer', 'rich'} & set(sys.modules), sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own program


def test_every_public_name_is_there() -> None:
    for name in kanon.__all__:
        assert getattr(kanon, name) is not None
    assert set(dir(kanon)) >= set(kanon.__all__)
    with pytest.raises(AttributeError, match="no attribute 'anonymise'"):
        kanon.anonymise  # noqa: B018 - the access is the test


def test_no_room_has_the_name_of_a_public_function() -> None:
    """A package that is imported becomes an attribute of kanon_sql, and would hide the function."""
    rooms = {path.parent.name for path in (REPOSITORY / "kanon_sql").glob("*/__init__.py")}
    assert rooms & set(kanon.__all__) == {"dp"}
