"""The noise has the law that is said, and no answer becomes likelier by one person than epsilon and delta allow.

OpenDP draws from the system's generator, which takes no seed: each test of drawn numbers says how probable it is that
it fails though all is well. That is at most 1e-9 for each of them.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from conftest import REPOSITORY
from effort import count
from needs import needs

needs("opendp")


from kanon_sql import dp
from kanon_sql.dp.contributions import QueriedRows
from kanon_sql.dp.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    above_threshold,
    choice_scale,
    choose,
    law_of,
    with_noise,
)
from kanon_sql.engine.base import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kanon_sql.dp.mechanisms import Law
    from kanon_sql.dp.questions.base import Question

pytestmark = pytest.mark.thorough

DRAWS = 20_000
FAILS = 1e-9
ASKED = QueriedRows(None, "t", (Column("x", "INTEGER"), Column("g", "VARCHAR")), None, 1, (), None)  # type: ignore[arg-type]  # no table is asked


def chance_of_more(statistic: float, degrees: int) -> float:
    """The probability that chi-square with an even number of degrees of freedom is greater: a finite sum."""
    assert degrees % 2 == 0
    half, term, total = statistic / 2, 1.0, 1.0
    for step in range(1, degrees // 2):
        term *= half / step
        total += term
    return math.exp(-half) * total


def require_law(drawn: Counter[Any], probabilities: Mapping[Any, float]) -> None:
    """Pearson's test: cells of at least 20 expected draws, all others together."""
    total = sum(drawn.values())
    cells = [(drawn[value], total * share) for value, share in probabilities.items() if total * share >= 20]
    if len(cells) % 2:  # with the rest as one more cell, the degrees of freedom are even
        pass
    else:
        (one, expected), *cells = cells
        cells[0] = (cells[0][0] + one, cells[0][1] + expected)
    rest = total - sum(n for n, _ in cells), total - sum(expected for _, expected in cells)
    if rest[1] > 1:
        cells.append(rest)
    else:
        assert rest[0] <= 20
        cells = [(cells[0][0] + cells[1][0], cells[0][1] + cells[1][1]), *cells[2:]] if len(cells) % 2 == 0 else cells
    statistic = sum((n - expected) ** 2 / expected for n, expected in cells)
    degrees = len(cells) - 1
    assert chance_of_more(statistic, degrees - degrees % 2) > FAILS


def laplace(value: int, scale: float) -> float:
    """The discrete Laplace law, written down once more."""
    ratio = math.exp(-1 / scale)
    return (1 - ratio) / (1 + ratio) * ratio ** abs(value)


def test_the_chance_of_chi_square_is_that_of_tables() -> None:
    # The 5 % points of chi-square with 2, 10 and 20 degrees of freedom, as every table has them.
    for degrees, point in ((2, 5.991), (10, 18.307), (20, 31.410)):
        assert chance_of_more(point, degrees) == pytest.approx(0.05, abs=1e-4)


@pytest.mark.parametrize("scale", [0.4, 1.0, 2.0, 7.5])
def test_the_law_of_laplace_noise_by_brute_force(scale: float) -> None:
    law = DiscreteLaplace(scale)
    values = range(-600, 601)
    assert law.expected_error == pytest.approx(sum(abs(value) * laplace(value, scale) for value in values))
    for share in (0.5, 0.95, 0.975, 0.999):
        inside = {bound: sum(laplace(value, scale) for value in range(-bound, bound + 1)) for bound in range(120)}
        assert law.within(share) == min(bound for bound, chance in inside.items() if chance >= share - 1e-12)


@pytest.mark.parametrize("scale", [0.4, 1.0, 4.53, 30.0])
def test_the_law_of_gaussian_noise_by_brute_force(scale: float) -> None:
    law = DiscreteGaussian(scale)
    values = range(-700, 701)
    weights = {value: math.exp(-(value**2) / (2 * scale**2)) for value in values}
    total = sum(weights.values())
    assert law.expected_error == pytest.approx(sum(abs(value) * weights[value] for value in values) / total)
    for share in (0.5, 0.95, 0.975):
        bound = law.within(share)
        inside = [sum(weights[value] for value in range(-each, each + 1)) / total for each in (bound - 1, bound)]
        assert inside[1] >= share - 1e-12
        assert bound == 0 or inside[0] < share


def test_a_wide_gaussian_is_normal() -> None:
    law = DiscreteGaussian(1e6)
    assert law.within(0.95) == pytest.approx(1.959964e6, rel=1e-5)
    assert law.expected_error == pytest.approx(1e6 * math.sqrt(2 / math.pi))


