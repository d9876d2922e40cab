"""SafePub: its parameters against brute force in fractions, and (epsilon, delta) itself by listing all samples."""

from __future__ import annotations

import hashlib
import hmac
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from math import ceil, comb, exp, log
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import pytest
from each import each
from effort import examples
from hypothesis import given
from hypothesis import strategies as st

from kanon_sql.dp import releaser
from kanon_sql.dp.safepub import LARGEST_K, k_for, least_delta, most_above, parameters_of, tail
from kanon_sql.engine.keys import padded
from kanon_sql.errors import NoSolutionError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Output = tuple[tuple[Any, ...], ...]


def exactly_at_least(rows: int, least: int, rate: Fraction) -> Fraction:
    """Return P(Binomial(rows, rate) >= least), term by term."""
    return sum((probability(rows, sampled, rate) for sampled in range(least, rows + 1)), Fraction(0))


def probability(rows: int, sampled: int, rate: Fraction) -> Fraction:
    return comb(rows, sampled) * rate**sampled * (1 - rate) ** (rows - sampled)


def published_delta(k: int, beta: Fraction, gamma: Fraction, most_rows: int) -> Fraction:
    """Return the formula of Bild, Kuhn & Prasser as it is written, for n up to a bound."""
    n_m = ceil(k / gamma - 1)
    return max(
        sum((probability(n, j, beta) for j in range(n + 1) if j > gamma * n), Fraction(0))
        for n in range(n_m, most_rows + 1)
    )


E_TO_EPSILON = [Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(10)]


@pytest.mark.thorough
@each(("k", "e_to_epsilon"), product([1, 2, 3, 4, 5, 6, 8], E_TO_EPSILON), quick=12)
def test_delta_is_that_of_the_formula(k: int, e_to_epsilon: Fraction) -> None:
    """Where e^epsilon is a fraction, so are beta and gamma, and gamma * n is a whole number for some n.

    By Chernoff, no n above 120 has a tail of more than exp(-120 KL(gamma || beta)), and what is found is more.
    """
    beta = 1 - 1 / e_to_epsilon
    gamma = (e_to_epsilon - 1 + beta) / e_to_epsilon
    expected = published_delta(k, beta, gamma, 120)
    assert expected > exp(-120 * (gamma * log(gamma / beta) + (1 - gamma) * log((1 - gamma) / (1 - beta))))
    found = Fraction(most_above(k, beta, gamma))
    assert expected <= found <= expected * (1 + Fraction(1, 10**28))


def test_by_hand() -> None:
    """Epsilon = ln 2: beta = 1/2, gamma = 3/4.

    Of k = 3: n_m = 3, and more than 2.25 of 3 are 1/8; of 4, more than 3 (not 3 itself) 1/16; of 5, more than 3.75,
    which is 4 or 5, 6/32. Of 6 (5 or 6) 7/64, of 7 (6 or 7) 8/128.
    """
    assert Fraction(most_above(3, Fraction(1, 2), Fraction(3, 4))) == pytest.approx(Fraction(6, 32), rel=1e-28)
    assert Fraction(most_above(5, Fraction(1, 2), Fraction(3, 4))) == pytest.approx(Fraction(7, 64), rel=1e-28)


@each(("rows", "least"), [(1, 1), (10, 7), (500, 400), (2500, 1400), (2500, 2500), (3, 4)])
def test_a_tail_is_exact_and_never_too_small(rows: int, least: int) -> None:
    """Also where coefficients are no whole numbers any more (over 2,000 rows)."""
    rate = Fraction(1, 2)
    expected = exactly_at_least(rows, least, rate)
    assert expected <= Fraction(tail(rows, least, rate)) <= expected * (1 + Fraction(1, 10**28))


@pytest.mark.thorough
@each("epsilon", ["0.3", "0.05", "1", "2.5"], quick=3)  # 0.05 takes a minute
def test_what_is_reported_is_rounded_up(epsilon: str) -> None:
    """Beta is taken from below here: what is found must be more, by less than the six digits that are shown."""
    below = 1 - Fraction(Decimal(epsilon).copy_negate().exp()) - Fraction(1, 10**25)
    gamma = 1 - Fraction((Decimal(epsilon) * -2).exp()) + Fraction(1, 10**25)
    for k in (1, 7, 20):
        exact = published_delta(k, below, gamma, ceil(k / gamma) + 60)
        assert exact < Fraction(least_delta(k, Decimal(epsilon))) < exact * Fraction(100_001, 100_000)


