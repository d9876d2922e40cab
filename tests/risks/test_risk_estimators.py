"""How many are unique in a population, estimated from a sample: against literal definitions, and against the truth."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

import duckdb
import pytest
from conftest import ADULT_QI
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql.risks.estimators import pitman as pitman_model
from kanon_sql.risks.estimators import snb as snb_model
from kanon_sql.risks.estimators.estimate import Sample, log_gamma_ratio, sum_of_reciprocals
from kanon_sql.risks.estimators.pitman import PitmanFit, expected_uniques
from kanon_sql.risks.estimators.uniqueness import Uniqueness, chances_of_one, population_uniqueness, zayatz

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HISTOGRAMS = st.dictionaries(st.integers(1, 30), st.integers(1, 40), min_size=1, max_size=8)
"""Classes by their size."""


@given(st.fractions(Fraction(1, 1000), 1000), st.integers(0, 300))
def test_a_sum_of_reciprocals_is_that_sum(start: Fraction, count: int) -> None:
    expected = sum((1 / (start + place) for place in range(count)), Fraction(0))
    assert sum_of_reciprocals(float(start), count) == pytest.approx(float(expected), rel=1e-12)


def test_a_sum_of_reciprocals_keeps_its_digits_where_it_is_tiny() -> None:
    start, count = 10**15, 1000
    expected = sum(Fraction(1, start + place) for place in range(count))
    assert sum_of_reciprocals(float(start), count) == pytest.approx(float(expected), rel=1e-12)


@given(st.fractions(Fraction(1, 1000), 10**9), st.integers(0, 5))
def test_a_ratio_of_gamma_functions_is_a_product_for_whole_steps(start: Fraction, step: int) -> None:
    product = math.prod((start + place for place in range(step)), start=Fraction(1))
    assert log_gamma_ratio(float(start), step) == pytest.approx(math.log(product), rel=1e-9, abs=1e-9)


@given(st.floats(1e-3, 1e12), st.floats(0, 1))
def test_steps_between_whole_numbers_add_up(start: float, step: float) -> None:
    there_and_on = log_gamma_ratio(start, step) + log_gamma_ratio(start + step, 1 - step)
    assert there_and_on == pytest.approx(math.log(start), rel=1e-9, abs=1e-9)


# Zayatz


def one_of(size: int, population: int, drawn: int) -> Fraction:
    """Return the probability that a sample shows one of a class: ways to draw it so, over all ways to draw."""
    return Fraction(size * math.comb(population - size, drawn - 1), math.comb(population, drawn))


@given(HISTOGRAMS, st.integers(0, 500))
@examples(100, quick=100)
def test_zayatz_is_its_definition_in_fractions(classes_of: dict[int, int], others: int) -> None:
    members = sum(size * classes for size, classes in classes_of.items())
    population = members + others
    chances = chances_of_one(population, members, classes_of)
    for size in classes_of:
        assert chances[size] == pytest.approx(float(one_of(size, population, members)), rel=1e-9, abs=1e-300)
    if not (uniques := classes_of.get(1, 0)):
        return
    classes = sum(classes_of.values())
    shares = {size: Fraction(count, classes) for size, count in classes_of.items()}
    seen = sum(share * one_of(size, population, members) for size, share in shares.items())
    unique_there_too = shares[1] * one_of(1, population, members) / seen
    expected = uniques * unique_there_too * Fraction(population, members)
    found = zayatz(Sample(classes_of, population))
    assert found.uniques == pytest.approx(float(expected), rel=1e-9)
    assert found.share == pytest.approx(float(expected / population), rel=1e-9)


# Pitman


def log_probability(classes_of: dict[int, int], theta: float, alpha: float) -> float:
    """Return how likely these classes are if people come one by one, class after class, by the rule of the model."""
    log, people, classes = 0.0, 0, 0
    for size, count in classes_of.items():
        for _ in range(count):
            for inside in range(size):
                if people:
                    joins = inside - alpha if inside else theta + alpha * classes
                    log += math.log(joins / (theta + people))
                people += 1
            classes += 1
    return log


@given(HISTOGRAMS)
@examples(30, quick=10)
def test_pitmans_parameters_are_the_most_likely(classes_of: dict[int, int]) -> None:
    """No slope in either direction, and no point of a grid is better."""
    fit = pitman_model.fit_pitman(classes_of)
    if fit is None:
        return
    theta, alpha = fit.theta, fit.alpha
    top = log_probability(classes_of, theta, alpha)
    classes = sum(classes_of.values())
    least = -alpha if alpha > 0 else -alpha * (classes - 1)
    room = theta - least
    for step in (1e-3, 1e-2):
        for sign in (-1, 1):
            assert log_probability(classes_of, theta + sign * step * room, alpha) <= top + 1e-7
            moved = alpha * (1 + sign * step)
            if moved < 1 and theta > (-moved if moved > 0 else -moved * (classes - 1)):
                assert log_probability(classes_of, theta, moved) <= top + 1e-7
    for other in (0.1, 0.4, 0.8):
        for log_theta in range(-4, 12, 3):
            assert log_probability(classes_of, math.exp(log_theta) - other, other) <= top + 1e-7


@pytest.mark.parametrize("classes_of", [{1: 40, 2: 12, 3: 5, 5: 3, 9: 1, 40: 1}, {1: 300, 2: 80, 3: 30, 4: 9, 5: 2}])
def test_the_likelihood_is_flat_at_pitmans_parameters(classes_of: dict[int, int]) -> None:
    fit = pitman_model.fit_pitman(classes_of)
    assert fit is not None
    by_theta, by_alpha = 1e-4 * abs(fit.theta), 1e-4 * abs(fit.alpha)
    up, down = (log_probability(classes_of, fit.theta + way * by_theta, fit.alpha) for way in (1, -1))
    assert (up - down) / 2e-4 == pytest.approx(0, abs=1e-4)
    up, down = (log_probability(classes_of, fit.theta, fit.alpha + way * by_alpha) for way in (1, -1))
    assert (up - down) / 2e-4 == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(("theta", "alpha"), [(3.0, 0.4), (250.0, 0.1), (-0.2, 0.5), (40.0, -0.5), (1e7, 0.3)])
@pytest.mark.parametrize("population", [2, 50, 4000])
def test_expected_uniques_are_everybody_times_the_chance_that_nobody_joins(
    theta: float, alpha: float, population: int
) -> None:
    """The first person is alone as long as each of the others goes elsewhere."""
    alone = math.prod(1 - (1 - alpha) / (theta + there) for there in range(1, population))
    expected = population * alone
    assert expected_uniques(PitmanFit(theta, alpha), population) == pytest.approx(expected, rel=1e-8)


def test_expected_uniques_are_as_in_the_papers_in_large_populations() -> None:
    population, theta, alpha = 10**12, 30.0, 0.35
    limit = population**alpha * math.gamma(theta + 1) / math.gamma(theta + alpha)
    assert expected_uniques(PitmanFit(theta, alpha), population) == pytest.approx(limit, rel=1e-6)


# Slide negative binomial


def size_is(size: int, a: float, b: float) -> float:
    """Return the probability of a size under the model: one more than a negative binomial number."""
    others = size - 1
    if b == 1:  # but for rounding
        return float(others == 0)
    log_ways = math.lgamma(a + others) - math.lgamma(a) - math.lgamma(size)  # whose number may be too large for a float
    return math.exp(log_ways + a * math.log(b) + others * math.log1p(-b))


def drawn_of_size(drawn: int, fit: snb_model.SnbFit, fraction: float) -> float:
    """Return how many classes show so many members when each member is drawn with a probability."""
    b = math.exp(fit.log_b)
    chances = (
        size_is(size, fit.a, b) * math.comb(size, drawn) * fraction**drawn * (1 - fraction) ** (size - drawn)
        for size in range(drawn, 3000)
    )
    return fit.classes * math.fsum(chances)


@given(st.integers(5, 400), st.integers(1, 200), st.integers(1, 100), st.floats(0.02, 0.9))
@examples(30, quick=10)
def test_the_slide_negative_binomial_gives_the_uniques_and_pairs_of_the_sample(
    uniques: int, pairs: int, triples: int, fraction: float
) -> None:
    classes_of = {1: uniques, 2: pairs, 3: triples}
    members = uniques + 2 * pairs + 3 * triples
    sample = Sample(classes_of, math.ceil(members / fraction))
    fit = snb_model.fit_snb(sample)
    if fit is None or math.exp(fit.log_b) < 0.01:  # the literal sums would not end
        return
    assert drawn_of_size(1, fit, sample.fraction) == pytest.approx(uniques, rel=1e-5)
    assert drawn_of_size(2, fit, sample.fraction) == pytest.approx(pairs, rel=1e-5)
    assert fit.uniques == pytest.approx(fit.classes * size_is(1, fit.a, math.exp(fit.log_b)), rel=1e-9)


@given(HISTOGRAMS, st.integers(1, 500))
def test_shlossers_estimate_of_the_classes_is_its_definition(classes_of: dict[int, int], others: int) -> None:
    classes_of = {1: 3, **classes_of}
    members = sum(size * classes for size, classes in classes_of.items())
    sample = Sample(classes_of, members + others)
    q = Fraction(members, members + others)
    twice = sum(i * q**2 * (1 - q**2) ** (i - 1) * f for i, f in classes_of.items())
    later = sum((1 - q) ** i * ((1 + q) ** i - 1) * f for i, f in classes_of.items())
    none = sum((1 - q) ** i * f for i, f in classes_of.items())
    one = sum(i * q * (1 - q) ** (i - 1) * f for i, f in classes_of.items())
    expected = sum(classes_of.values()) + classes_of[1] * (twice / later) * (none / one) ** 2
    assert snb_model.classes_in_population(sample) == pytest.approx(float(expected), rel=1e-9)


# Against the truth


def sampled(population: Sequence[object], fraction: float, seed: int) -> tuple[int, Uniqueness]:
    """Return the true number of uniques of a population, and the estimates from a sample of it."""
    truth = sum(members == 1 for members in Counter(population).values())
    chance = random.Random(seed)  # noqa: S311 - a sample
    drawn = chance.sample(population, round(fraction * len(population)))
    sizes = Counter(Counter(drawn).values())
    return truth, population_uniqueness(Sample(dict(sizes), len(population)))


def joining(people: int, theta: float, alpha: float) -> list[int]:
    """Return a population of Ewens and Pitman's model: the class of each of its people."""
    chance = random.Random(1)  # noqa: S311 - a made-up population
    classes: list[int] = []
    sizes: list[int] = []
    for there in range(people):
        if chance.random() * (theta + there) < theta + alpha * len(sizes):
            classes.append(len(sizes))
            sizes.append(1)
            continue
        joined = classes[chance.randrange(there)]
        while chance.random() * sizes[joined] >= sizes[joined] - alpha:
            joined = classes[chance.randrange(there)]
        classes.append(joined)
        sizes[joined] += 1
    return classes


