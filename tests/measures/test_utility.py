"""What a release is still good for, against loops over rows and a few lines of numpy; never against our own figures."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import tempfile
from collections import Counter
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import attack_oracle
import brute_force
import numpy as np
import pandas as pd
import pytest
import utility_oracle as oracle
from effort import examples
from engines import PLACES
from hypothesis import assume, given
from hypothesis import strategies as st
from needs import needs
from strategies import TABLE, Case, cases, database_with, load

import kanon_sql as kanon
from kanon_sql.measures.utility import marginals, utility
from kanon_sql.measures.utility.spread import MOST_BINS
from kanon_sql.policy.roles import NamedColumns

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Ended
    from rows import Columns

    from kanon_sql.measures.utility.utility import Utility

EDUCATION = "Bachelors;Higher;*\nMasters;Higher;*\nSchool;Lower;*\nNone;Lower;*\n"


def measured(original: pd.DataFrame, release: pd.DataFrame, hierarchies: dict[str, str], **asked: Any) -> Utility:
    """Return the utility of a release whose quasi-identifiers are those with a hierarchy."""
    found = kanon.measure(
        release, original=original, quasi_identifiers=list(hierarchies), hierarchies=hierarchies, utility=True, **asked
    ).utility
    assert found is not None
    return found


@pytest.fixture
def education(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "education.csv"
    path.write_text(EDUCATION, encoding="utf-8")
    return {"education": str(path)}


@pytest.mark.thorough
def test_by_hand(education: dict[str, str]) -> None:
    """Rows B B B M of sex f f m m, published as Higher with the last row left out.

    Spread evenly, Higher is half B and half M. The cells (B f), (B m), (M f), (M m) have the shares 2/4, 1/4, 0, 1/4
    in the original and 1/3, 1/6, 1/3, 1/6 in the release, where f is two of three rows: they differ by 1/6 + 1/12 + 1/3
    + 1/12 = 2/3. Spread as in the original, Higher is 3/4 B: 1/2, 1/4, 1/6, 1/12, which differ by 1/6 + 1/6.
    """
    needs("sklearn")
    original = pd.DataFrame({"education": ["Bachelors"] * 3 + ["Masters"], "sex": ["f", "f", "m", "m"]})
    release = pd.DataFrame({"education": ["Higher"] * 3, "sex": ["f", "f", "m"]})
    asked: dict[str, Any] = {"target": "sex"}
    even = measured(original, release, education, **asked)
    assert even.columns == ("education", "sex")
    assert even.marginals is not None
    assert (even.marginals.columns_each, even.marginals.possible) == (2, 1)
    assert even.marginals.score == pytest.approx(1000 * (2 - 2 / 3) / 2, abs=1e-5)
    by_marginal = measured(original, release, education, spread="marginal", **asked)
    assert by_marginal.marginals is not None
    assert by_marginal.marginals.score == pytest.approx(1000 * (2 - 1 / 3) / 2, abs=1e-5)


@pytest.mark.thorough
@given(cases(max_rows=15), st.data(), st.sampled_from(["even", "marginal"]))
@examples(60)
def test_marginals_and_queries_are_those_of_loops_over_rows(case: Case, data: st.DataObject, spread: Any) -> None:
    assume(not any(brute_force.root_of(tree) in tree for tree in case.hierarchies))
    levels = [st.sampled_from(range(len(next(iter(tree.values()))) + 1)) for tree in case.hierarchies]
    fixed = [data.draw(level) for level in levels] if data.draw(st.booleans()) else None
    published = [
        tuple(
            brute_force.labels(tree, value)[data.draw(level) if fixed is None else fixed[place]]
            for place, (tree, value, level) in enumerate(zip(case.hierarchies, row, levels, strict=True))
        )
        for row in case.rows
        if data.draw(st.booleans())
    ]
    connection, _ = load(case)
    release = pd.DataFrame({name: [row[n] for row in published] for n, name in enumerate(case.columns)}, dtype="str")
    asked: list[list[tuple[int, int]]] = []
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(utility, "can_learn", lambda: False)
        ranges = marginals.random_ranges
        patch.setattr(marginals, "random_ranges", lambda *given: asked.append(ranges(*given)) or asked[-1])
        connection.register("released_frame", release)
        connection.table("released_frame").create("released")
        found = kanon.measure(
            connection,
            "released",
            original=TABLE,
            quasi_identifiers=case.columns,
            hierarchies=case.write_hierarchies(Path(directory)),
            utility=True,
            spread=spread,
        ).utility
    assert found is not None
    if not published:
        assert found.marginals is found.queries is None
        assert found.missing == ("the release has no rows" if case.rows else "the original has no rows")
        return
    assert found.marginals is not None
    columns = [[row[place] for row in case.rows] for place in range(len(case.columns))]
    covers = [
        attack_oracle.covered(
            own, [row[place] for row in published], lambda value, tree=tree: brute_force.labels(tree, value)
        )
        for place, (own, tree) in enumerate(zip(columns, case.hierarchies, strict=True))
    ]
    weigh = [Counter(own) if spread == "marginal" else Counter(set(own)) for own in columns]
    original: Any = Counter(case.rows)
    released = oracle.spread_rows(published, covers, weigh)
    each = min(3, len(columns))
    expected = {
        tuple(case.columns[place] for place in places): oracle.difference(original, released, places)
        for places in itertools.combinations(range(len(columns)), each)
    }
    assert {one.columns: one.difference for one in found.marginals.found} == pytest.approx(expected, abs=1e-8)
    assert found.marginals.score == pytest.approx(1000 * (2 - fmean(expected.values())) / 2, abs=1e-5)


@pytest.mark.thorough
def test_answers_of_queries_are_those_of_loops_over_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges are recorded, and counted again over the rows: numbers in their order, at least 0.1 % of the rows."""
    drawn = np.random.default_rng(3)
    numbers = {name: [int(n) for n in drawn.integers(0, 9, 200)] for name in ("x", "y", "z")}
    original = pd.DataFrame(numbers)
    groups = {name: {n: {m for m in own if m // 3 == n // 3} for n in set(own)} for name, own in numbers.items()}
    asked: list[list[tuple[int, int]]] = []
    ranges = marginals.random_ranges
    monkeypatch.setattr(marginals, "random_ranges", lambda *given: asked.append(ranges(*given)) or asked[-1])
    monkeypatch.setattr(utility, "can_learn", lambda: False)
    rules = dict.fromkeys(numbers, "intervals:3")
    with kanon.anonymize(original, quasi_identifiers=list(numbers), hierarchies=rules, k=4, max_suppressed=0.1) as made:
        assert made.levels == {"x": 1, "y": 1, "z": 1}
        release = made.to_pandas()
        suppressed = made.rows_suppressed
    found = measured(original, release, rules)
    kept = {(row[0], row[1], row[2]) for row in release.itertuples(index=False)}
    assert len(release) == 200 - suppressed
    labelled = [tuple(f"{n // 3 * 3}-{n // 3 * 3 + 2}" for n in row) for row in original.itertuples(index=False)]
    published = [row for row, labels in zip(original.itertuples(index=False), labelled, strict=True) if labels in kept]
    assert len(published) == len(release)
    covers = [groups[name] for name in numbers]
    weigh = [Counter(set(own)) for own in numbers.values()]
    spread = oracle.spread_rows([tuple(row) for row in published], covers, weigh)
    rows: Any = Counter(map(tuple, original.itertuples(index=False, name=None)))
    order = [sorted(set(own)) for own in numbers.values()]
    errors = []
    for query in asked:
        conditions = {place: set(order[place][low - 1 : high]) for place, (low, high) in enumerate(query)}
        if (true := oracle.answer(rows, conditions)) >= 1:
            errors.append(abs(oracle.answer(spread, conditions) - true) / true)
    assert found.queries is not None
    assert found.queries.queries == 1000
    assert found.queries.median == pytest.approx(median(errors[:1000]), abs=1e-6)
    assert found.queries.ninth_decile == pytest.approx(sorted(errors[:1000])[899], abs=1e-6)


@pytest.mark.thorough
def test_a_release_of_the_original_itself_is_as_good() -> None:
    frame = pd.DataFrame({"a": list("abcd") * 30, "b": [1, 2, None] * 40, "c": ["x", "y"] * 60})
    found = measured(frame, frame, dict.fromkeys("abc", "flat"), target="c")
    assert found.marginals is not None
    assert found.marginals.score == 1000
    assert found.queries is not None
    assert (found.queries.median, found.queries.ninth_decile) == (0, 0)
    assert found.propensity_score is not None
    assert found.propensity_score.logistic == pytest.approx(0, abs=1e-12)
    assert found.propensity_score.tree == pytest.approx(0, abs=1e-12)
    assert found.prediction is not None
    assert found.prediction.from_release == pytest.approx(1)  # c is told by a: b and d have y


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_pmse_is_that_of_newtons_method_and_of_a_plain_tree(seed: int) -> None:
    """The release has values of the original, so that nothing is drawn; its rows are of another distribution."""
    drawn = np.random.default_rng(seed)
    n = 300
    colour = np.array(list("rgb"))[drawn.integers(0, 3, n)]
    size = drawn.normal(size=n) + (colour == "r")
    weight = drawn.normal(size=n) * 3
    original = pd.DataFrame({"colour": colour, "size": size, "weight": weight})
    release = original[(drawn.random(n) < 0.8) & ((size > 0) | (drawn.random(n) < 0.3))]
    found = measured(original, release, dict.fromkeys(original.columns, "flat")).propensity_score
    stacked = pd.concat([original, release])
    labels = np.repeat([0.0, 1.0], [len(original), len(release)])
    columns = [list(stacked[name]) for name in original.columns]
    features = oracle.described(columns, [False, True, True], pairs=True)
    assert found is not None
    assert found.pairs
    assert found.records == len(stacked)
    share = len(release) / len(stacked)
    assert found.highest == pytest.approx(share * (1 - share))
    assert found.logistic == pytest.approx(oracle.pmse(oracle.logistic(features, labels), labels), rel=1e-2)
    # A tree has the colours in an order of its own: with one column of two colours any order is the same.
    two = original.assign(colour=np.where(colour == "r", "r", "g"))
    both = two.loc[release.index]
    found = measured(two, both, dict.fromkeys(two.columns, "flat")).propensity_score
    stacked = pd.concat([two, both])
    known = np.column_stack([stacked.colour == "r", stacked["size"], stacked.weight]).astype(float)
    assert found is not None
    assert found.tree == pytest.approx(oracle.pmse(oracle.tree(known, labels, 5), labels), rel=1e-9)


@pytest.mark.thorough
def test_values_are_drawn_from_what_a_label_covers(education: dict[str, str]) -> None:
    """Of 4,000 rows of Higher half are each value: a model distinguishes them from the original by that."""
    needs("sklearn")
    original = pd.DataFrame({"education": ["Bachelors"] * 3600 + ["Masters"] * 400, "n": range(4000)})
    release = original.assign(education="Higher")
    for spread, likely in (("even", 0.5), ("marginal", 0.9)):
        found = measured(original, release, education, spread=spread).propensity_score
        assert found is not None
        # A record is distinguished by its value alone: 3,600 original Bachelors, and 4,000 times as likely released.
        cells = np.array([[3600, 4000 * likely], [400, 4000 * (1 - likely)]])
        share = cells[:, 1] / cells.sum(axis=1)
        expected = float(np.sum(cells.sum(axis=1) * (share - 0.5) ** 2) / 8000)
        assert found.tree == pytest.approx(expected, abs=0.005)


@pytest.mark.thorough
def test_a_target_is_predicted_by_what_the_release_keeps(education: dict[str, str]) -> None:
    """Who studied earns more, for certain. Where education is suppressed, only the most frequent income is left."""
    drawn = np.random.default_rng(1)
    studied = drawn.random(2000) < 0.3
    kinds = np.where(studied, np.where(drawn.random(2000) < 0.5, "Bachelors", "Masters"), "School")
    original = pd.DataFrame({"education": kinds, "income": np.where(studied, "high", "low")})
    held_out = round(0.25 * 2000)
    grouped = original.assign(education=np.where(studied, "Higher", "Lower"))
    found = measured(original, grouped, education, target="income").prediction
    assert found is not None
    assert (found.tested, found.control) == (held_out, False)
    assert (found.from_original, found.from_release) == (1, 1)
    hidden = original.assign(education="*")
    other = pd.DataFrame({"education": ["School"] * 90 + ["Masters"] * 10, "income": ["low"] * 80 + ["high"] * 20})
    found = measured(original, hidden, education, target="INCOME", control=other).prediction
    assert found is not None
    assert (found.target, found.tested, found.control) == ("income", 100, True)
    # In the control 80 of School are low and 10 high, and 10 of Masters are high.
    assert (found.most_frequent, found.from_original, found.from_release) == (0.8, 0.9, 0.8)
    strangers = pd.DataFrame({"education": ["School", "None"], "income": ["low", "low"]})
    found = measured(original, hidden, education, target="income", control=strangers).prediction
    assert found is not None
    assert (found.tested, found.from_release) == (2, 1)  # the original has no None, and low is the most frequent income


@pytest.mark.thorough
def test_numbers_and_dates_that_the_original_does_not_have_are_predicted_too() -> None:
    """Even days in the original, odd ones in the control; who was born after the middle is one kind."""
    day = pd.Timestamp("2000-01-01")
    for even in (pd.Series(range(0, 400, 2)), day + pd.to_timedelta(pd.Series(range(0, 400, 2)), "D")):
        odd = even + (even[1] - even[0]) // 2
        original = pd.DataFrame({"born": even, "kind": ["x"] * 100 + ["y"] * 100})
        control = pd.DataFrame({"born": odd, "kind": ["x"] * 100 + ["y"] * 100})
        found = measured(original, original, {"born": "flat"}, target="kind", control=control).prediction
        assert found is not None
        assert found.tested == 200
        assert min(found.from_original, found.from_release) > 0.98


@pytest.mark.thorough
def test_a_column_of_many_values_is_put_into_bins_of_like_size() -> None:
    """Each bin has four of 200 values: a release with two of them has half of each bin, and the same marginal."""
    original = pd.DataFrame({"n": [*range(200)] * 2})
    found = measured(original, original[original.n % 4 < 2], {"n": "flat"})
    assert found.marginals is not None
    assert found.marginals.score == 1000
    assert MOST_BINS == 50
    halved = measured(original, original[original.n < 100], {"n": "flat"})
    assert halved.marginals is not None
    assert halved.marginals.score == pytest.approx(500)


@pytest.mark.thorough
def test_a_frequent_value_has_a_bin_of_its_own(tmp_path: Path) -> None:
    """4,900 zeros, 60 values of one row and 40 of four: the others are in 50 bins, so that merging them shows."""
    values = [0] * 4900 + list(range(1, 61)) + [n for n in range(61, 101) for _ in range(4)]
    (tmp_path / "a.csv").write_text("0;zero;*\n" + "".join(f"{n};pos;*\n" for n in range(1, 101)), encoding="utf-8")
    release = pd.DataFrame({"a": ["zero" if n == 0 else "pos" for n in values]})
    found = measured(pd.DataFrame({"a": values}), release, {"a": str(tmp_path / "a.csv")}).marginals
    counts = Counter(n for n in values if n)
    bins: Counter[int] = Counter()
    of_release: Counter[int] = Counter()
    before = 0
    for n in range(1, 101):
        own = 50 * before // 220
        bins[own] += counts[n]
        of_release[own] += 220 / 100  # type: ignore[assignment]  # rows of pos, spread evenly
        before += counts[n]
    apart = sum(abs(bins[own] - of_release[own]) for own in bins) / len(values)
    assert found is not None
    assert apart > 0
    assert found.score == pytest.approx(1000 * (2 - apart) / 2, abs=1e-4)


@pytest.mark.thorough
def test_numbers_beyond_all_measure_and_a_target_alone() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0] * 20, "h": [1e300, 2.5, 7e200, -1e308] * 10, "kind": list("xy") * 20})
    found = measured(frame, frame, {"a": "flat", "h": "flat"}, target="kind")
    assert found.propensity_score is not None
    assert found.propensity_score.tree == pytest.approx(0, abs=1e-12)
    assert found.prediction is not None
    with pytest.raises(kanon.UsageError, match="no other column to predict it from"):
        measured(frame[["kind"]], frame[["kind"]], {"kind": "flat"}, target="kind")