@each(("epsilon", "delta"), [("0.1", "0.00001"), ("1", "0.000001"), ("2", "1e-9"), ("5", "0.3")])
def test_k_is_the_least_that_keeps_delta(epsilon: str, delta: str) -> None:
    k = k_for(Decimal(epsilon), Decimal(delta))
    assert least_delta(k, Decimal(epsilon)) <= Decimal(delta) < least_delta(k - 1, Decimal(epsilon))


def test_delta_falls_with_k() -> None:
    deltas = [least_delta(k, Decimal("0.7")) for k in range(1, 60)]
    assert deltas == sorted(deltas, reverse=True)
    assert least_delta(400, Decimal("0.7")) == Decimal("1E-20")  # a budget keeps no more digits: the rest is rounded up


def test_the_rate_is_never_above_beta() -> None:
    """And below it by less than one of 2^64 parts."""
    for epsilon in (Decimal("0.000001"), Decimal("0.5"), Decimal(1), Decimal(20)):
        beta = 1 - Fraction(epsilon.copy_negate().exp())
        rate = Fraction(parameters_of(epsilon, LARGEST_K if epsilon > 10 else 5).threshold, 2**64)
        assert beta - Fraction(1, 2**63) < rate < beta + Fraction(1, 10**27)


@each("epsilon", ["0", "-1", "NaN", "Infinity", "21"])
def test_an_epsilon_that_cannot_be(epsilon: str) -> None:
    with pytest.raises(UsageError, match="epsilon"):
        parameters_of(Decimal(epsilon), 5)
    with pytest.raises(UsageError, match="epsilon"):
        k_for(Decimal(epsilon), Decimal("0.1"))


def test_a_k_or_a_delta_that_cannot_be() -> None:
    for k in (0, True, LARGEST_K + 1, 2.5):
        with pytest.raises(UsageError, match="k must be"):
            parameters_of(Decimal(1), k)  # type: ignore[arg-type]  # as somebody may give it
    for delta in ("0", "1", "NaN", "-0.1"):
        with pytest.raises(UsageError, match="Delta is"):
            k_for(Decimal(1), Decimal(delta))
    with pytest.raises(UsageError, match="more than 10,000,000 rows"):
        k_for(Decimal(20), Decimal("0.001"))


# (epsilon, delta) itself


def hockey_stick(one: Mapping[Any, Fraction], other: Mapping[Any, Fraction], e_to_epsilon: Fraction) -> Fraction:
    """Return the least delta for which ``P(one in S) <= e^epsilon P(other in S) + delta`` for all sets S."""
    return sum(
        (max(Fraction(0), chance - e_to_epsilon * other.get(output, Fraction(0))) for output, chance in one.items()),
        Fraction(0),
    )


def e_to(epsilon: Decimal) -> Fraction:
    """Return e^epsilon from below: with less of it more is found."""
    return Fraction(epsilon.exp()) - Fraction(1, 10**25)


@given(
    st.decimals("0.05", "3", places=2),
    st.integers(1, 8),
    st.integers(1, 30),
)
@examples(50)
def test_a_class_with_one_row_more_or_less(epsilon: Decimal, k: int, rows: int) -> None:
    """What is published of one class is how many of its rows were sampled, or nothing: all else is the same."""
    parameters = parameters_of(epsilon, k)
    rate = Fraction(parameters.threshold, 2**64)

    def outputs(n: int) -> dict[int, Fraction]:
        found = {0: Fraction(0)}
        for sampled in range(n + 1):
            kept = sampled if sampled >= k else 0
            found[kept] = found.get(kept, Fraction(0)) + probability(n, sampled, rate)
        return found

    larger, smaller = outputs(rows), outputs(rows - 1)
    assert hockey_stick(larger, smaller, e_to(epsilon)) <= Fraction(parameters.delta)
    assert hockey_stick(smaller, larger, e_to(epsilon)) == 0  # that a row is missing never shows more than e^epsilon


