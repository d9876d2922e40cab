"""Weights of columns: the loss, optima and bounds under weights are those of plain counts that know nothing of them."""

from __future__ import annotations

import json
import random
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from brute_force import all_nodes, evaluate
from effort import is_thorough, seeds_of
from rows import released_rows
from strategies import TABLE, Case, load

import kanon_sql as kanon
from kanon_sql.policy.policy import make_policy, parse_policy, policy_text, rows_allowed
from kanon_sql.search.full_domain import optimal as optimal_module
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.prepare import problem_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from brute_force import Hierarchy, Outcome
    from conftest import Ended

GIVEN = [0, 1, 2, 3, 7, 0.5, "1/3", "12.25", Fraction(5, 3)]
FULL_DOMAIN = ("optimal", "samarati", "incognito")
ALGORITHMS = (*FULL_DOMAIN, "local", "mondrian", "mondrian-plus")


@dataclass(frozen=True)
class Weighed:
    """A random table, and weights of its columns as they are given."""

    case: Case
    given: dict[str, Any]

    @property
    def weights(self) -> list[Fraction]:
        return [Fraction(str(self.given.get(column, 1))) for column in self.case.columns]

    @property
    def allowed(self) -> int:
        return rows_allowed(self.case.max_suppressed, len(self.case.rows))

    def outcomes(self) -> list[Outcome]:
        """Return what each node that suppresses few enough rows does."""
        case = self.case
        every = [
            evaluate(case.rows, case.hierarchies, node, case.k, weights=self.weights)
            for node in all_nodes(case.hierarchies)
        ]
        return [one for one in every if one.suppressed <= self.allowed]

    def measured(self, rows: list[tuple[Any, ...]]) -> dict[str, float]:
        """Return loss and gcp, counted in published rows, and precision; each label stands on one level alone."""
        case, found = self.case, {"loss": Fraction(0), "gcp": Fraction(0), "precision": Fraction(0)}
        for place, (weight, tree) in enumerate(zip(self.weights, case.hierarchies, strict=True)):
            there, height = len(tree), len(next(iter(tree.values())))
            whole = there > 1
            for row in rows:
                label = row[place]
                level = (
                    0 if label in tree else next(iter(own.index(label) + 1 for own in tree.values() if label in own))
                )
                under = sum(label in own for own in tree.values()) if level else 1
                found["loss"] += weight * (Fraction(under - 1, there - 1) if whole else 0)
                found["gcp"] += weight * (Fraction(under, there) if under > 1 else 0)
                found["precision"] += weight * Fraction(level, height)
            suppressed = len(case.rows) - len(rows)
            found["loss"] += suppressed * weight * whole
            found["gcp"] += suppressed * weight * whole
            found["precision"] += suppressed * weight
        cells = len(case.rows) * sum(self.weights)
        means = {name: value / cells for name, value in found.items()}
        return {name: float(1 - mean if name == "precision" else mean) for name, mean in means.items()}


def tree_of(draw: random.Random, column: str) -> Hierarchy:
    """Return a tree of one to three levels over one to seven values; each label stands once in it."""
    height = draw.randint(1, 3)
    tree: Hierarchy = {f"{column}{number}": [] for number in range(draw.randint(1, 7))}
    for level in range(1, height):
        parents: dict[str, str] = {}
        for value, own in tree.items():
            below = own[-1] if own else value
            own.append(parents.setdefault(below, f"{column}-{level}-{draw.randint(0, 2)}"))
    for own in tree.values():
        own.append("*")
    return tree


def weighed(seed: int) -> Weighed:
    draw = random.Random(seed)  # noqa: S311 - the same tables in each run
    columns = ["a", "b", "c", "d"][: draw.randint(1, 4)]
    trees = [tree_of(draw, column) for column in columns]
    rows = [tuple(draw.choice([*tree]) for tree in trees) for _ in range(draw.randint(4, 24))] * draw.randint(1, 2)
    given = {column: draw.choice(GIVEN) for column in columns if draw.random() < 0.8}
    if not any(Fraction(str(given.get(column, 1))) for column in columns):
        given[columns[0]] = 3
    limit = draw.choice([0, 0.1, 0.3, 1])
    return Weighed(Case(columns, rows, trees, draw.randint(1, 4), limit, None), given)