@pytest.mark.parametrize(("epsilon", "contribution"), [("0.5", 1), ("1", 1), ("1", 4), ("2.5", 2)])
def test_laplace_noise_is_drawn_from_its_law(epsilon: str, contribution: int) -> None:
    law = law_of("laplace", contribution, Decimal(epsilon), Decimal(0))
    scale = contribution / float(epsilon)
    assert law.scale == pytest.approx(scale)
    drawn = Counter(with_noise([0] * DRAWS, law))
    require_law(drawn, {value: laplace(value, scale) for value in range(-300, 301)})


def test_gaussian_noise_is_drawn_from_its_law() -> None:
    law = law_of("gaussian", 1, Decimal(1), Decimal("1e-6"))
    drawn = Counter(with_noise([0] * DRAWS, law))
    weights = {value: math.exp(-(value**2) / (2 * law.scale**2)) for value in range(-100, 101)}
    require_law(drawn, {value: weight / sum(weights.values()) for value, weight in weights.items()})


@pytest.mark.thorough
def test_answers_are_drawn_from_the_law_that_they_tell() -> None:
    """The whole way from exact numbers to an answer: nothing is rounded, cut or drawn twice on it."""
    drawn: Counter[Any] = Counter()
    for _ in range(DRAWS // 4):
        answer = dp.Count(epsilon=1).answer([(10,)], ASKED)
        drawn[answer.value] += 1
    require_law(drawn, {10 + value: laplace(value, 1.0) for value in range(-60, 61)})
    values: Counter[Any] = Counter()
    histogram = dp.Histogram(column="g", keys=["a", "b"], epsilon="0.5")
    for _ in range(DRAWS // 4):
        found = histogram.answer([("a", 3), ("b", 0), (None, 7)], ASKED).values
        values.update([found["a"] - 3, found["b"], found[None] - 7])
    require_law(values, {value: laplace(value, 2.0) for value in range(-90, 91)})


def permute_and_flip(scores: list[int], scale: float) -> list[float]:
    """The law of permute and flip (McKenna & Sheldon 2020, algorithm 1), over all orders of the candidates."""
    best = max(scores)
    chances = [0.0] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        reached = 1.0
        for each in order:
            heads = math.exp((scores[each] - best) / scale)
            chances[each] += reached * heads / len(orders)
            reached *= 1 - heads
    return chances


@pytest.mark.thorough
@pytest.mark.parametrize("monotone", [False, True])
def test_the_exponential_mechanism_is_drawn_from_its_law(monotone: bool) -> None:
    scores, epsilon = [7, 5, 4, 1, 7], Decimal("0.8")
    scale = choice_scale(2, epsilon, monotone=monotone)
    assert scale == pytest.approx((2 if monotone else 4) / 0.8)
    drawn = Counter(choose(scores, 2, epsilon, monotone=monotone) for _ in range(DRAWS // 2))
    require_law(drawn, dict(enumerate(permute_and_flip(scores, scale))))


@pytest.mark.parametrize(("monotone", "changes"), [(False, (-1, 0, 1)), (True, (0, 1))])
def test_the_exponential_mechanism_keeps_epsilon(monotone: bool, changes: tuple[int, ...]) -> None:
    """By brute force: all changes of all scores that one person can make."""
    from itertools import product

    epsilon = 0.7
    scale = choice_scale(1, Decimal(str(epsilon)), monotone=monotone)
    for scores in ([0, 0, 0], [3, 1, 0], [2, 2, 5]):
        before = permute_and_flip(scores, scale)
        for change in product(changes, repeat=3):
            after = permute_and_flip([score + by for score, by in zip(scores, change, strict=True)], scale)
            for one, other in zip(before, after, strict=True):
                assert one <= math.exp(epsilon) * other * (1 + 1e-9)
                assert other <= math.exp(epsilon) * one * (1 + 1e-9)


def likelier(law: Law, by: int, epsilon: float) -> float:
    """The sum over all answers of what is more probable than e^epsilon times as probable with a count that is off."""
    width = int(law.scale * 40) + by + 10
    values = range(-width - by, width + 1)
    if isinstance(law, DiscreteGaussian):
        weights = {value: math.exp(-(value**2) / (2 * law.scale**2)) for value in values}
        total = math.fsum(weights.values())
        chances = {value: weight / total for value, weight in weights.items()}
    else:
        chances = {value: laplace(value, law.scale) for value in values}
    return math.fsum(
        max(0.0, chance - math.exp(epsilon) * chances.get(value - by, 0.0)) for value, chance in chances.items()
    )


@pytest.mark.parametrize("epsilon", ["0.1", "0.3", "1", "3"])
@pytest.mark.parametrize("contribution", [1, 3])
def test_no_answer_becomes_likelier_than_epsilon_allows(epsilon: str, contribution: int) -> None:
    law = law_of("laplace", contribution, Decimal(epsilon), Decimal(0))
    for by in range(1, contribution + 1):
        assert likelier(law, by, float(epsilon)) <= 1e-12
    assert likelier(law, contribution, float(epsilon) * 0.9) > 0, "no more noise than is needed"


@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "1e-4"), ("1", "1e-6"), ("3", "1e-3")])
def test_gaussian_noise_keeps_epsilon_and_delta(epsilon: str, delta: str) -> None:
    law = law_of("gaussian", 2, Decimal(epsilon), Decimal(delta))
    assert likelier(law, 2, float(epsilon)) <= float(delta)
    assert likelier(law, 1, float(epsilon)) <= float(delta)


@pytest.mark.thorough
@pytest.mark.deeper
@pytest.mark.parametrize(
    ("question", "one", "other", "event"),
    [
        (dp.Count(epsilon=1), [(5,)], [(6,)], lambda answer: answer.value > 5),
        (
            dp.Sum(column="x", bounds=(0, 10), epsilon=1), [(50,)], [(60,)],
            lambda answer: answer.value >= 60,
        ),
        (
            dp.Mean(column="x", bounds=(0, 10), epsilon=1), [(30, 20)], [(40, 20)],
            lambda answer: answer.value > Decimal("6.5"),
        ),
        (
            dp.Histogram(column="g", keys=["a"], epsilon=1), [("a", 4)], [("a", 5)],
            lambda answer: answer.values["a"] > 4,
        ),
    ],
    ids=["count", "sum", "mean", "histogram"],
)  # fmt: skip
def test_drawn_answers_of_neighbours_are_about_as_likely(
    question: Question, one: list[Any], other: list[Any], event: Callable[[Any], bool]
) -> None:
    """The answers themselves, drawn: shares within e^epsilon, but for what Hoeffding's bound leaves to chance."""
    draws = count(2_000, quick=500)
    slack = math.sqrt(math.log(2 / FAILS) / (2 * draws))
    shares = [sum(event(question.answer(rows, ASKED)) for _ in range(draws)) / draws for rows in (one, other)]
    for share, neighbour in (shares, shares[::-1]):
        assert share <= math.e * (neighbour + slack) + slack
    assert shares[1] > shares[0] - 2 * slack


@pytest.mark.parametrize(("contribution", "epsilon", "delta"), [(1, "1", "1e-6"), (2, "0.5", "1e-4"), (3, "2", "0.01")])
def test_a_key_of_one_person_appears_with_a_probability_below_delta(
    contribution: int, epsilon: str, delta: str
) -> None:
    _, law, threshold = above_threshold({}, contribution, Decimal(epsilon), Decimal(delta))
    assert law.scale == pytest.approx(contribution / float(epsilon))

    def appears(rows: int) -> float:
        return math.fsum(laplace(value, law.scale) for value in range(threshold - rows, threshold - rows + 4000))

    # The rows of one person, spread over as many keys as may be, or all in one: the keys are drawn independently.
    for keys in range(1, contribution + 1):
        most = contribution - keys + 1
        missing = math.prod(1 - appears(rows) for rows in (most, *[1] * (keys - 1)))
        assert 1 - missing <= float(delta)


def test_keys_with_many_rows_are_told_and_others_are_not() -> None:
    kept, law, threshold = above_threshold({"many": 10_000, "few": 1}, 1, Decimal(1), Decimal("1e-9"))
    assert threshold < 40
    assert kept.keys() == {"many"}  # but for a probability of 1e-9
    assert abs(kept["many"] - 10_000) <= law.within(1 - FAILS)


def test_what_may_be_spent_is_not_rounded_up() -> None:
    for text in ("0.1", "0.3", "0.7", "1e-5", "123.456"):
        law = law_of("laplace", 3, Decimal(text), Decimal(0))
        assert Fraction(3) / Fraction(law.scale) <= Fraction(text)


def test_nothing_but_opendp_draws() -> None:
    """No module of the package for differential privacy imports another source of chance, or names one in SQL."""
    allowed = {"secrets"}
    for path in sorted((REPOSITORY / "kanon_sql" / "dp").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            name
            for node in ast.walk(tree)
            for name in (
                [each.name for each in node.names]
                if isinstance(node, ast.Import)
                else [f"{node.module}"] + [f"{node.module}.{each.name}" for each in node.names]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        roots = {name.partition(".")[0] for name in imported}
        assert not roots & {"random", "numpy", "uuid", "os.urandom"} - allowed, path
        named = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        named |= {
            node.value.lower()
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        assert not named & {"random", "Rand", "Randn", "urandom", "rand", "setseed", "uuid"}, path