def test_that_test_would_see_a_smaller_delta_or_a_larger_rate() -> None:
    """For small k the bound is near the truth: at k = 2 and epsilon = 1/2 a third of delta is too little."""
    parameters = parameters_of(Decimal("0.5"), 2)
    rate = Fraction(parameters.threshold, 2**64)
    two = {0: 1 - rate**2, 2: rate**2}
    assert hockey_stick(two, {0: Fraction(1)}, e_to(Decimal("0.5"))) == rate**2 > Fraction(parameters.delta) / 3
    more = rate * Fraction(11, 10)
    assert hockey_stick({0: Fraction(1)}, {0: 1 - more, 1: more}, e_to(Decimal("0.5"))) > 0


def keys_of_all_samples(rows: int, threshold: int) -> dict[tuple[int, ...], bytes]:
    """Return for each set of row numbers, from 1, a key that samples just these; HMAC is Python's own here."""
    found: dict[tuple[int, ...], bytes] = {}
    number = 0
    while len(found) < 2**rows:
        key = hashlib.sha256(f"key {number}".encode()).digest()
        number += 1
        found.setdefault(sampled_by(key, rows, threshold), key)
    return found


def sampled_by(key: bytes, rows: int, threshold: int) -> tuple[int, ...]:
    return tuple(
        row
        for row in range(1, rows + 1)
        if int(hmac.new(key, str(row).encode(), "sha256").hexdigest()[:16], 16) < threshold
    )


@pytest.fixture
def unpaid(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Decimal, Decimal]]:
    """What would be charged, instead of a budget."""
    charged: list[tuple[Decimal, Decimal]] = []
    monkeypatch.setattr(releaser, "_charge", lambda _source, _kept, epsilon, delta: charged.append((epsilon, delta)))
    return charged


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Say which key the next sample is drawn with."""

    def use(key: bytes) -> None:
        monkeypatch.setattr(releaser, "draw_key", lambda: padded(key, drawn=True))

    return use


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("ages", "k", "epsilon", "levels"),
    [
        ([20, 21, 25, 33, 34], 2, "0.5", {"age": 2}),
        ([20, 20, 20, 20, 71], 2, "1.2", {"age": 0}),
        ([20, 21, 23, 24, None], 3, "0.9", {"age": 3}),
    ],
)
@pytest.mark.usefixtures("unpaid")
def test_all_samples_of_a_tiny_table(
    ages: list[int | None], k: int, epsilon: str, levels: dict[str, int], drawn: Callable[[bytes], None]
) -> None:
    """From sampling to publishing, with a key for each set of rows; against tables of one row less."""
    asked: dict[str, Any] = {
        "quasi_identifiers": ["age"],
        "hierarchies": {"age": "intervals:5,10"},
        "epsilon": epsilon,
        "k": k,
        "levels": levels,
    }
    parameters = parameters_of(Decimal(epsilon), k)
    rate = Fraction(parameters.threshold, 2**64)

    def output(table: Sequence[int | None], key: bytes) -> Output:
        drawn(key)
        connection = duckdb.connect()
        connection.execute("CREATE TABLE t (age INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(age,) for age in table])
        try:
            with releaser.release(connection, "t", **asked) as release:
                return tuple(sorted(("none" if pd.isna(age) else str(age),) for age in release.to_pandas()["age"]))
        except NoSolutionError:
            return ()

    def outputs(table: Sequence[int | None]) -> dict[Output, Fraction]:
        found: dict[Output, Fraction] = {}
        for sample, key in keys_of_all_samples(len(table), parameters.threshold).items():
            chance = rate ** len(sample) * (1 - rate) ** (len(table) - len(sample))
            published = output(table, key)
            found[published] = found.get(published, Fraction(0)) + chance
        assert sum(found.values()) == 1
        return found

    whole = outputs(ages)
    assert len(whole) > 1
    others = {tuple(other) for other in combinations(ages, len(ages) - 1)}
    for neighbour in map(outputs, sorted(others, key=str)[:2] + sorted(others, key=str)[-1:]):
        assert hockey_stick(whole, neighbour, e_to(Decimal(epsilon))) <= Fraction(parameters.delta)
        assert hockey_stick(neighbour, whole, e_to(Decimal(epsilon))) <= Fraction(parameters.delta)