@pytest.mark.thorough
def test_ranges_and_sets_of_mondrian_are_spread_over_what_they_cover() -> None:
    drawn = np.random.default_rng(5)
    original = pd.DataFrame(
        {
            "age": [None if n > 60 else int(n) for n in drawn.integers(20, 63, 300)],
            "town": np.array(list("abcdef"))[drawn.integers(0, 6, 300)],
        }
    ).astype({"age": "Int64"})
    with kanon.anonymize(original, quasi_identifiers=["age", "town"], k=4, algorithm="mondrian", labels="set") as made:
        release = made.to_pandas()
    found = kanon.measure(release, original=original, quasi_identifiers=["age", "town"], utility=True).utility
    ages = [None if pd.isna(age) else int(age) for age in original.age]
    published = [tuple(None if pd.isna(label) else label for label in row) for row in release.itertuples(index=False)]
    covers = []
    for place, values in enumerate((ages, list(original.town))):
        own: dict[Any, set[Any]] = {}
        for label in {row[place] for row in published}:
            meant = attack_oracle.read(label)
            own[label] = {value for value in values if value in meant or str(value) == str(label)}
            if label == "*":
                own[label] = set(values)
        covers.append(own)
    assert any(len(own) > 1 for one in covers for own in one.values())
    weigh = [Counter(set(ages)), Counter(set(original.town))]
    rows: Any = Counter(zip(ages, original.town, strict=True))
    expected = oracle.difference(rows, oracle.spread_rows(published, covers, weigh), [0, 1])
    assert found is not None
    assert found.marginals is not None
    assert [one.difference for one in found.marginals.found] == [pytest.approx(expected, abs=1e-8)]


