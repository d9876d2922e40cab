"""Privacy models beyond k: measures against definitions, searches against all nodes, outputs by themselves."""

from __future__ import annotations

import math
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brute_force
import pandas as pd
import plain_models as plain
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from rows import text_columns
from strategies import HOSTILE_NAMES, PERSON, TABLE, Case, cases, database_with, write_hierarchy

import kanon_sql as kanon
from kanon_sql.classes.of_node import node_query
from kanon_sql.models.l_diversity import largest_share
from kanon_sql.search.full_domain import evidence
from kanon_sql.search.prepare import problem_of

if TYPE_CHECKING:
    import duckdb

    from kanon_sql.models.base import PrivacyModel

CLOSE = 1e-9
VALUES = ["a", "b", "c", "d", "it's; --", "", None]
TREE: dict[Any, list[str]] = {
    "a": ["ab", "*"],
    "b": ["ab", "*"],
    "c": ["cd", "*"],
    "d": ["cd", "*"],
    "it's; --": ["rest", "*"],
    "": ["rest", "*"],
    None: ["*", "*"],
}


@dataclass(frozen=True)
class Sick:
    """A case with a sensitive column of texts and one of numbers."""

    case: Case
    names: tuple[str, str]
    texts: list[Any]
    numbers: list[Any]

    def load(self, *, people: bool = False) -> duckdb.DuckDBPyConnection:
        """Put the table into a database."""
        columns = text_columns(self.case.columns, self.case.rows)
        columns |= {self.names[0]: ("VARCHAR", self.texts), self.names[1]: ("INTEGER", self.numbers)}
        if people:
            assert self.case.persons is not None
            columns[PERSON] = "BIGINT", self.case.persons
        return database_with(columns)

    def values_of(self, model: PrivacyModel) -> list[Any]:
        """Return the column that a model is about."""
        return self.texts if model.sensitive == self.names[0] else self.numbers


@st.composite
def sick(draw: st.DrawFn, *, people: bool | None = None) -> Sick:
    """Draw a case with sensitive columns; of few values, so that classes agree and differ."""
    case = draw(cases())
    taken = {name.casefold() for name in case.columns}
    free = [name for name in HOSTILE_NAMES if name.casefold() not in taken]
    names = draw(st.lists(st.sampled_from(free), min_size=2, max_size=2, unique_by=str.casefold))
    several = draw(st.integers(1, len(VALUES)))
    count = len(case.rows)
    texts = draw(st.lists(st.sampled_from(VALUES[-several:]), min_size=count, max_size=count))
    numbers = draw(st.lists(st.sampled_from([None, -3, 0, 5, 7]), min_size=count, max_size=count))
    if people is not None:
        persons = draw(st.lists(st.sampled_from([*range(8), None]), min_size=count, max_size=count)) if people else None
        case = Case(case.columns, case.rows, case.hierarchies, case.k, case.max_suppressed, persons)
    return Sick(case, (names[0], names[1]), texts, numbers)


def models(names: tuple[str, str]) -> list[PrivacyModel]:
    """Return every model of a sensitive column, with thresholds that now hold and now do not."""
    text, number = names
    return [
        kanon.DistinctLDiversity(l=2, sensitive=text),
        kanon.DistinctLDiversity(l=3, sensitive=number),
        kanon.EntropyLDiversity(l=1.8, sensitive=text),
        kanon.EntropyLDiversity(l=2, sensitive=number),
        kanon.RecursiveCLDiversity(c=2, l=2, sensitive=text),
        kanon.RecursiveCLDiversity(c=3, l=3, sensitive=number),
        kanon.AlphaKAnonymity(alpha=0.5, sensitive=text),
        kanon.AlphaKAnonymity(alpha=0.7, sensitive=number),
        kanon.TCloseness(t=0.3, distance="equal", sensitive=text),
        kanon.TCloseness(t=0.25, distance="ordered", sensitive=number),
        kanon.TCloseness(t=0.2, distance="hierarchical", sensitive=text),
        kanon.BasicBetaLikeness(beta=1, sensitive=text),
        kanon.EnhancedBetaLikeness(beta=0.9, sensitive=number),
        kanon.DeltaDisclosure(delta=1, sensitive=text),
    ]


