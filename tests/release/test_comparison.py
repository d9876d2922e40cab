"""``kanon compare``: the same releases as one by one, side by side, and a picture of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from conftest import ADULT_QI
from needs import needs

import kanon_sql
from kanon_sql.classes.recoding import MONDRIAN
from kanon_sql.evidence.report import comparison_plot
from kanon_sql.policy.algorithms import ALGORITHMS as NAMES
from kanon_sql.policy.algorithms import algorithms_of
from kanon_sql.search import problem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Ended


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [i % 7 for i in range(60)], "b": [i % 5 for i in range(60)], "who": range(60)})


def prepared(frame: pd.DataFrame, **settings: Any) -> kanon_sql.PreparedTable:
    rules = {"a": "intervals:2,4", "b": "intervals:2"}
    return kanon_sql.prepare(frame, quasi_identifiers=["a", "b"], rest="drop", hierarchies=rules, **settings)


@pytest.mark.thorough
@pytest.mark.parametrize("entity", [None, "who"])
def test_a_comparison_has_the_releases_that_are_made_one_by_one(frame: pd.DataFrame, entity: str | None) -> None:
    with prepared(frame, entity=entity) as table:
        ks, limits = [2, 5, 61], ["k rows", 0.5]
        compared = table.compare(k=ks, max_suppressed=limits)
        assert len(compared.results) == len(NAMES) * len(ks) * len(limits)
        for result in compared.results:
            models = (kanon_sql.KAnonymity(result.k, entity=entity),)
            asked = {"algorithm": result.algorithm, "max_suppressed": result.max_suppressed, "models": models}
            if result.k == 61:
                assert result.loss is None
                assert "fewer than 61" in (result.problem or "")
                continue
            release = table.anonymize(**asked)
            sizes = release.to_pandas().value_counts()
            assert (result.loss, result.levels) == (release.loss, release.levels)
            assert (result.classes, result.smallest) == (len(sizes), sizes.min() if len(sizes) else None)
            assert result.rows_suppressed == 60 - sizes.sum()
        losses = [result.loss for result in compared.results if result.loss is not None]
        assert losses == sorted(losses)
        assert len(losses) == len(NAMES) * (len(ks) - 1) * len(limits)


def test_nothing_to_compare_is_refused(frame: pd.DataFrame) -> None:
    with prepared(frame) as table:
        for settings in ({"k": []}, {"max_suppressed": []}, {"algorithms": ["magic"]}, {"max_suppressed": ["some"]}):
            with pytest.raises(kanon_sql.UsageError):
                table.compare(**settings)


@pytest.mark.thorough
def test_all_algorithms_on_adult_agree_where_they_must(adult: Path, in_tmp: Path, kanon: Callable[..., Ended]) -> None:
    found = kanon(
        "compare", adult / "adult.csv", "--qi", ",".join(ADULT_QI[:5]), "--hierarchies", adult, "-k", "5,10",
        "--max-suppressed", "0,0.05", "--plot", "compared.html", "--format", "json",
    ).json  # fmt: skip
    best = {
        (r["k"], r["max_suppressed"]): r["measures"]["loss"] for r in found["results"] if r["algorithm"] == "optimal"
    }
    assert len(best) == 4
    for result in found["results"]:
        assert result["smallest"] >= result["k"]
        if result["algorithm"] in {*algorithms_of("local"), *MONDRIAN}:
            assert result["measures"]["loss"] < best[result["k"], result["max_suppressed"]]
        else:
            assert result["measures"]["loss"] >= best[result["k"], result["max_suppressed"]]
        if result["algorithm"] == "incognito":
            assert result["measures"]["loss"] == best[result["k"], result["max_suppressed"]]
    page = (in_tmp / "compared.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")


@pytest.mark.thorough
@pytest.mark.parametrize(("suffix", "begins"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("html", b"<!doctype html>")])
def test_a_picture_of_each_kind(frame: pd.DataFrame, tmp_path: Path, suffix: str, begins: bytes) -> None:
    path = tmp_path / f"compared.{suffix}"
    with prepared(frame) as table:
        needs("matplotlib")
        comparison_plot.plot(table.compare(k=[2, 5]), path)
    drawn = path.read_bytes()
    assert drawn.startswith(begins)
    if suffix != "png":
        for algorithm in NAMES:
            assert f">{algorithm}<".encode() in drawn


@pytest.mark.thorough
def test_what_cannot_be_drawn(frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with prepared(frame) as table:
        nothing = table.compare(k=[61])
        something = table.compare(k=[2], algorithms=["datafly"])
    needs("matplotlib")
    with pytest.raises(kanon_sql.UsageError, match="nothing to draw"):
        comparison_plot.plot(nothing, tmp_path / "x.svg")
    with pytest.raises(kanon_sql.UsageError, match="not known by its suffix"):
        comparison_plot.plot(something, tmp_path / "x.pdf")
    with pytest.raises(kanon_sql.SourceError, match="does not exist"):
        comparison_plot.plot(something, tmp_path / "no" / "x.svg")
    monkeypatch.setattr(comparison_plot, "find_spec", lambda _: None)
    with pytest.raises(kanon_sql.UsageError, match="pip install"):
        comparison_plot.plot(something, tmp_path / "x.svg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-k", "two"), "whole numbers"),
        (("-k", ","), "empty list"),
        (("-k", "0"), "at least 1"),
        (("--algorithm", "magic"), "algorithm must be optimal"),
        (("--plot", "x.pdf"), "not known by its suffix"),
        (("--plot", "x.svg", "--sql"), "do not go together"),
    ],
)
def test_mistakes(
    in_tmp: Path, frame: pd.DataFrame, kanon: Callable[..., Ended], arguments: tuple[str, ...], says: str
) -> None:
    frame.to_csv(in_tmp / "t.csv", index=False)
    ended = kanon("compare", "t.csv", "--qi", "a,b", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert says in ended.err


@pytest.mark.thorough
def test_a_screen_and_a_script(in_tmp: Path, frame: pd.DataFrame, kanon: Callable[..., Ended]) -> None:
    frame.to_csv(in_tmp / "t.csv", index=False)
    asked = ("compare", "t.csv", "--qi", "a,b", "-k", "2,61", "--algorithm", "optimal,datafly", "--max-suppressed", "0")
    shown = kanon(*asked)
    assert shown.code == 0
    assert "no release" in shown.out
    assert "fewer than 61" in shown.out
    script = kanon(*asked, "--sql")
    assert "-- make the release" in script.out
    assert not {path.name for path in in_tmp.iterdir()} - {"t.csv"}


def test_a_time_limit_is_shared_by_all_releases(frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has an equal share of what is left; what takes no time leaves its share to those after it."""
    limits: list[float] = []

    def refused(_: kanon_sql.PreparedTable, **settings: Any) -> None:
        limits.append(settings["time_limit"])
        raise kanon_sql.NoSolutionError("not this one")

    monkeypatch.setattr(kanon_sql.PreparedTable, "anonymize", refused)
    with prepared(frame) as table:
        table.compare(algorithms=["optimal", "local"], k=[2, 5], time_limit=1_000)
    assert limits == pytest.approx([250, 1_000 / 3, 500, 1_000], rel=0.01)


def test_an_algorithm_that_cannot_list_a_lattice_stops_no_other(
    frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails before: the whole comparison of a table with many columns ended with the first such algorithm."""
    monkeypatch.setattr(problem, "LISTABLE", 3)
    with prepared(frame) as table:
        found = table.compare(algorithms=["incognito", "samarati", "optimal"], k=[3], max_suppressed=[1])
    losses = {result.algorithm: result.loss is not None for result in found.results}
    assert losses == {"incognito": False, "samarati": False, "optimal": True}
    assert all("lists nodes" in (result.problem or "") for result in found.results if result.loss is None)
    optimal = found.results[0]
    assert (optimal.bound, optimal.optimal) == (optimal.value, True)
