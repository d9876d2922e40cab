"""docs/architecture.md: the files that it names exist, and its how-tos work: each changes one file, or adds one.

The package is copied, the files that the page shows are written into the copy, the lines that it shows are inserted,
and the command line is run from there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from conftest import REPOSITORY

from kanon_sql.models.options import model_options
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.release.anonymize import PSEUDONYMS, SEARCH
from kanon_sql.release.publish.publisher import PUBLISH, RECORD
from kanon_sql.release.tables.anonymize import STEPS
from kanon_sql.search.prepare import PREPARE

if TYPE_CHECKING:
    from pathlib import Path

PAGE = REPOSITORY / "docs" / "architecture.md"
BLOCK = re.compile(r"^```(python|diff) file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

ROWS = "age,sex,diagnosis\n" + "".join(
    f"{age},{sex},{'flu' if number % 3 else 'cold'}\n"
    for number, (age, sex) in enumerate((age, sex) for age in (31, 32, 33, 34) for sex in "FM" for _ in range(6))
)
POLICY = """
[columns]
quasi_identifiers = ["age", "sex"]
sensitive = ["diagnosis"]

[hierarchies]
age = "intervals:2,4"

[privacy]
k = 5
others = 2

[search]
algorithm = "round-robin"
choice = "greedy"
"""
RUN = """
import contextlib, io, json, sys
from kanon_sql.cli.main import run
ended = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    ended.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(ended))
"""


def test_every_file_that_the_page_names_exists() -> None:
    text = BLOCK.sub("", PAGE.read_text(encoding="utf-8"))
    named = set(re.findall(r"`((?:kanon_sql|sql|tests)/[\w./*-]*)`", text))
    assert len(named) > 40
    missing = [name for name in named if not any(REPOSITORY.glob(name.rstrip("/")))]
    assert not missing
    rooms = {path.name for path in (REPOSITORY / "kanon_sql").iterdir() if (path / "__init__.py").exists()}
    drawn = set(re.findall(r"^      (\w+)/ ", text, re.MULTILINE))
    assert drawn == rooms
    assert len(rooms) == 14


def test_the_page_lists_the_steps_of_a_release() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    for before, steps, after in (
        ("one table: ", PREPARE, " (`PREPARE` in `kanon_sql/search/prepare.py`), then "),
        ("then ", (*SEARCH, *PSEUDONYMS), " (`SEARCH` and `PSEUDONYMS` in"),
        ("several tables: ", STEPS, " (`STEPS` in"),
        ("then both: ", (*PUBLISH, *RECORD), " (`PUBLISH` and `RECORD` in"),
    ):
        names = dict.fromkeys(step.name for step in steps)
        assert before + ", ".join(f"`{name}`" for name in names) + after in text


def test_the_main_path_has_twelve_functions_that_exist() -> None:
    path = re.findall(r"^    (\w+) +(\w+/[\w/]+\.py) ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(path) == 12
    for name, file in path:
        assert re.search(
            rf"^ *def {name}\(", (REPOSITORY / "kanon_sql" / file).read_text(encoding="utf-8"), re.MULTILINE
        )


def extended_copy(directory: Path) -> Path:
    """Return a copy of the package with what the how-tos add."""
    for name in ("kanon_sql", "sql", "hierarchies"):
        shutil.copytree(REPOSITORY / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
    files = lines = 0
    for kind, file, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        path = directory / file
        if kind == "python":
            assert not path.exists()
            path.write_text(block, encoding="utf-8")
            files += 1
            continue
        before, after = (
            "".join(f"{line[1:]}\n" for line in block.splitlines() if line[0] in signs) for signs in (" -", " +")
        )
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1
        path.write_text(text.replace(before, after), encoding="utf-8")
        lines += 1
    assert (files, lines) == (2, 5)
    return directory


def run_there(copy: Path, work: Path, *commands: list[str]) -> list[tuple[int, str, str]]:
    """Run commands with the copy, in one process, and return their exit codes and what they printed."""
    environment = {**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "200", "NO_COLOR": "1"}
    command = [sys.executable, "-c", RUN, json.dumps(commands)]
    ended = subprocess.run(  # noqa: S603 - our own package
        command, cwd=work, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found: list[tuple[int, str, str]] = [tuple(one) for one in json.loads(ended.stdout)]
    return found


def test_the_changes_of_the_how_tos_fit_the_code(tmp_path: Path) -> None:
    extended_copy(tmp_path / "copy")


@pytest.mark.thorough
def test_a_new_algorithm_and_a_new_model_are_one_file_and_one_line_each(tmp_path: Path) -> None:
    copy, work = extended_copy(tmp_path / "copy"), tmp_path / "work"
    work.mkdir()
    (work / "ward.csv").write_text(ROWS, encoding="utf-8")
    (work / "kanon.toml").write_text(POLICY, encoding="utf-8")
    options = ["--qi", "age,sex", "--sensitive", "diagnosis", "--hierarchy", "age=intervals:2,4", "-k", "5"]
    said = ["--algorithm", "round-robin", "--choice", "greedy", "--others", "diagnosis=3"]
    json_out = ["--format", "json", "-q"]
    listed, by_options, by_file, holds, fails, refused, compared = run_there(
        copy,
        work,
        ["settings"],
        ["anonymize", "ward.csv", *options, *said, "--out", "one.csv", *json_out],
        ["anonymize", "ward.csv", "--policy", "kanon.toml", "--out", "two.csv", *json_out],
        ["check", "one.csv", "--qi", "age,sex", "--sensitive", "diagnosis", "--others", "3", *json_out],
        ["check", "one.csv", "--policy", "kanon.toml", "--others", "9", *json_out],
        ["check", "one.csv", "--qi", "age,sex", "--sensitive", "diagnosis", "--others", "none", *json_out],
        ["compare", "ward.csv", *options[:-2], "-k", "5", "--algorithm", "round-robin,optimal", *json_out],
    )
    assert listed[0] == 0
    assert "round-robin" in listed[1]
    assert "privacy.others" in listed[1]
    assert "M rows of a class have no most frequent value." in listed[1]

    assert (by_options[0], by_file[0]) == (0, 0), by_options[2] + by_file[2]
    made = json.loads(by_options[1])
    assert made["algorithm"] == json.loads(by_file[1])["algorithm"] == "round-robin"
    # A class of 6 rows has 2 or 4 others; 3 need ages of two years, which is the first column's first step.
    assert made["rows_suppressed"] == 0
    assert others(made) == {"required": 3, "measured": 4, "holds": True}
    assert others(json.loads(by_file[1]))["required"] == 2
    assert others(json.loads(by_file[1]))["holds"]

    assert holds[0] == 0, holds[2]
    assert others(json.loads(holds[1])) == {"required": 3, "measured": 4, "holds": True}
    assert fails[0] == 1, fails[2]
    assert others(json.loads(fails[1])) == {"required": 9, "measured": 4, "holds": False}
    assert refused[0] == 2
    assert "--others is written M or COLUMN=M, not 'none'." in refused[2]
    assert compared[0] == 0, compared[2]
    assert {result["algorithm"] for result in json.loads(compared[1])["results"]} == {"round-robin", "optimal"}


@pytest.mark.thorough
def test_a_new_destination_and_a_new_setting_are_one_changed_file_each(tmp_path: Path) -> None:
    copy, work = extended_copy(tmp_path / "copy"), tmp_path / "work"
    work.mkdir()
    (work / "ward.csv").write_text(ROWS + "99,F,flu\n98,M,flu\n", encoding="utf-8")
    (work / "kanon.toml").write_text("[search]\nmost_rows = 2\n", encoding="utf-8")
    command = ["anonymize", "ward.csv", "--qi", "age,sex", "--keep", "diagnosis", "-k", "5", "--replace"]
    command += ["--max-suppressed", "50%", "--format", "json", "-q", "--out", "released.psv"]
    listed, free, by_option, by_key, by_file, refused = run_there(
        copy,
        work,
        ["settings"],
        command,
        [*command, "--most-rows", "1"],
        [*command, "--set", "search.most_rows=1"],
        [*command, "--policy", "kanon.toml"],
        [*command, "--most-rows", "-1"],
    )
    assert "search.most_rows" in listed[1]
    assert [ended[0] for ended in (listed, free, by_option, by_key, by_file, refused)] == [0, 0, 0, 0, 0, 2], by_option
    assert [json.loads(ended[1])["rows_suppressed"] for ended in (free, by_file)] == [2, 2]
    assert json.loads(by_option[1])["rows_suppressed"] == json.loads(by_key[1])["rows_suppressed"] <= 1
    assert "most_rows must be a number of rows, 0 or more. Got -1" in refused[2]
    header, *rows = (work / "released.psv").read_text(encoding="utf-8").splitlines()
    assert header == 'age|"sex"|"diagnosis"'
    (checked,) = run_there(copy, work, ["check", "released.psv", "--qi", "age,sex", "-k", "5", "--format", "json"])
    assert checked[0] == 0, checked[2]
    assert len(rows) == len(ROWS.splitlines()) - 1 + 2 - 2


def others(summary: Any) -> dict[str, Any]:
    """Return what a summary says of the new model."""
    (found,) = [model for model in summary["models"] if model["model"] == "other values"]
    assert (found["letter"], found["sensitive"]) == ("m", "diagnosis")
    return {name: found[name] for name in ("required", "measured", "holds")}


@pytest.mark.parametrize("page", ["models.md", "policy.md"])
def test_pages_name_every_option_of_a_model(page: str) -> None:
    text = (REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    for name, option in model_options().items():
        shown = f"--{name.replace('_', '-')} " if page == "models.md" else name
        assert shown in text
        assert option.variant is None or option.variant.name in text


def test_pages_name_every_algorithm() -> None:
    text = (REPOSITORY / "docs" / "algorithms.md").read_text(encoding="utf-8")
    assert not [name for name in ALGORITHMS if name not in text]
