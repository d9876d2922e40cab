"""The number of people who are unique in the population, estimated from a sample: three estimators, and the best one.

Dankar, El Emam, Neisa and Roffey, "Estimating the re-identification risk of clinical data sets", BMC Medical
Informatics and Decision Making 12:66, 2012, compared them on six clinical tables: up to a tenth of the population,
Pitman's is best; above, the smaller of the slide negative binomial and Zayatz's. If the slide negative binomial has no
estimate, Zayatz's is used, which always has one (and overestimates).

Zayatz's estimator (Zayatz 1991; in Dankar et al. 2012, appendix A): a class of j in the population shows one member in
a sample without replacement with the hypergeometric probability p(1|j). The sizes of classes in the sample are used as
those in the population, s_j of size j, so that by Bayes a sample unique is a population unique with probability
``s_1 p(1|1) / sum_j s_j p(1|j)``; and each population unique is sampled with probability n/N. Together: ``s_1^2 / sum_j
s_j p(1|j)`` population uniques. The sample's classes are smaller than the population's, so it overestimates, the more
the smaller the sample.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kanon_sql.risks.estimators.estimate import Estimate, Sample, estimated, no_estimate
from kanon_sql.risks.estimators.pitman import pitman
from kanon_sql.risks.estimators.snb import snb

if TYPE_CHECKING:
    from collections.abc import Iterable

EstimatorName = Literal["pitman", "zayatz", "snb"]

_SMALL = 0.1  # the sampling fraction up to which Dankar et al. found Pitman's estimator best


@dataclass(frozen=True)
class Uniqueness:
    """Estimates of how many are unique in the population."""

    population: int  # members of the population: those of the table divided by the sampling fraction
    sampling_fraction: float
    pitman: Estimate
    zayatz: Estimate
    snb: Estimate
    # The one chosen by the rule of Dankar et al.; None if there is no estimate at all.
    chosen: EstimatorName | None

    @property
    def estimate(self) -> Estimate:
        return self.of(self.chosen or "zayatz")

    def of(self, name: EstimatorName) -> Estimate:
        return {"pitman": self.pitman, "zayatz": self.zayatz, "snb": self.snb}[name]


def population_uniqueness(sample: Sample) -> Uniqueness:
    if sample.uniques == 0:
        none = no_estimate("no row of the table is unique")
        return Uniqueness(sample.population, sample.fraction if sample.population else 1.0, none, none, none, None)
    if sample.members == sample.population:  # nothing to estimate: uniques here are uniques there
        counted = estimated(sample.uniques, sample)
        return Uniqueness(sample.population, sample.fraction, counted, counted, counted, "zayatz")
    by_pitman, by_zayatz, by_snb = pitman(sample), zayatz(sample), snb(sample)
    chosen: EstimatorName = "zayatz"
    if sample.fraction <= _SMALL:
        chosen = "zayatz" if by_pitman.uniques is None else "pitman"
    elif by_snb.uniques is not None and by_zayatz.uniques is not None and by_snb.uniques <= by_zayatz.uniques:
        chosen = "snb"
    return Uniqueness(sample.population, sample.fraction, by_pitman, by_zayatz, by_snb, chosen)


_NOTHING = -745.0  # the exponential function of anything less is 0


def zayatz(sample: Sample) -> Estimate:
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