@pytest.mark.thorough
def test_the_same_tables_have_the_same_figures(education: dict[str, str]) -> None:
    drawn = np.random.default_rng(2)
    kinds = np.array(["Bachelors", "Masters", "School", "None"])[drawn.integers(0, 4, 500)]
    original = pd.DataFrame({"education": kinds, "income": drawn.integers(0, 5, 500)})
    release = original.assign(education=np.where(drawn.random(500) < 0.5, "*", kinds))
    one, other = (measured(original, release, education, target="income") for _ in range(2))
    assert one == other


@pytest.mark.thorough
def test_more_marginals_than_are_looked_at_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utility, "can_learn", lambda: False)
    monkeypatch.setattr(marginals, "MOST_MARGINALS", 7)
    frame = pd.DataFrame({f"c{n}": [n, 1, 2] * 4 for n in range(6)})
    found = measured(frame, frame, dict.fromkeys(frame.columns, "flat")).marginals
    assert found is not None
    assert (len(found.found), found.possible) == (7, 20)
    assert len({one.columns for one in found.found}) == 7


HOSTILE = ["select", 'a"b', "it's; --"]


@pytest.mark.thorough
def test_people_and_sensitive_columns_of_a_policy() -> None:
    """Names that break what splices text; people of several rows; a sensitive column of the policy is compared too."""
    one, other, ill = HOSTILE
    columns: Columns = {
        "person": ("BIGINT", [n // 2 for n in range(40)]),
        one: ("BIGINT", [n // 4 for n in range(40)]),
        other: ("VARCHAR", ["f", "m"] * 20),
        ill: ("VARCHAR", ["flu", None, "gout", "flu"] * 10),
    }
    connection = database_with(columns)
    named = NamedColumns(
        quasi_identifiers=(one, other), sensitive=(ill,), identifying=("person",), entity="person", rest="drop"
    )
    policy = kanon.Policy(columns=named, models=(kanon.KAnonymity(2, entity="person"),))
    with kanon.anonymize(connection, TABLE, policy=policy) as release:
        release.to_table("released")
    found = kanon.measure(connection, "released", original=TABLE, policy=policy, utility=True).utility
    assert found is not None
    assert found.columns == (one, other, ill)
    with kanon.prepare(connection, TABLE, policy=policy) as table:
        (compared,) = table.compare(algorithms=["optimal"], k=[2], utility=True).results
    assert compared.utility == found
    assert connection.execute("SELECT COUNT(*) FROM duckdb_tables() WHERE temporary").fetchone() == (0,)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"target": "b"}, r"target says how utility is measured: add utility=True"),
        ({"spread": "even"}, r"spread says how utility is measured: add utility=True"),
        ({"utility": True, "spread": "odd"}, "even, marginal; not 'odd'"),
        ({"utility": True, "target": "no"}, "no column 'no'"),
        ({"utility": True, "target": "one"}, "'one' has one value only: there is nothing to predict"),
        ({"utility": True, "target": "many"}, "'many' has 120 different values. A target has at most 50"),
        (
            {"utility": True, "target": "rounded"},
            "'rounded' of the release has 1 of 1 different values that the original",
        ),
        ({"utility": True, "target": "gone"}, "no column 'gone'"),
        ({"utility": True, "control": pd.DataFrame({"a": [1]})}, "name the predicted column with target"),
        ({"utility": True, "target": "b", "control": pd.DataFrame({"b": [1]})}, "has no column 'a'"),
        ({"utility": True, "target": "b", "control": pd.DataFrame({"a": ["x"], "b": [1]})}, "cannot be read as BIGINT"),
    ],
)
def test_bad_input(asked: dict[str, Any], said: str) -> None:
    needs("sklearn")
    original = pd.DataFrame(
        {"a": [1, 2] * 60, "b": [0, 1, 1] * 40, "one": 1, "many": range(120), "rounded": [1.5, 2.5] * 60, "gone": 1}
    )
    release = original.drop(columns="gone").assign(rounded=2.0)
    with pytest.raises(kanon.UsageError, match=said):
        kanon.measure(release, original=original, quasi_identifiers=["a"], hierarchies={"a": "flat"}, **asked)