@contextmanager
def prepared(table: Weighed) -> Iterator[kanon.PreparedTable]:
    case = table.case
    connection, _ = load(case)
    with tempfile.TemporaryDirectory() as directory:
        asked: dict[str, Any] = {"quasi_identifiers": case.columns, "k": case.k, "max_suppressed": case.max_suppressed}
        asked |= {"hierarchies": case.write_hierarchies(Path(directory)), "weights": table.given, "seed": 1}
        with kanon.prepare(connection, TABLE, **asked) as found:
            yield found


def tables(whole: int, quick: int) -> Iterator[tuple[Weighed, list[Outcome]]]:
    """Return random tables that have a release, with what each node does that may be one."""
    for seed in seeds_of(whole, quick=quick):
        table = weighed(seed)
        if outcomes := table.outcomes():
            yield table, outcomes


@pytest.mark.deeper
def test_optima_and_measures_are_those_of_brute_force() -> None:
    for number, (table, outcomes) in enumerate(tables(200, 20)):
        least = min(one.loss for one in outcomes)
        lowest = min(sum(one.node) for one in outcomes)
        with prepared(table) as made:
            for algorithm in ALGORITHMS if is_thorough() or number % 5 == 0 else FULL_DOMAIN:
                proves = {"prove": True} if algorithm == "local" and find_spec("highspy") else {}  # of an extra
                release = made.anonymize(algorithm=algorithm, **proves)
                expected = table.measured(released_rows(release, *table.case.columns))
                for name in ("loss", "gcp") if "mondrian" in algorithm else ("loss", "gcp", "precision"):
                    assert release.measures[name] == pytest.approx(expected[name], abs=1e-8), (table, algorithm, name)
                if algorithm in {"optimal", "incognito"}:
                    assert release.optimal
                    assert release.loss == pytest.approx(float(least), abs=1e-12), (table, algorithm)
                    assert release.bound == pytest.approx(float(least), abs=1e-12)
                elif algorithm == "samarati":
                    best = min(one.loss for one in outcomes if sum(one.node) == lowest)
                    assert release.loss == pytest.approx(float(best), abs=1e-12), table
                elif proves:
                    assert release.bound <= min(release.loss, float(least)) + 1e-12, (table, algorithm)


