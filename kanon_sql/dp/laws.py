"""What noise does to an answer: the exact laws that whole numbers are drawn from, and what they say of the error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar, Protocol

_SUMMED = 10_000.0  # the widest discrete Gaussian that is summed term by term; above it, it is normal to nine digits
_TERMS = 12  # standard deviations after which no term counts


class Law(Protocol):
    """The law of the noise that is added to a whole number."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def scale(self) -> float:
        """How wide it is, in the units of the number."""

    def probability(self, value: int) -> float:
        """Return how probable a value of the noise is."""

    def within(self, share: float) -> int:
        """Return the least bound that the noise keeps to, whatever its sign, with a probability of ``share``."""

    @property
    def expected_error(self) -> float:
        """The mean of the absolute value of the noise."""


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(x) = (1 - a) / (1 + a) * a^|x| with a = e^(-1/scale): the two-sided geometric law (Ghosh et al. 2009).

    Attributes:
        scale: in the units of the number.
    """

    scale: float
    name: ClassVar[str] = "discrete Laplace"

    @property
    def _ratio(self) -> float:
        return math.exp(-1 / self.scale)

    def probability(self, value: int) -> float:
        """Return how probable a value is."""
        return -math.expm1(-1 / self.scale) / (1 + self._ratio) * math.exp(-abs(value) / self.scale)

    def within(self, share: float) -> int:
        """Return the least t with P(|x| > t) = 2 a^(t+1) / (1 + a) <= 1 - share."""
        steps = self.scale * math.log(2 / ((1 - share) * (1 + self._ratio)))
        return max(0, math.ceil(steps - 1 - 1e-9))

    @property
    def expected_error(self) -> float:
        """2 a / (1 - a^2)."""
        return 2 * self._ratio / -math.expm1(-2 / self.scale)


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(x) is proportional to e^(-x^2 / (2 scale^2)) on the whole numbers (Canonne, Kamath & Steinke 2020).

    Attributes:
        scale: in the units of the number; nearly the standard deviation.
    """

    scale: float
    name: ClassVar[str] = "discrete Gaussian"

    def _weights(self) -> list[float]:
        last = math.ceil(_TERMS * self.scale) + 1
        return [math.exp(-((x / self.scale) ** 2) / 2) for x in range(last + 1)]

    def probability(self, value: int) -> float:
        """Return how probable a value is."""
        if self.scale > _SUMMED:
            return NormalDist(0, self.scale).pdf(value)
        first, *others = self._weights()
        return math.exp(-((value / self.scale) ** 2) / 2) / (first + 2 * math.fsum(others))

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

    @property
    def expected_error(self) -> float:
        """The mean of the absolute value."""
        if self.scale > _SUMMED:
            return self.scale * math.sqrt(2 / math.pi)
        weights = self._weights()
        total = weights[0] + 2 * math.fsum(weights[1:])
        return 2 * math.fsum(x * weight for x, weight in enumerate(weights)) / total
