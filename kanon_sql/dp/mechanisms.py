"""OpenDP's mechanisms, and the exact distributions of their noise, which give the accuracy of an answer.

No number of this module comes from floating-point noise, from ``random()`` of an engine or from Python's ``random``.
A textbook sampler of doubles can be undone from the low bits of its output (Mironov 2012). Here an answer is a whole
number of steps and so is the noise. The charge is the value of OpenDP's privacy map for the very measurement that was
made, at the sensitivity that the SQL guarantees.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from decimal import Decimal
    from types import ModuleType

_SUMMED = 10_000.0  # the widest discrete Gaussian that is summed term by term; above it, it is normal to nine digits
_TERMS = 12  # standard deviations after which terms are negligible


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(x) = (1 - a) / (1 + a) * a^|x| with a = e^(-1/scale): the two-sided geometric law (Ghosh et al. 2009).

    The scale is in the units of the number that the noise is added to.
    """

    scale: float
    name: ClassVar[str] = "discrete Laplace"

    def probability(self, value: int) -> float:
        """(1 - a) / (1 + a) a^|x|."""
        return math.tanh(0.5 / self.scale) * math.exp(-abs(value) / self.scale)

    def within(self, share: float) -> int:
        """Return the least t with P(|x| > t) = 2 a^(t+1) / (1 + a) <= 1 - share."""
        steps = self.scale * math.log(2 / ((1 - share) * (1 + math.exp(-1 / self.scale))))
        return max(0, math.ceil(steps - 1 - 1e-9))

    @property
    def expected_error(self) -> float:
        """2 a / (1 - a^2)."""
        return 2 * math.exp(-1 / self.scale) / -math.expm1(-2 / self.scale)


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(x) is proportional to e^(-x^2 / (2 scale^2)) on the whole numbers (Canonne, Kamath & Steinke 2020).

    The scale is in the units of the number; it is close to the standard deviation.
    """

    scale: float
    name: ClassVar[str] = "discrete Gaussian"

    def within(self, share: float) -> int:
        """Return the least t with P(|x| > t) <= 1 - share."""
        if self.scale > _SUMMED:
            return math.ceil(NormalDist(0, self.scale).inv_cdf((1 + share) / 2))
        weights = self._weights()
        total = weights[0] + 2 * math.fsum(weights[1:])
        outside = total - weights[0]
        bound = 0
        while outside > (1 - share) * total:
            bound += 1
            outside -= 2 * weights[bound]
        return bound

    def _weights(self) -> list[float]:
        last = math.ceil(_TERMS * self.scale) + 1
        return [math.exp(-((x / self.scale) ** 2) / 2) for x in range(last + 1)]

    @property
    def expected_error(self) -> float:
        if self.scale > _SUMMED:
            return self.scale * math.sqrt(2 / math.pi)
        weights = self._weights()
        total = weights[0] + 2 * math.fsum(weights[1:])
        return 2 * math.fsum(x * weight for x, weight in enumerate(weights)) / total


CHOICE = "exponential mechanism (permute and flip)"

Law = DiscreteLaplace | DiscreteGaussian
Noise = Literal["laplace", "gaussian"]

_LARGEST = 2**62  # numbers are clamped to this size: they stay within 64 bits, and clamping moves no two further apart
_LARGEST_THRESHOLD = 2**50


def opendp() -> ModuleType:
    """Import OpenDP and enable the features used here."""
    try:
        from opendp import prelude
    except ImportError:
        raise SourceError(
            "Differential privacy needs OpenDP, which is not here: pip install 'kanon-sql[dp]'."
        ) from None
    prelude.enable_features("contrib")  # "contrib": proven by people, not yet by a machine, as all noise of OpenDP
    return prelude


def law_of(noise: Noise, change: int, epsilon: Decimal, delta: Decimal) -> Law:
    """Return the narrowest noise distribution that satisfies (epsilon, delta).

    ``change`` is the most by which the numbers of an answer can change together when one person is added or removed:
    the sum of the changes. Gaussian noise is calibrated to the root of the sum of their squares, which is never larger.
    """
    _require_size(change)
    if noise == "laplace":
        scale = _least_scale(lambda scale: _laplace(scale).map(change), change / _down(epsilon), _down(epsilon))
        return DiscreteLaplace(scale)
    dp = opendp()

    def bounded(scale: float) -> Any:  # noqa: ANN401 - a measurement of OpenDP
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(_gaussian(scale)), delta=_down(delta))

    try:
        for_one = dp.binary_search_param(bounded, d_in=1, d_out=(_down(epsilon), _down(delta)), T=float)
    except (ValueError, dp.OpenDPException):
        raise UsageError(
            f"No Gaussian noise keeps epsilon {epsilon:f} with delta {delta:f}: ask for more of one of them, or leave "
            "--noise gaussian out."
        ) from None
    return DiscreteGaussian(_least_scale(lambda scale: bounded(scale).map(change)[0], for_one * change, _down(epsilon)))


def with_noise(numbers: Sequence[int], law: Law) -> list[int]:
    measurement = _laplace(law.scale) if isinstance(law, DiscreteLaplace) else _gaussian(law.scale)
    return list(measurement([max(-_LARGEST, min(_LARGEST, number)) for number in numbers])) if numbers else []


def above_threshold(
    counts: Mapping[str, int], contribution: int, epsilon: Decimal, delta: Decimal
) -> tuple[dict[str, int], DiscreteLaplace, int]:
    """Return the keys with noisy counts above a threshold, the noise law, and the least count above the threshold.

    Rare keys are left out: the presence of a key does not reveal that a person is in the table, except with a
    probability of at most delta (Rogers 2023, "A Unifying Privacy Analysis Framework for Unknown Domain Algorithms").

    ``contribution`` bounds how many keys a person can be in, the change of all counts together, and the change of one.
    """
    dp = opendp()
    space = (
        dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64")),
        dp.l01inf_distance(dp.absolute_distance(T="i64")),
    )
    _require_size(contribution, _LARGEST_THRESHOLD)
    change = (contribution, contribution, contribution)

    def measurement(scale: float, threshold: int) -> Any:  # noqa: ANN401 - a measurement of OpenDP
        return space >> dp.m.then_laplace_threshold(scale=scale, threshold=threshold)

    def keeps(threshold: int) -> bool:
        spent, missed = measurement(scale, threshold).map(change)
        return bool(spent <= _down(epsilon) and missed <= _down(delta))

    scale = _least_scale(
        lambda scale: measurement(scale, _LARGEST_THRESHOLD).map(change)[0],
        contribution / _down(epsilon),
        _down(epsilon),
    )
    if not keeps(_LARGEST_THRESHOLD):
        raise UsageError(
            f"Delta {delta:f} is too small for a threshold at epsilon {epsilon:f}: give the keys (--keys)."
        )
    threshold = contribution + bisect_left(range(contribution, _LARGEST_THRESHOLD), x=True, key=keeps)
    # OpenDP reads a text up to its first NUL: keys that differ after it would be merged, with the count of either.
    key_of = {key.encode().hex(): key for key in counts}
    # OpenDP keeps counts that reach the threshold, but its delta is for counts above it (opendp/opendp#2922): add one.
    threshold += 1
    kept = measurement(scale, threshold)({name: min(_LARGEST, counts[key]) for name, key in key_of.items()})
    return {key_of[name]: count for name, count in kept.items()}, DiscreteLaplace(scale), threshold


def choose(scores: Sequence[int], sensitivity: int, epsilon: Decimal, *, monotone: bool = False) -> int:
    """Return the index of one of the best scores, by the exponential mechanism in its permute-and-flip form.

    It is as private as the classic form (McSherry & Talwar 2007) and never worse (McKenna & Sheldon 2020): with a
    probability of at least 1 - p, the chosen score is below the best by at most ``choice_bound(...)``.

    Args:
        scores: of the candidates; at least one.
        sensitivity: the most by which each score can change when one person is added or removed.
        epsilon: the most that may be spent.
        monotone: whether all scores then change in the same direction, so that half the noise is enough.
    """
    _require_size(sensitivity)
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=monotone)

    def measurement(scale: float) -> Any:  # noqa: ANN401 - a measurement of OpenDP
        return space >> dp.m.then_noisy_max(output_measure=dp.max_divergence(), scale=scale)

    scale = _least_scale(
        lambda scale: measurement(scale).map(sensitivity),
        choice_scale(sensitivity, epsilon, monotone=monotone),
        _down(epsilon),
    )
    return int(measurement(scale)([max(-_LARGEST, min(_LARGEST, score)) for score in scores]))


def choice_scale(sensitivity: int, epsilon: Decimal, *, monotone: bool = False) -> float:
    """Return the scale of the exponential mechanism: 2 * sensitivity / epsilon, or half of it (see ``choose``)."""
    return (1 if monotone else 2) * sensitivity / _down(epsilon)


def choice_bound(candidates: int, scale: float, share: float) -> float:
    """Return how far the chosen score can be below the best, with a probability of at least ``share``.

    ``scale * ln(candidates / (1 - share))`` (Dwork & Roth 2014, theorem 3.11).
    """
    return scale * math.log(candidates / (1 - share))


def _require_size(change: int, largest: int = _LARGEST) -> None:
    """Raise if one person can change an answer by more than the number type can hold."""
    if change > largest:
        raise UsageError("One person would change the answer by more than 2^62: give less max_rows, or other bounds.")


def _down(number: Decimal) -> float:
    """Return the largest floating-point number not above a number: limits are never rounded up."""
    nearest = float(number)
    return nearest if Fraction(nearest) <= Fraction(number) else math.nextafter(nearest, -math.inf)


def _laplace(scale: float) -> Any:  # noqa: ANN401 - a measurement of OpenDP
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return space >> dp.m.then_laplace(scale=scale)


def _gaussian(scale: float) -> Any:  # noqa: ANN401 - a measurement of OpenDP
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="i64")
    return space >> dp.m.then_gaussian(scale=scale)


def _least_scale(spent: Callable[[float], float], scale: float, epsilon: float) -> float:
    """Return the first scale, starting from ``scale``, whose cost as rounded up by OpenDP is not above epsilon."""
    step = math.ulp(scale)
    while spent(scale) > epsilon:
        scale += step
        step *= 2
    return scale