def test_utility_needs_an_original() -> None:
    with pytest.raises(kanon.UsageError, match="name it with original"):
        kanon.measure(pd.DataFrame({"a": [1]}), quasi_identifiers=["a"], utility=True)


@pytest.mark.thorough
def test_without_scikit_learn_the_rest_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utility, "can_learn", lambda: False)
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 2]})
    found = measured(frame, frame, {"a": "flat"})
    assert found.propensity_score is None
    assert found.missing == "needs scikit-learn, which is not here: pip install 'kanon-sql[utility]'"
    assert found.marginals is not None
    with pytest.raises(kanon.UsageError, match=r"kanon-sql\[utility\]"):
        measured(frame, frame, {"a": "flat"}, target="b")


@pytest.fixture
def demo(in_tmp: Path, kanon: Callable[..., Ended]) -> Path:
    kanon("demo", "--rows", 600, "-q")
    return in_tmp / "kanon_demo.duckdb"


ROLES = ["--qi", "birth_date,sex,zip,admission_date", "--entity", "patient_id"]


@pytest.mark.thorough
def test_the_command_says_what_the_library_does(demo: Path, kanon: Callable[..., Ended]) -> None:
    apart = ["--hold-out", "0.2", "--control", "held_out.csv", "--seed", "1"]
    kanon(
        "anonymize",
        demo,
        "admissions",
        *ROLES,
        "--id",
        "name",
        "--keep",
        "department,diagnosis,cost",
        "-k",
        "3",
        *apart,
        "--into",
        "r",
    )
    asked = ["--original", "admissions", *ROLES, "--utility", "--target", "department"]
    found = json.loads(kanon("measure", demo, "r", *asked, "--control", "held_out.csv", "--format", "json").out)
    held_out = len(pd.read_csv("held_out.csv"))
    assert found["rows_in"] == 600 - held_out
    assert found["utility"]["prediction"]["control"] is True
    assert 0 < found["utility"]["prediction"]["tested"] <= held_out
    assert 0 < found["utility"]["marginals"]["score"] < 1000
    args = ["measure", str(demo), "admissions_k5", "--original", "admissions", *ROLES, "--utility"]
    said = kanon(*args, "--target", "department", "--spread", "marginal").out
    assert "each as frequent as in the original" in said
    assert "3-marginals " in said
    assert "pMSE " in said
    assert "--control tests them on others." in said
    assert " of 1000, the mean of 10 marginals; furthest apart: " in said
    ended = kanon(*args[:-1], "--target", "department")
    assert (ended.code, ended.err.startswith("error: --target says how utility is measured: add --utility")) == (
        2,
        True,
    )


