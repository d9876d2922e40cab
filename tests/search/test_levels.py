"""Levels that are given (``--levels``): each algorithm takes the best of the nodes that have them, listed by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from brute_force import all_nodes, evaluate
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from strategies import Case, anonymize, cases, load

import kanon_sql as kanon
from kanon_sql.cli.main import run
from kanon_sql.policy.algorithms import algorithms_of
from kanon_sql.policy.levels import levels_of
from kanon_sql.policy.policy import rows_allowed

if TYPE_CHECKING:
    from brute_force import Node

FRAME = pd.DataFrame({"age": [30, 31, 44, 47] * 5, "city": ["A", "A", "B", "B"] * 5})
SETTINGS: dict[str, Any] = {"quasi_identifiers": ["age", "city"], "hierarchies": {"age": "intervals:10,20"}, "seed": 1}


@pytest.mark.thorough
@given(cases(max_rows=15), st.data())
@examples(60)
def test_the_best_of_the_allowed_nodes_is_taken(case: Case, data: st.DataObject) -> None:
    connection, person = load(case)
    allowed = rows_allowed(case.max_suppressed, len(case.rows))
    heights = all_nodes(case.hierarchies)[-1]
    ranges = [sorted(data.draw(st.tuples(*[st.integers(0, height)] * 2))) for height in heights]
    levels = {column: f"{low}..{high}" for column, (low, high) in zip(case.columns, ranges, strict=True)}

    def inside(node: Node) -> bool:
        return all(low <= level <= high for level, (low, high) in zip(node, ranges, strict=True))

    outcomes = [
        evaluate(case.rows, case.hierarchies, node, case.k, case.persons) for node in all_nodes(case.hierarchies)
    ]
    good = [one for one in outcomes if inside(one.node) and one.suppressed <= allowed]
    for algorithm in algorithms_of("full-domain"):
        if not good:
            with pytest.raises(kanon.NoSolutionError):
                anonymize(case, connection, person, algorithm=algorithm, levels=levels)
            continue
        with anonymize(case, connection, person, algorithm=algorithm, levels=levels) as release:
            node = tuple(release.levels.values())
            assert inside(node)
            found = evaluate(case.rows, case.hierarchies, node, case.k, case.persons)
            assert release.rows_suppressed == found.suppressed <= allowed
            if algorithm in {"optimal", "incognito"}:
                assert release.optimal
                assert found.loss == min(one.loss for one in good)


@pytest.mark.thorough
def test_one_node_is_taken_as_it_is_given_under_every_measure() -> None:
    for measure in ("loss", "precision", "discernibility", "average_class_size"):
        with kanon.anonymize(FRAME, k=2, levels={"age": 1, "CITY": "1"}, measure=measure, **SETTINGS) as release:
            assert release.levels == {"age": 1, "city": 1}
            assert release.optimal


@pytest.mark.thorough
def test_what_cannot_be_meant_is_refused() -> None:
    def of(**asked: Any) -> None:
        kanon.anonymize(FRAME, k=2, **SETTINGS, **asked).close()

    with pytest.raises(kanon.UsageError, match="'height', which is not a quasi-identifier"):
        of(levels={"height": 1})
    with pytest.raises(kanon.UsageError, match="'age' has levels 0 to 3, not 2\\.\\.7"):
        of(levels={"age": "2..7"})
    with pytest.raises(kanon.UsageError, match="'age' has levels 0 to 3, not 2\\.\\.1"):
        of(levels={"age": "2..1"})
    with pytest.raises(kanon.UnsuitableError, match=r"Levels are for full-domain recoding.*leave levels out"):
        of(levels={"age": 1}, algorithm="local")
    with pytest.raises(kanon.NoSolutionError, match="At the highest levels that levels allows, 20 of the 20 rows"):
        kanon.anonymize(FRAME, k=6, levels={"age": 0}, **SETTINGS)
    for wrong in ("", "..", "1...2", "-1", "x", "1.5", True, 1.5, None):
        with pytest.raises(kanon.UsageError, match="levels of column 'age' are a whole number, or a range"):
            levels_of({"age": wrong})


@pytest.mark.thorough
def test_a_policy_file_the_command_line_and_the_library_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("people.csv", index=False)
    options = "anonymize people.csv --qi age,city --hierarchy age=intervals:10,20 -k 2 --seed 1 --out {}.csv"
    given = [
        *options.format("one").split(),
        "--levels",
        "age=2..",
        "--levels",
        "city=..0",
        "--save-policy",
        "kanon.toml",
    ]
    assert run([*given, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["levels"] == {"age": 2, "city": 0}
    policy, _ = kanon.read_policy(Path("kanon.toml"))
    assert policy.levels == {"age": "2..", "city": "..0"}
    # The command line goes before the file, column by column.
    again = ["anonymize", "--policy", "kanon.toml", "--levels", "AGE=3", "--out", "two.csv", "--format", "json"]
    assert run(again) == 0
    assert json.loads(capsys.readouterr().out)["levels"] == {"age": 3, "city": 0}
    assert run(["anonymize", "--policy", "kanon.toml", "--levels", "age", "--out", "three.csv"]) == 2
    assert "--levels is written COLUMN=LEVEL" in capsys.readouterr().err
