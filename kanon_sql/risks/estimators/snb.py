"""The slide negative binomial estimator of population uniques (Chen & Keller-McNulty 1998; in Dankar et al. 2012).

The size of a class of the population is modelled as 1 plus a negative binomial number: ``P(F = 1 + z) = C(a + z - 1, z)
b^a (1 - b)^z``. Drawing each member with probability f leaves one of a class with the probability ``f g'(1 - f)`` and
two with ``f^2/2 g''(1 - f)``, where ``g(s) = s (b/(1 - (1 - b)s))^a`` generates F. With K classes in the population,
``q = 1 - b``, ``d = (1 - f) q`` and ``w = 1 - d``:

    uniques of the sample = K f (b/w)^a (1 + a d/w)                                        (1)
    pairs of the sample   = K f^2/2 a q b^a w^-(a+2) (2 - (1 - a) d)                       (2)

and the population has ``K b^a`` uniques. K comes from the sample by Shlosser's estimator as Haas and Stokes (1998)
modified it. (2)/(1) is, for any b, a quadratic equation in a with one positive root. One equation in b remains. (ARX's
ModelSNB, at its commit 003f9dd, multiplies by ``w^(a+2)/2`` in (2) where (2) divides by ``2 w^(a+2)``, and subtracts 1
outside of Shlosser's second sum of products instead of inside: its figures differ from these.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.risks.estimators.estimate import estimated, falls_through_zero, no_estimate, root_between

if TYPE_CHECKING:
    from kanon_sql.risks.estimators.estimate import Estimate, Sample

_LOGITS = [step / 4 for step in range(-120, 121)]  # of b: from 1e-13 to 1 - 1e-13


@dataclass(frozen=True)
class SnbFit:
    """The classes of a population: their number, and a and b (which may be very close to 1) of their sizes."""

    classes: float
    a: float
    log_b: float

    @property
    def uniques(self) -> float:
        """The expected number of classes with one member."""
        return self.classes * math.exp(self.a * self.log_b)


@dataclass(frozen=True)
class _Shape:
    """A distribution, and the terms of both equations that its parameters give."""

    a: float
    log_b: float
    log_w: float
    ratio: float  # d/w


def snb(sample: Sample) -> Estimate:
    """Return the slide negative binomial estimate for a sample that has uniques and is not the whole population."""
    if sample.pairs == 0:
        return no_estimate("no class has two members, which it needs")
    fit = fit_snb(sample)
    if fit is None:
        return no_estimate("no parameters of the model, or several, give as many uniques and pairs as there are")
    return estimated(fit.uniques, sample)


def fit_snb(sample: Sample) -> SnbFit | None:
    """Return the distribution that fits the uniques and pairs of a sample; None if none or several do."""
    classes, fraction = classes_in_population(sample), sample.fraction

    def too_few(logit: float) -> float:
        return sample.uniques - _expected_uniques(_shape(logit, sample), classes, fraction)

    crossings = falls_through_zero(too_few, _LOGITS)
    if len(crossings) != 1:
        return None
    (ends,) = crossings
    shape = _shape(root_between(too_few, *ends), sample)
    return SnbFit(classes, shape.a, shape.log_b)


def classes_in_population(sample: Sample) -> float:
    """Return the number of classes in the population by Shlosser's estimator as Haas and Stokes (1998) modified it."""
    f, log_out = sample.fraction, math.log1p(-sample.fraction)
    in_twice = out_then_in = out = one = 0.0
    for size, classes in sample.classes_of.items():
        none_drawn = math.exp(size * log_out)
        in_twice += classes * size * f * f * math.exp((size - 1) * math.log1p(-f * f))
        # (1 - f)^size ((1 + f)^size - 1), without the power that overflows
        out_then_in -= classes * math.exp(size * math.log1p(-f * f)) * math.expm1(-size * math.log1p(f))
        out += classes * none_drawn
        one += classes * size * f * math.exp((size - 1) * log_out)
    return sample.classes + sample.uniques * (in_twice / out_then_in) * (out / one) ** 2


def _shape(logit: float, sample: Sample) -> _Shape:
    """Return the distribution with b at this logit that gives the sample's ratio of pairs to uniques."""
    f = sample.fraction
    q = 1 / (1 + math.exp(logit))
    b = 1 / (1 + math.exp(-logit))
    d = (1 - f) * q
    w = b + f * q
    wanted = 2 * sample.pairs / sample.uniques
    # q f a (2 - d + a d) = wanted w (w + a d), from (2)/(1).
    square, linear, constant = q * f * d, q * f * (2 - d) - wanted * w * d, -wanted * w * w
    root = math.sqrt(linear * linear - 4 * square * constant)
    # Of the two forms of the root, the one without a subtraction.
    a = -2 * constant / (linear + root) if linear > 0 else (root - linear) / (2 * square)
    return _Shape(a, -math.log1p(math.exp(-logit)), math.log1p(-d), d / w)


def _expected_uniques(shape: _Shape, classes: float, fraction: float) -> float:
    """Return the expected uniques of a sample, by (1)."""
    return classes * fraction * math.exp(shape.a * (shape.log_b - shape.log_w)) * (1 + shape.a * shape.ratio)