@pytest.mark.thorough
def test_compare_shows_and_draws_utility(demo: Path, kanon: Callable[..., Ended], tmp_path: Path) -> None:
    args = ["compare", str(demo), "admissions", *ROLES, "--algorithm", "optimal,local", "-k", "5", "--utility"]
    found = json.loads(kanon(*args, "--format", "json").out)["results"]
    assert all(one["utility"]["marginals"]["score"] > 0 and one["utility"]["prediction"] is None for one in found)
    said = kanon(*args, "--target", "department", "--plot", str(tmp_path / "p.svg")).out
    assert "3-marginals" in said
    assert "Accuracy: department is predicted of 150 rows of the original, which releases have too" in said
    assert "accuracy of department; learned from the original" in (tmp_path / "p.svg").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_report_has_a_section_and_a_sentence(demo: Path) -> None:
    report = kanon.report(
        demo,
        "admissions",
        quasi_identifiers=["birth_date", "sex", "zip"],
        identifying=["name"],
        insensitive=["admission_date", "department"],
        rest="keep",
        entity="patient_id",
        k=5,
        utility=True,
        target="department",
        spread="marginal",
    )
    text = report.to_markdown()
    assert "What the output is still good for" in text
    assert "**By counts of 3 columns at a time, the output scores " in text
    assert "--utility --spread marginal --target department" in text
    assert "each as frequent as in the original" in text
    assert "Counts with" in report.to_html()
    assert report.summary()["utility"]["prediction"]["target"] == "department"