def negative_binomial(classes: int, a: int, b: float) -> list[int]:
    """Return a population whose classes have one member more than the failures before a successes."""
    chance = random.Random(2)  # noqa: S311 - a made-up population
    failures = [sum(int(math.log(chance.random()) / math.log(1 - b)) for _ in range(a)) for _ in range(classes)]
    return [number for number, others in enumerate(failures) for _ in range(1 + others)]


@pytest.mark.thorough
@pytest.mark.parametrize(("theta", "alpha"), [(100, 0.5), (2000, 0.2)])
@pytest.mark.parametrize(("fraction", "of_one", "of_all"), [(0.05, 0.6, 0.2), (0.2, 0.15, 0.1), (0.5, 0.1, 0.05)])
def test_pitman_finds_the_truth_in_populations_of_its_kind(
    theta: float, alpha: float, fraction: float, of_one: float, of_all: float
) -> None:
    """Each of ten samples is near it, by a tolerance; their mean is nearer."""
    population = joining(50_000, theta, alpha)
    estimates = []
    for seed in range(10):
        truth, found = sampled(population, fraction, seed)
        assert truth > 2000
        assert found.pitman.uniques == pytest.approx(truth, rel=of_one)
        assert (found.chosen == "pitman") == (fraction <= 0.1)
        estimates.append(found.pitman.uniques)
    assert sum(estimates) / len(estimates) == pytest.approx(truth, rel=of_all)