def measured(model: PrivacyModel, own: list[Any], whole: list[Any]) -> float:  # noqa: C901, PLR0911 - a table of definitions
    """Return the measure of a class by its definition."""
    match model:
        case kanon.DistinctLDiversity():
            return plain.distinct(own, whole)
        case kanon.EntropyLDiversity():
            return plain.entropy(own, whole)
        case kanon.RecursiveCLDiversity():
            return plain.recursive(own, model.l)
        case kanon.AlphaKAnonymity():
            return float(plain.alpha(own, whole))
        case kanon.TCloseness(distance="equal"):
            return float(plain.equal_distance(own, whole))
        case kanon.TCloseness(distance="ordered"):
            return float(plain.ordered_distance(own, whole))
        case kanon.TCloseness():
            return float(plain.hierarchical_distance(own, whole, TREE))
        case kanon.EnhancedBetaLikeness():
            gain = float(plain.basic_beta(own, whole))
            return gain if plain.enhanced_beta(own, whole, math.inf) else math.inf
        case kanon.BasicBetaLikeness():
            return float(plain.basic_beta(own, whole))
        case kanon.DeltaDisclosure():
            return plain.delta_disclosure(own, whole)
    raise AssertionError(model)


def holds(model: PrivacyModel, own: list[Any], whole: list[Any]) -> bool:
    """Tell whether a class satisfies a model, by its definition; on the threshold as the package judges it."""
    found = measured(model, own, whole)
    match model:
        case kanon.DistinctLDiversity() | kanon.EntropyLDiversity():
            return found >= model.required - CLOSE
        case kanon.RecursiveCLDiversity() | kanon.DeltaDisclosure():
            return found < model.required - CLOSE
    return found <= model.required + CLOSE


def largest_is_worst(model: PrivacyModel) -> bool:
    return not isinstance(model, kanon.DistinctLDiversity | kanon.EntropyLDiversity)


def with_tree(one: Sick, directory: str) -> dict[str, str]:
    """Write the hierarchies of a case, and that of its sensitive texts."""
    paths = one.case.write_hierarchies(Path(directory))
    tree = Path(directory) / "tree.csv"
    write_hierarchy(tree, TREE)
    return {**paths, one.names[0]: str(tree)}


@given(sick())
@examples(12, quick=2)
def test_check_measures_every_model_by_its_definition(one: Sick) -> None:
    asked = models(one.names)
    with tempfile.TemporaryDirectory() as directory:
        tree = {one.names[0]: with_tree(one, directory)[one.names[0]]}
        found = kanon.check(one.load(), TABLE, quasi_identifiers=one.case.columns, models=asked, hierarchies=tree)
    classes: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(one.case.rows):
        classes[row].append(number)
    for model, result in zip(asked, found.models, strict=True):
        whole = one.values_of(model)
        each = [measured(model, [whole[number] for number in numbers], whole) for numbers in classes.values()]
        if not each:
            assert (result.measured, result.holds) == (None, True)
            continue
        worst = max(each) if largest_is_worst(model) else min(each)
        assert result.measured == pytest.approx(worst, abs=CLOSE), model
        assert result.holds == all(
            holds(model, [whole[number] for number in numbers], whole) for numbers in classes.values()
        ), model


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(14))
@given(one=sick(people=False), joining=st.sampled_from([2, 100]))
@examples(6)
def test_the_search_finds_what_looking_at_all_nodes_finds(number: int, one: Sick, joining: int) -> None:
    model, case = models(one.names)[number], one.case
    whole = one.values_of(model)

    def satisfies(numbers: list[int]) -> bool:
        return holds(model, [whole[number] for number in numbers], whole)

    # An empty table is no release of one that has rows.
    allowed = min(int(case.max_suppressed * len(case.rows) + CLOSE), max(0, len(case.rows) - 1))
    best = brute_force.best(case.rows, case.hierarchies, case.k, allowed, None, satisfies)
    with tempfile.TemporaryDirectory() as directory:
        asked = {
            "quasi_identifiers": case.columns,
            "sensitive": list(one.names),
            "models": [kanon.KAnonymity(case.k), model],
            "hierarchies": _needed(one, model, with_tree(one, directory)),
            "max_suppressed": case.max_suppressed,
            "choice": "greedy",
        }
        algorithms = ["optimal"] if allowed and not model.monotone else ["optimal", "incognito", "samarati"]
        for algorithm in algorithms:
            try:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(evidence, "MOST_TOGETHER", joining)  # nodes are tested together, or one by one
                    release = kanon.anonymize(one.load(), TABLE, algorithm=algorithm, **asked)
                with release:
                    assert release.verify().models[1].holds
                    if algorithm != "samarati":
                        assert best is not None
                        assert release.loss == pytest.approx(float(best.loss), abs=CLOSE)
            except kanon.NoSolutionError:
                # Where the whole table fails a monotone model, it is refused however much may be suppressed.
                assert best is None or (model.monotone and case.rows) or len(case.rows) < case.k
        if len(algorithms) == 1:
            for algorithm in ("incognito", "samarati", "samarati-first"):
                with pytest.raises((kanon.UsageError, kanon.NoSolutionError)):
                    kanon.anonymize(one.load(), TABLE, algorithm=algorithm, **asked)