@pytest.mark.thorough
def test_a_table_in_postgresql_has_the_figures_that_it_has_in_duckdb(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    drawn = np.random.default_rng(4)
    columns = {"select": "VARCHAR", "age": "BIGINT", "born": "DATE", "ill": "VARCHAR"}
    rows = [
        (
            [None, "a", "b", "c"][drawn.integers(0, 4)],
            int(drawn.integers(20, 40)),
            dt.date(2000, 1, 1) + dt.timedelta(int(drawn.integers(0, 20))),
            [None, "flu", "cold"][drawn.integers(0, 3)],
        )
        for _ in range(150)
    ]
    named = NamedColumns(quasi_identifiers=("select", "age", "born"), sensitive=("ill",))
    policy = kanon.Policy(
        columns=named,
        models=(kanon.KAnonymity(3),),
        algorithm="local",
        hierarchies={"select": "flat", "age": "intervals:5,10", "born": "date:month"},
        seed=0,
    )
    asked: dict[str, Any] = {"original": "t", "policy": policy, "utility": True, "target": "ill"}

    def figures(source: Any) -> Utility | None:
        with kanon.anonymize(source, "t", policy=policy) as release:
            release.to_table("released")
        return kanon.measure(source, "released", **asked).utility

    with PLACES["postgres"](request, tmp_path) as place:
        place.load("t", columns, rows)
        there = figures(place.source)
    with PLACES["duckdb"](request, tmp_path) as place:
        place.load("t", columns, rows)
        assert figures(place.source) == there
    assert there is not None
    assert there.marginals is not None
    assert there.marginals.score < 1000