@pytest.mark.deeper
@pytest.mark.parametrize("listable", [optimal_module.LISTABLE, 6])
def test_no_bound_is_above_the_optimum_at_any_time(listable: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a lattice that cannot be listed, too, where sets of columns are proven one by one."""
    monkeypatch.setattr(optimal_module, "LISTABLE", listable)
    for table, outcomes in tables(200, 8):
        with prepared(table) as made:
            problem = problem_of(made.prepared, made.policy)
            evidence = Evidence(problem)
            evidence.require_top()
            told: list[tuple[Any, Any]] = []
            optimal_module.optimal(evidence, lambda _, best, bound, told=told: told.append((best, bound)))
            least = float(min(one.loss for one in outcomes))
            assert problem.objective.value(evidence.the_best()[2]) == pytest.approx(least, abs=1e-12), table
            for best, bound in told:
                assert problem.objective.value(bound) <= least + 1e-12, table
                assert problem.objective.value(best) >= least - 1e-12


def test_equal_weights_change_nothing() -> None:
    table = weighed(3)
    with prepared(table) as made:
        for algorithm in ALGORITHMS:
            found = []
            for given in ({}, dict.fromkeys(table.case.columns, "7/3")):
                release = made.anonymize(algorithm=algorithm, weights=given)
                found.append((release.levels, release.steps, release.measures, released_rows(release)))
            assert found[0] == found[1], algorithm


def test_each_column_keeps_its_own_loss_and_other_measures(clinic: Path) -> None:
    asked: dict[str, Any] = {
        "quasi_identifiers": ["age", "zip"],
        "rest": "drop",
        "k": 3,
        "seed": 1,
        "levels": {"age": 2, "zip": 3},
    }
    asked["max_suppressed"] = 0.9
    with kanon.anonymize(clinic, **asked) as plain, kanon.anonymize(clinic, weights={"zip": 3}, **asked) as weighted:
        assert plain.to_pandas().equals(weighted.to_pandas())
        changed = {name for name, value in plain.measures.items() if weighted.measures[name] != value}
        assert changed == {"loss", "gcp", "precision", "nonuniform_entropy"}


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        ({"city": 1}, "A weight is given for column 'city', which is not a quasi-identifier."),
        ({"age": -1}, "The weight of column 'age' must be a number from 0 on"),
        ({"age": "many"}, "or a fraction such as 1/3. Got 'many'."),
        ({"age": "1/0"}, "The weight of column 'age' must be"),
        ({"age": True}, "The weight of column 'age' must be"),
        ({"age": float("nan")}, "The weight of column 'age' must be"),
        ({"age": "1e999999999"}, "The weight of column 'age' must be"),
        ({"age": 0, "zip": "0.0"}, "The weight of each quasi-identifier is 0: at least one must be above 0."),
    ],
)
def test_wrong_weights_are_refused_in_one_sentence(weights: dict[str, Any], says: str) -> None:
    with pytest.raises(kanon.UsageError) as error:
        make_policy(None, quasi_identifiers=["age", "zip"], weights=weights)
    assert says in str(error.value)


def test_weights_are_written_as_they_are_read() -> None:
    text = '[columns]\nquasi_identifiers = ["age", "sex", "zip"]\n[weights]\nage = 0.5\nsex = "1/3"\nZIP = 3\n'
    policy, destination = parse_policy(text, Path("kanon.toml"))
    assert policy.weights == {"age": Fraction(1, 2), "sex": Fraction(1, 3), "ZIP": Fraction(3)}
    assert parse_policy(policy_text(policy, destination, Path()), Path("kanon.toml")) == (policy, destination)


def test_every_command_says_which_weights_made_the_loss(
    in_tmp: Path, clinic: Path, kanon: Callable[..., Ended]
) -> None:
    named = ("--qi", "age,zip", "--weight", "zip=3", "--weight", "age=1/2")
    asked = (clinic, "patients", *named, "--rest", "drop", "-k", "3", "--seed", "1")
    made = kanon("anonymize", *asked, "--into", "made", "--save-policy", "kanon.toml", "--format", "json")
    assert made.code == 0, made.err
    weights = {"age": "1/2", "zip": 3}
    assert made.json["weights"] == weights
    measured = kanon("measure", clinic, "made", "--original", "patients", *named, "--format", "json").json
    assert measured["weights"] == weights
    assert measured["measures"]["loss"] == pytest.approx(made.json["measures"]["loss"])
    assert "age 1/2, zip 3; 1 for all others" in kanon("measure", "--policy", "kanon.toml").out
    table = kanon(
        "anonymize", "--policy", "kanon.toml", "--weight", "zip=5", "--dry-run", "--ignore-ledger", "--replace"
    )
    assert "age 1/2, zip 5; 1 for all others" in table.out, table.err
    compared = kanon(
        "compare", clinic, "patients", *named, "-k", "3", "--algorithm", "optimal", "--format", "json"
    ).json
    assert compared["weights"] == weights
    assert compared["results"][0]["measures"]["loss"] == pytest.approx(made.json["measures"]["loss"])
    assert "weights: age 1/2, zip 3" in kanon("lattice", clinic, "patients", *named, "-k", "3").out
    assert "-- Weights of what columns lose: age 1/2, zip 3" in kanon("anonymize", *asked, "--sql=all").out
    report = kanon("report", "--policy", "kanon.toml", "--out", "report.json", "--replace")
    assert report.code == 0, report.err
    assert json.loads((in_tmp / "report.json").read_text(encoding="utf-8"))["search"]["weights"] == weights
    assert kanon("anonymize", *asked, "--weight", "zip=x", "--into", "other").code == 2


def test_a_column_of_weight_0_is_free() -> None:
    frame = pd.DataFrame({"age": [*range(40)] * 2, "city": ["A", "B", "C", "D"] * 20})
    asked: dict[str, Any] = {"quasi_identifiers": ["age", "city"], "hierarchies": {"age": "intervals:10"}, "k": 4}
    for algorithm in ALGORITHMS:
        with kanon.anonymize(frame, algorithm=algorithm, weights={"age": 0}, **asked) as release:
            if algorithm != "mondrian":
                assert release.loss == 0, algorithm
        with kanon.anonymize(frame, algorithm=algorithm, weights={"city": 0}, **asked) as release:
            assert release.loss <= 1