def test_pitman_finds_the_truth_where_there_is_an_end_to_classes() -> None:
    """Classes of a Dirichlet kind are those of the model with an alpha below 0."""
    chance = random.Random(5)  # noqa: S311 - a made-up population
    weights = [chance.gammavariate(0.7, 1) for _ in range(20_000)]
    population = chance.choices(range(20_000), weights, k=60_000)
    truth, found = sampled(population, 0.05, seed=3)
    assert found.pitman.uniques == pytest.approx(truth, rel=0.2)
    assert found.zayatz.uniques is not None
    assert found.zayatz.uniques > 2 * truth


@pytest.mark.parametrize(
    ("b", "fraction", "tolerance"), [(0.1, 0.2, 0.3), (0.1, 0.5, 0.3), (0.3, 0.5, 0.1), (0.3, 0.8, 0.05)]
)
def test_the_slide_negative_binomial_finds_the_truth_in_populations_of_its_kind(
    b: float, fraction: float, tolerance: float
) -> None:
    """... where most classes are in the sample: how many there are in all is itself an estimate."""
    truth, found = sampled(negative_binomial(20_000, 2, b), fraction, seed=3)
    assert truth > 100
    assert found.snb.uniques == pytest.approx(truth, rel=tolerance)
    assert found.chosen == "snb"


