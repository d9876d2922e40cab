"""kanon.toml builds a hierarchy in one line: a table, which becomes the text of a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from each import each

import kanon_sql as kanon
from kanon_sql.policy.policy import read_policy, write_policy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended


@each(
    ("table", "text"),
    [
        ("{ intervals = [5, 10, 20], top = 90 }", "intervals:5,10,20:top=90"),
        ("{ intervals = [0.1, 0.5], bottom = -1.5, origin = 2 }", "intervals:0.1,0.5:bottom=-1.5:origin=2"),
        ("{ intervals = 10 }", "intervals:10"),
        ('{ mask = "right", counts = [1, 2, 4] }', "mask:right:1,2,4"),
        ('{ mask = "left" }', "mask:left"),
        ('{ date = ["month", "year"] }', "date:month,year"),
        ('{ date = "year" }', "date:year"),
        ("{ round = [2, 3] }", "round:2,3"),
        ("{ truncate = [2, 3] }", "truncate:2,3"),
        ("{ flat = true }", "flat"),
        ("{ steps = true, from = 100 }", "steps:from=100"),
        ("{ steps = true }", "steps"),
        ("{ quantiles = [16, 8, 4] }", "quantiles:16,8,4"),
        ("{ prefixes = [3, 1] }", "prefixes:3,1"),
        ("{ prefixes = true }", "prefixes"),
        ('{ ready = "country" }', "ready:country"),
        ('{ file = "f.csv" }', "./f.csv"),
        ('{ file = "flat" }', "./flat"),
        ('{ file = "../trees/t.csv" }', "../trees/t.csv"),
        ('"mask:right:1"', "mask:right:1"),
    ],
)
def test_a_table_is_a_rule(tmp_path: Path, table: str, text: str) -> None:
    path = tmp_path / "kanon.toml"
    for section in (f"[hierarchies]\nx = {table}\n", f"[hierarchies.columns]\nx = {table}\n"):
        path.write_text(section, encoding="utf-8")
        policy, destination = read_policy(path)
        assert policy.hierarchies == {"x": text}
        write_policy(policy, destination, path)
        assert read_policy(path)[0].hierarchies == {"x": text}


@each(
    ("table", "says"),
    [
        ("3", r"hierarchies.x must be a text, or a table such as \{ intervals = \[5, 10\] \}"),
        ("[5, 10]", "hierarchies.x must be a text, or a table"),
        ("{}", "hierarchies.x must say one of intervals, mask, .*; it says nothing of it"),
        ("{ top = 90 }", "it says nothing of it"),
        ("{ intervals = [5], flat = true }", "it says intervals and flat"),
        (
            "{ intervals = [5], tops = 90 }",
            "hierarchies.x has no setting tops. Besides intervals there may be bottom, top",
        ),
        ("{ flat = true, counts = [1] }", "hierarchies.x has no setting counts"),
        ("{ steps = 100 }", "hierarchies.x.steps must be true"),
        ("{ quantiles = true }", "hierarchies.x.quantiles must be a number"),
        ("{ prefixes = false }", "hierarchies.x.prefixes must be a number"),
        ("{ flat = false }", "hierarchies.x.flat must be true"),
        ("{ flat = 1 }", "hierarchies.x.flat must be true"),
        ('{ intervals = ["5"] }', "hierarchies.x.intervals must be a number"),
        ("{ intervals = [5], top = true }", "hierarchies.x.top must be a number"),
        ("{ intervals = [5, 7] }", "hierarchies.x: .*multiple of the one before"),
        ("{ intervals = [inf] }", "hierarchies.x: .*must be finite"),
        ("{ intervals = [] }", "hierarchies.x: .*number is expected"),
        ('{ mask = "middle" }', 'hierarchies.x.mask must be "right" or "left"'),
        ('{ mask = "right", counts = [2, 1] }', "hierarchies.x: .*must rise"),
        ('{ mask = "right", counts = [1.5] }', "hierarchies.x: .*mask is written"),
        ('{ date = ["fortnight"] }', "hierarchies.x: .*date units are"),
        ("{ date = [1] }", "hierarchies.x.date must be a text"),
        ('{ ready = "atlantis" }', "hierarchies.x: .*no ready-made hierarchy"),
        ("{ file = 3 }", "hierarchies.x.file must be a text"),
    ],
)
def test_what_cannot_be_meant_names_the_setting(tmp_path: Path, table: str, says: str) -> None:
    path = tmp_path / "kanon.toml"
    path.write_text(f"[hierarchies]\nx = {table}\n", encoding="utf-8")
    with pytest.raises(kanon.PolicyError, match=says):
        read_policy(path)


@pytest.mark.thorough
def test_a_release_by_tables(clinic: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    (in_tmp / "kanon.toml").write_text(
        '[columns]\nquasi_identifiers = ["age", "zip"]\nrest = "drop"\n'
        '[hierarchies]\nage = { intervals = [10, 20], top = 60 }\n[hierarchies.zip]\nmask = "right"\ncounts = [1, 3]\n',
        encoding="utf-8",
    )
    ended = kanon("anonymize", clinic, "--policy", "kanon.toml", "--out", "r.csv", "--format", "json")
    assert ended.code == 0, ended.err
    assert {column: found["origin"] for column, found in ended.json["hierarchies"].items()} == {
        "age": "intervals:10,20:top=60",
        "zip": "mask:right:1,3",
    }
