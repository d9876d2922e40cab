"""Zayatz's estimator of population uniques (Zayatz 1991; in Dankar et al. 2012, appendix A).

A class of j in the population shows one member in a sample without replacement with the hypergeometric probability
p(1|j). The sizes of classes in the sample are taken for those in the population, s_j of size j, so that by Bayes a
sample unique is a population unique with probability ``s_1 p(1|1) / sum_j s_j p(1|j)``; and each population unique is
sampled with probability n/N. Together: ``s_1^2 / sum_j s_j p(1|j)`` population uniques.

The sample's classes are smaller than the population's, so that it overestimates, the more the smaller the sample.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kanon_sql.risks.estimators.estimate import estimated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kanon_sql.risks.estimators.estimate import Estimate, Sample

_NOTHING = -745.0  # the exponential function of less is 0


def zayatz(sample: Sample) -> Estimate:
    """Return Zayatz's estimate for a sample that has uniques."""
    probabilities = chances_of_one(sample.population, sample.members, sample.classes_of)
    seen = math.fsum(classes * probabilities[size] for size, classes in sample.classes_of.items())
    return estimated(sample.uniques**2 / seen, sample)


def chances_of_one(population: int, drawn: int, sizes: Iterable[int]) -> dict[int, float]:
    """Return for each size the probability that a class of it in a population shows just one member in a sample.

    That is ``j n/N (N-n)/(N-1) (N-n-1)/(N-2) ...`` with j - 1 factors after ``n/N``: one is drawn, the others are not.
    """
    found: dict[int, float] = {}
    log_not_drawn, others = 0.0, 0
    for size in sorted(sizes):
        while others < size - 1 and log_not_drawn > _NOTHING:
            left = population - drawn - others
            log_not_drawn = log_not_drawn + math.log(left / (population - 1 - others)) if left > 0 else -math.inf
            others += 1
        found[size] = size * drawn / population * math.exp(log_not_drawn)
    return found