@pytest.mark.parametrize("fraction", [0.5, 0.8])
def test_zayatz_finds_the_truth_in_large_samples(fraction: float) -> None:
    truth, found = sampled(joining(50_000, 100, 0.5), fraction, seed=3)
    assert found.zayatz.uniques == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("fraction", [0.05, 0.1, 0.3, 0.7])
def test_the_rule_on_a_real_table(adult: Path, fraction: float) -> None:
    """Adult as the population of samples of it, by five columns: within 30 %."""
    columns = ", ".join(f'"{column}"' for column in ADULT_QI[:5])
    rows = duckdb.sql(f"SELECT {columns} FROM '{adult / 'adult.csv'}'").fetchall()  # noqa: S608 - our own names
    truth, found = sampled(rows, fraction, seed=4)
    assert found.estimate.uniques == pytest.approx(truth, rel=0.3)


# Where there is nothing to say


def test_without_uniques_there_is_no_estimate() -> None:
    found = population_uniqueness(Sample({2: 10, 5: 3}, 1000))
    assert found.chosen is None
    for estimate in (found.pitman, found.zayatz, found.snb, found.estimate):
        assert (estimate.uniques, estimate.share) == (None, None)
        assert estimate.reason == "no row of the table is unique"


def test_without_rows_there_is_no_estimate() -> None:
    found = population_uniqueness(Sample({}, 0))
    assert found.estimate.uniques is None


def test_without_pairs_the_slide_negative_binomial_has_none() -> None:
    found = population_uniqueness(Sample({1: 10, 5: 3}, 1000))
    assert found.snb.uniques is None
    assert found.snb.reason is not None
    assert "two members" in found.snb.reason


def test_where_every_row_is_unique_pitman_has_none() -> None:
    found = population_uniqueness(Sample({1: 50}, 1000))
    assert found.pitman.uniques is None
    assert found.zayatz.uniques == pytest.approx(1000)
    assert found.chosen == "zayatz"


def test_the_whole_population_is_counted() -> None:
    found = population_uniqueness(Sample({1: 7, 2: 3}, 13))
    assert [found.pitman.uniques, found.zayatz.uniques, found.snb.uniques, found.estimate.uniques] == [7] * 4


@given(HISTOGRAMS, st.floats(1e-6, 1))
@examples(75, quick=25)
def test_an_estimate_is_nobody_to_everybody_or_none_with_a_reason(classes_of: dict[int, int], fraction: float) -> None:
    members = sum(size * classes for size, classes in classes_of.items())
    sample = Sample(classes_of, max(members, round(members / fraction)))
    found = population_uniqueness(sample)
    for estimate in (found.pitman, found.zayatz, found.snb):
        if estimate.uniques is None:
            assert estimate.reason
        else:
            assert 0 <= estimate.uniques <= sample.population
            assert estimate.reason is None


@pytest.mark.thorough
def test_large_tables_take_no_time_worth_speaking_of() -> None:
    """Up to a billion people, classes of up to millions."""
    sizes = {size: 1_000_000 // size**2 + 1 for size in range(1, 3000)} | {2_000_000: 1, 5_000_000: 1}
    for population in (10**9, 2 * sum(size * classes for size, classes in sizes.items())):
        found = population_uniqueness(Sample(sizes, population))
        assert found.pitman.uniques is not None
        assert found.zayatz.uniques is not None


@pytest.mark.parametrize(("uniques", "population"), [(40, 388), (5, 19), (120_112, 143_030)])
def test_where_every_row_is_unique_everybody_is_by_zayatz(uniques: int, population: int) -> None:
    """Whatever rounding says."""
    assert population_uniqueness(Sample({1: uniques}, population)).zayatz.uniques == pytest.approx(population)