def _needed(one: Sick, model: PrivacyModel, paths: dict[str, str]) -> dict[str, str]:
    """Leave the sensitive tree out where nobody asks for it: then it is refused."""
    if getattr(model, "distance", None) == "hierarchical":
        return paths
    return {name: path for name, path in paths.items() if name != one.names[0]}


@given(sick(people=False), st.data())
@examples(12)
def test_no_node_below_publishes_more_than_a_node_says(one: Sick, data: st.DataObject) -> None:
    case = one.case
    model = data.draw(st.sampled_from([model for model in models(one.names) if not model.monotone]))
    other = data.draw(st.sampled_from(models(one.names)))
    with tempfile.TemporaryDirectory() as directory:
        policy = kanon.Policy(
            columns=kanon.NamedColumns(quasi_identifiers=tuple(case.columns), sensitive=one.names),
            models=(
                kanon.KAnonymity(case.k),
                model,
                other,
                kanon.TCloseness(t=1, distance="hierarchical", sensitive=one.names[0]),
            ),
            hierarchies=with_tree(one, directory),
            choice="greedy",
        )
        prepared = kanon.prepare(one.load(), TABLE, policy=policy)
    with prepared:
        problem = problem_of(prepared.prepared, policy)
        frequency = problem.frequency
        node = data.draw(st.sampled_from(brute_force.all_nodes(case.hierarchies)))
        below = tuple(data.draw(st.integers(0, level)) for level in node)

        def test(at: tuple[int, ...]) -> tuple[int, ...]:
            return frequency.engine.row(node_query(frequency.relation, frequency.masks(at), problem.models))

        _, suppressed, least = test(node)
        assert least <= suppressed
        assert least <= test(below)[1]


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("algorithm", "settings_of"),
    [
        *(
            (algorithm, {"choice": "greedy", **more})
            for algorithm, more in [
                ("local", {}),
                ("spolg", {}),
                ("datafly", {}),
                ("mondrian", {}),
                ("mondrian", {"labels": "set"}),
                ("mondrian", {"cut": "node"}),
                ("mondrian-plus", {"labels": "set"}),
                ("mondrian-plus", {"pairs": 1}),
            ]
        ),
        ("mondrian", {}),
        ("mondrian", {"labels": "set"}),
        ("mondrian", {"cut": "node"}),
        ("mondrian-plus", {}),
        ("mondrian-plus", {"pairs": 1}),
    ],
)
@given(one=sick(), data=st.data())
@examples(8)
def test_what_other_algorithms_publish_satisfies_the_models(
    algorithm: str, settings_of: dict[str, Any], one: Sick, data: st.DataObject
) -> None:
    case = one.case
    asked = data.draw(st.lists(st.sampled_from(models(one.names)), min_size=1, max_size=3, unique_by=id))
    with tempfile.TemporaryDirectory() as directory:
        paths = with_tree(one, directory)
        if not any(getattr(model, "distance", None) == "hierarchical" for model in asked):
            del paths[one.names[0]]
        person = None if case.persons is None else PERSON
        try:
            release = kanon.anonymize(
                one.load(people=person is not None),
                TABLE,
                quasi_identifiers=case.columns,
                sensitive=list(one.names),
                models=[kanon.KAnonymity(case.k, entity=person), *asked],
                hierarchies=paths,
                max_suppressed=case.max_suppressed,
                algorithm=algorithm,
                **settings_of,
            )
        except kanon.NoSolutionError:
            return
    with release:
        rows = release.to_pandas()
        assert len(rows) == release.rows_out
    classes: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for number, label in enumerate(rows[case.columns].itertuples(index=False)):
        classes[tuple(str(cell) for cell in label)].append(number)
    for model in asked:
        published = [None if pd.isna(cell) else cell for cell in rows[model.sensitive]]
        for numbers in classes.values():
            assert holds(model, [published[number] for number in numbers], one.values_of(model)), (model, len(numbers))


@pytest.mark.parametrize("values", [1, 2, 3, 10])
@pytest.mark.parametrize("least", [0.5, 1.0, 1.5, 2.0, 3.0])
def test_the_largest_share_is_where_the_entropy_ends(values: int, least: float) -> None:
    """The other values are as even as they can be; with l = 1 or less, one value may have every row."""

    def entropy(share: float) -> float:
        others = [(1 - share) / (values - 1)] * (values - 1) if values > 1 else []
        return -sum(one * math.log(one) for one in (share, *others) if one > 0)

    found = largest_share(least, values)
    if least <= 1:
        assert found == 1.0
    elif least <= values:
        assert entropy(found) == pytest.approx(math.log(least), abs=1e-9)
        assert values * found >= 1 - 1e-9
