"""What would help a release that loses much: each printed figure is what the command then gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import kanon_sql
from kanon_sql.release import remedies

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended

pytestmark = pytest.mark.usefixtures("in_tmp")

RUN = ["anonymize", "--policy", "kanon.toml", "--dry-run", "--format", "json"]


def table(seed: int) -> pd.DataFrame:
    """Return a table whose columns differ in how much they single out; every third one has several rows of a person."""
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(60, 400))
    columns = {
        "age": draw.integers(18, 90, rows),
        "zip": draw.choice([f"{number:05d}" for number in draw.integers(10_000, 99_999, 40)], rows),
        "sex": draw.choice(["F", "M"], rows),
        "job": draw.choice([f"job {number}" for number in range(int(draw.integers(2, 30)))], rows),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(draw.integers(0, 900, rows), unit="D"),
    }
    kept = draw.permutation([*columns])[: int(draw.integers(3, 6))]
    found = pd.DataFrame({name: columns[name] for name in columns if name in kept})
    return found.assign(person=draw.integers(0, rows // 2, rows)) if seed % 3 == 0 else found


def released(kanon: Callable[..., Ended], *options: str) -> dict[str, object]:
    ended = kanon(*RUN, *options)
    assert ended.code == 0, ended.err
    return ended.json


@pytest.mark.quick(2)
@pytest.mark.parametrize("seed", [*range(9), 11])  # of table 9, no option gains 0.05
def test_each_figure_is_what_the_command_then_gives(
    in_tmp: Path, kanon: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(remedies, "_LEAST_SECONDS", 600.0)
    data = table(seed)
    data.to_csv(in_tmp / "t.csv", index=False)
    known = [word for name in data if name != "person" for word in ("--qi", name)]
    person = ["--entity", "person"] if "person" in data else []
    assert kanon("init", "t.csv", *known, *person).code == 0
    if seed % 2:
        weights = "\n[weights]\n" + "".join(
            f"{name} = {weight}\n" for name, weight in zip(known[1::2], (3, 0.5), strict=False)
        )
        with (in_tmp / "kanon.toml").open("a", encoding="utf-8") as file:
            file.write(weights)
    first = released(kanon, "--algorithm", "optimal", "--max-suppressed", "0")
    monkeypatch.setattr(remedies, "_LEAST_SECONDS", -1.0)  # what follows prints none
    found = first["remedies"]
    assert found
    assert len(found) <= 3
    assert first["remedies_untried"] == []
    assert [one["weakens"] for one in found] == sorted(one["weakens"] for one in found)
    assert not found[0]["weakens"]
    for one in found:
        option, value = one["options"]
        base = {"--algorithm": "optimal", "--max-suppressed": "0"} | {option: value}
        then = released(kanon, *(word for pair in base.items() for word in pair))
        assert then["measures"]["loss"] == pytest.approx(one["loss"])
        assert then["rows_suppressed"] == one["rows_suppressed"]
        assert one["loss"] <= one["instead_of"] - 0.05
        if option != "--id":
            assert one["instead_of"] == pytest.approx(first["measures"]["loss"])
    if person:
        assert "local" not in [one["options"][1] for one in found]


def test_a_view_is_offered_what_it_can_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remedies, "_LEAST_SECONDS", 600.0)
    data = table(5)
    with kanon_sql.anonymize(data, quasi_identifiers=[*data], k=5) as release:
        offered = {one.options[0] for one in remedies.remedies(release).best}
        in_view = {one.options[0] for one in remedies.remedies(release, as_view=True).best}
    assert "--algorithm" in offered
    assert in_view
    assert in_view.isdisjoint({"--algorithm", "--known"})


def test_a_closed_release_says_so() -> None:
    data = table(5)
    with kanon_sql.anonymize(data, quasi_identifiers=[*data], k=5) as release:
        pass
    for work in (release.verify, release.to_pandas, lambda: remedies.remedies(release)):
        with pytest.raises(kanon_sql.UsageError, match="closed"):
            work()
