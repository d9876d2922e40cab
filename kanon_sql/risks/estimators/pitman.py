"""Pitman's estimator of population uniques (Hoshino 2001; in Dankar et al. 2012, appendix A).

The classes of the population are modelled as a random partition of Ewens and Pitman's family: person after person, the
next one starts a new class with probability ``(theta + alpha u)/(theta + m)`` after m people in u classes, and
otherwise joins a class of j people with probability ``(j - alpha)/(theta + m)``. For ``0 < alpha < 1`` new classes
never end, and ``theta > -alpha``; for ``alpha < 0`` there are ``theta/-alpha`` classes in all (not rounded here). A
sample without replacement follows the same law, so that the likelihood of its classes is

    product_{i=1}^{u-1} (theta + i alpha) * product over classes product_{i=1}^{size-1} (i - alpha)
    -----------------------------------------------------------------------------------------------
                              product_{i=1}^{n-1} (theta + i)

and the two parameters maximize it. For one alpha above 0, the reciprocal of the likelihood is convex in theta (all the
partitions of n people into k classes together have ``c_k product_{i<k} (theta + i alpha)`` over the same denominator
with ``c_k >= 0``, and these sum to 1). So there is one best theta, found by bisection, which is also used below 0. The
best alpha is where the derivative along these crosses 0.

The population then has ``N gamma(theta + 1)/gamma(theta + alpha) * gamma(N + theta + alpha - 1)/gamma(N + theta)``
uniques in expectation: the first person is alone if no other person joins, and the same holds for all people. (Papers,
and ARX, use the limit for large N, ``N^alpha gamma(theta + 1)/gamma(theta + alpha)``, which can exceed N.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from kanon_sql.risks.estimators.estimate import (
    estimated,
    falls_through_zero,
    log_gamma_ratio,
    no_estimate,
    root_between,
    sum_of_reciprocals,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.risks.estimators.estimate import Estimate, Sample

_ENDS = (1e-6, 1e-5, 1e-4, 1e-3)
_BELOW_ZERO = [-(10 ** (step / 8)) for step in range(24, -49, -1)]  # from -1000, where all classes are alike, to -1e-6
_ALPHAS = [*_BELOW_ZERO, *_ENDS, *(step / 50 for step in range(1, 50)), *(1 - end for end in reversed(_ENDS))]
_LOG_LEAST, _LOG_MOST = -60.0, 90.0  # of theta above its minimum: with n rows in n - 1 classes theta is about n^2/2
_LEAST_FIRST = 1e-30  # rounding may make it 0


@dataclass(frozen=True)
class PitmanFit:
    """The parameters that maximize the likelihood of the classes of a sample."""

    theta: float
    alpha: float


def pitman(sample: Sample) -> Estimate:
    fit = fit_pitman(sample.classes_of)
    if fit is None:
        return no_estimate("the model does not fit: classes are too even for it, or nearly all rows are unique")
    return estimated(expected_uniques(fit, sample.population), sample)


def expected_uniques(fit: PitmanFit, population: int) -> float:
    """Return the expected number of population uniques for a population of this size."""
    start, step = fit.theta + fit.alpha, 1 - fit.alpha
    log_alone = log_gamma_ratio(start, step) - log_gamma_ratio(start + population - 1, step)
    return population * math.exp(log_alone)


def fit_pitman(classes_of: Mapping[int, int]) -> PitmanFit | None:
    """Return the most likely parameters for classes of these sizes; None if they are at the end of their range.

    There the model does not fit the table: classes are more even than chance would make them, or nearly all are
    uniques.
    """
    classes, members = sum(classes_of.values()), sum(size * count for size, count in classes_of.items())
    if classes < 2 or classes == members:  # noqa: PLR2004 - the more new classes the better, or the fewer
        return None

    @cache
    def best_theta(alpha: float) -> float:
        least = -alpha if alpha > 0 else -alpha * (classes - 1)

        def slope(log_above: float) -> float:
            return _slope_in_theta(least + math.exp(log_above), alpha, classes, members)

        return least + math.exp(root_between(slope, _LOG_LEAST, _LOG_MOST))

    def slope(alpha: float) -> float:
        return _slope_in_alpha(best_theta(alpha), alpha, classes, classes_of)

    tops = [root_between(slope, *ends) for ends in falls_through_zero(slope, _ALPHAS)]
    fits = [PitmanFit(best_theta(alpha), alpha) for alpha in tops]
    return max(fits, key=lambda fit: _log_likelihood(fit, classes, members, classes_of), default=None)


def _slope_in_theta(theta: float, alpha: float, classes: int, members: int) -> float:
    """Return the derivative of the log-likelihood with respect to theta."""
    return _begun(theta, alpha, classes) - sum_of_reciprocals(theta + 1, members - 1)


def _slope_in_alpha(theta: float, alpha: float, classes: int, classes_of: Mapping[int, int]) -> float:
    """Return the derivative of the log-likelihood with respect to alpha."""
    # The sum of i/(theta + i alpha): each term is 1/alpha minus theta/alpha times 1/(theta + i alpha).
    begun = (classes - 1 - theta * _begun(theta, alpha, classes)) / alpha
    joined, inside, reached = 0.0, 0.0, 1
    for size in sorted(classes_of):
        inside += sum_of_reciprocals(reached - alpha, size - reached)
        reached = size
        joined += classes_of[size] * inside
    return begun - joined


def _begun(theta: float, alpha: float, classes: int) -> float:
    """Return the sum of ``1/(theta + i alpha)`` for i from 1 to the number of classes minus 1."""
    return sum_of_reciprocals(_first(theta, alpha, classes), classes - 1) / abs(alpha)


def _first(theta: float, alpha: float, classes: int) -> float:
    """Return the smallest of ``(theta + i alpha)/|alpha|``, which are spaced by 1."""
    first = theta / alpha + 1 if alpha > 0 else theta / -alpha - (classes - 1)
    return max(first, _LEAST_FIRST)


def _log_likelihood(fit: PitmanFit, classes: int, members: int, classes_of: Mapping[int, int]) -> float:
    theta, alpha = fit.theta, fit.alpha
    begun = (classes - 1) * math.log(abs(alpha)) + _log_rising(_first(theta, alpha, classes), classes - 1)
    joined = sum(count * _log_rising(1 - alpha, size - 1) for size, count in classes_of.items())
    return begun + joined - _log_rising(theta + 1, members - 1)


def _log_rising(start: float, count: int) -> float:
    """Return the logarithm of ``start (start + 1) ... (start + count - 1)``."""
    return math.lgamma(start + count) - math.lgamma(start)
