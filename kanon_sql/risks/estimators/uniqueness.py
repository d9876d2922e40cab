"""How many people are unique in the population, estimated from a sample of it: three estimators, and which to believe.

Dankar, El Emam, Neisa and Roffey, "Estimating the re-identification risk of clinical data sets", BMC Medical
Informatics and Decision Making 12:66, 2012, compared them on six clinical tables: up to a tenth of the population,
Pitman's is the one to take; above, the smaller of the slide negative binomial and Zayatz's. Where that one has no
estimate, Zayatz's is taken, which always has one (and overestimates).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kanon_sql.risks.estimators.estimate import Estimate, Sample, estimated, no_estimate
from kanon_sql.risks.estimators.pitman import pitman
from kanon_sql.risks.estimators.snb import snb
from kanon_sql.risks.estimators.zayatz import zayatz

EstimatorName = Literal["pitman", "zayatz", "snb"]

_SMALL = 0.1  # the sampling fraction up to which Dankar et al. found Pitman's estimator best


@dataclass(frozen=True)
class Uniqueness:
    """Estimates of how many are unique in the population.

    Attributes:
        population: members of the population: those of the table over the sampling fraction.
        sampling_fraction: the share of the population that is in the table.
        pitman, zayatz, snb: what each estimator says.
        chosen: the one that the rule of Dankar et al. takes; None where there is no estimate at all.
    """

    population: int
    sampling_fraction: float
    pitman: Estimate
    zayatz: Estimate
    snb: Estimate
    chosen: EstimatorName | None

    @property
    def estimate(self) -> Estimate:
        """What the chosen estimator says."""
        return self.zayatz if self.chosen is None else self.of(self.chosen)

    def of(self, name: EstimatorName) -> Estimate:
        """Return what an estimator says."""
        return {"pitman": self.pitman, "zayatz": self.zayatz, "snb": self.snb}[name]


def population_uniqueness(sample: Sample) -> Uniqueness:
    """Return what the estimators say of a sample."""
    if sample.uniques == 0:
        none = no_estimate("no row of the table is unique")
        return Uniqueness(sample.population, _fraction(sample), none, none, none, None)
    if sample.members == sample.population:  # nothing to estimate: who is unique here is unique there
        counted = estimated(sample.uniques, sample)
        return Uniqueness(sample.population, sample.fraction, counted, counted, counted, "zayatz")
    by_pitman, by_zayatz, by_snb = pitman(sample), zayatz(sample), snb(sample)
    chosen = _chosen(sample.fraction, by_pitman, by_zayatz, by_snb)
    return Uniqueness(sample.population, sample.fraction, by_pitman, by_zayatz, by_snb, chosen)


def _chosen(fraction: float, by_pitman: Estimate, by_zayatz: Estimate, by_snb: Estimate) -> EstimatorName:
    """Return the estimator that the rule of Dankar et al. takes."""
    if fraction <= _SMALL:
        return "zayatz" if by_pitman.uniques is None else "pitman"
    if by_snb.uniques is None or by_zayatz.uniques is None or by_zayatz.uniques < by_snb.uniques:
        return "zayatz"
    return "snb"


def _fraction(sample: Sample) -> float:
    return sample.fraction if sample.population else 1.0
