"""The residual risk of an attack compared with a control group: rates, their intervals, the risk.

An attack makes guesses about people in the scope of a release, and the same guesses about people outside it (the
control group). A guess that is right about both needs no one's record. The risk is how much more often it is right
about the first (Giomi, Boenisch, Wehmeyer & Tasnádi 2023, "A Unified Framework for Quantifying Privacy Risk in
Synthetic Data", PoPETs 2023(2)):

    risk = (attack - control) / (1 - control)

1. A rate is the plain share of right guesses, with Wilson's interval (1927) of 95 %.
2. The risk is one minus a ratio of two shares of wrong guesses, (1 - attack) / (1 - control). Its interval is combined
   from the two of Wilson by the method of variance estimates recovery (MOVER; Donner & Zou 2012, "Closed-form
   confidence intervals for functions of the normal mean and standard deviation", Stat. Methods Med. Res. 21). It
   excludes 0 exactly if Newcombe's interval (1998) of the difference of the two rates does. Anonymeter propagates
   half widths instead, which are symmetric, and too narrow if a rate is near 0 or 1. Neither the risk nor an end of
   its interval is written below 0.
3. Singling out compares a predicate with all n people of the original, and a control group has n_c of them at most. A
   predicate that a person satisfies with probability w matches exactly one of n new people with probability
   f(w) = n w (1 - w)^(n - 1), and one of the control group with g(w) = n_c w (1 - w)^(n_c - 1). f is never above
   f(1 / n), about 37 % (Cohen & Nissim 2020). Up to w = 1 / n, f as a function of g is increasing and concave, for its
   slope (n / n_c) (1 - w)^(n - n_c) (1 - n w) / (1 - n_c w) falls with w; beyond it, g takes no value at which the
   function would be below f. So by Jensen's inequality the mean of f over all predicates is at most the function at
   the mean of g, which is estimated by the share of predicates that match exactly one person of the control group.
   That is the control rate of singling out (``singled_out_by_chance``): for n = n_c it is that share, up to 37 %. If
   n_c < n it is an upper bound, so that the risk is a lower bound, and the true control rate may be 0: predicates that
   match one of few people may match many of many. The lower end of the control rate is 0 then.
   An attack is compared with the upper end of that bound, and its own interval is the exact one of Clopper and Pearson
   (1934): the risk excludes 0 only if that is above the other. Few predicates prove little: three right ones may be
   chance, because each is right by chance with up to 37 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kanon_sql.risks.estimators.estimate import root_between

Z = 1.959963984540054
"""The quantile of the normal distribution for intervals of 95 %."""
_TAIL = 0.025
_HALVINGS, _HALVINGS_OF_SHARES = 200, 40


@dataclass(frozen=True)
class EstimatedShare:
    """A share, or a risk, with the ends of its interval of 95 %."""

    value: float
    low: float
    high: float

    def figures(self) -> dict[str, float]:
        return {"value": self.value, "low": self.low, "high": self.high}


# 1. Rates


@dataclass(frozen=True)
class Rate:
    """The number of right guesses among all guesses."""

    right: int
    guesses: int

    @property
    def share(self) -> float:
        """The share of right guesses; 0 without guesses."""
        return self.right / self.guesses if self.guesses else 0.0

    @property
    def estimate(self) -> EstimatedShare:
        """The share, with Wilson's interval; 0 to 1 without guesses."""
        n, share = self.guesses, self.share
        if not n:
            return EstimatedShare(0.0, 0.0, 1.0)
        middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
        half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
        low = 0.0 if self.right == 0 else middle - half
        high = 1.0 if self.right == n else middle + half
        return EstimatedShare(share, low, high)

    @property
    def exact(self) -> EstimatedShare:
        """The share, with the interval of Clopper and Pearson."""
        n, right = self.guesses, self.right
        if not n:
            return EstimatedShare(0.0, 0.0, 1.0)
        low = 0.0 if right == 0 else _share_of(right - 1, n, 1 - _TAIL)
        high = 1.0 if right == n else _share_of(right, n, _TAIL)
        return EstimatedShare(self.share, low, high)

    def figures(self) -> dict[str, Any]:
        return {"right": self.right, "guesses": self.guesses, "share": self.share if self.guesses else None}


def _at_most(right: int, n: int, share: float) -> float:
    """Return the probability that at most ``right`` of n guesses are right, each with a probability of 0 < p < 1."""
    odds, whole = math.log(share), math.log1p(-share)
    choices = math.lgamma(n + 1)
    logs = (
        choices - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * odds + (n - k) * whole for k in range(right + 1)
    )
    return math.fsum(map(math.exp, logs))


def _share_of(right: int, n: int, chance: float) -> float:
    """Return the probability of a right guess for which at most ``right`` of n are right with this chance."""
    return root_between(lambda share: _at_most(right, n, share) - chance, 0, 1, _HALVINGS_OF_SHARES)


# 2. The risk


def residual_risk(attack: EstimatedShare, control: EstimatedShare) -> EstimatedShare | None:
    """Return the risk of an attack beyond a control group; None if every guess about the control group was right."""
    if control.value >= 1:
        return None
    # Shares of wrong guesses: the ends change places.
    wrong, low, high = 1 - attack.value, 1 - attack.high, 1 - attack.low
    by_chance, least, most = 1 - control.value, 1 - control.high, 1 - control.low
    product = wrong * by_chance
    lower, upper = low * (2 * wrong - low), high * (2 * wrong - high)
    below = product + math.sqrt(max(0.0, product**2 - lower * most * (2 * by_chance - most)))
    above = product + math.sqrt(max(0.0, product**2 - upper * least * (2 * by_chance - least)))
    smallest = lower / below if below > 0 else 0.0
    largest = above / (least * (2 * by_chance - least)) if least > 0 else math.inf
    risk, ends = 1 - wrong / by_chance, (1 - largest, 1 - smallest)
    return EstimatedShare(*(min(1.0, max(0.0, number)) for number in (risk, *ends)))


# 3. Singling out


def singled_out_by_chance(in_control: float, people: int, control_people: int) -> float:
    """Return an upper bound of the share of predicates that match exactly one of new people.

    ``in_control`` is the share that match exactly one of the ``control_people``, who are at most ``people``, the number
    of people of the original.
    """
    most = 1 / people

    def exactly_one(weight: float, of: int) -> float:
        return of * weight * (1 - weight) ** (of - 1)

    if in_control >= exactly_one(most, control_people):
        return exactly_one(most, people)
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if exactly_one(middle, control_people) < in_control else (low, middle)
    return exactly_one(high, people) if in_control > 0 else 0.0


def risk_of_singling_out(attack: Rate, control: EstimatedShare) -> EstimatedShare:
    """Return the risk of an attack beyond a control rate if only its upper end is known.

    Each end uses the less favourable ends of the two rates, and the value uses the upper end of the control rate.
    """
    found = attack.exact
    of_attack = (found.value, found.low, found.high)
    of_control = (control.high, control.high, control.low)
    risks = [(own - other) / (1 - other) for own, other in zip(of_attack, of_control, strict=True)]
    return EstimatedShare(*(min(1.0, max(0.0, risk)) for risk in risks))


def control_of_singling_out(in_control: Rate, people: int, control_people: int) -> EstimatedShare:
    """Return the control rate of singling out: an upper bound of it, with 0 as its lower end unless it is exact."""
    found = in_control.estimate
    value, low, high = (
        singled_out_by_chance(share, people, control_people) for share in (found.value, found.low, found.high)
    )
    return EstimatedShare(value, low if control_people == people else 0.0, high)
