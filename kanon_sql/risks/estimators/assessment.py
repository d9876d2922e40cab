"""All figures of risk of one table.

The probability that a person is found, under three assumptions about the attacker:

- The prosecutor knows that the person is in the table: a person in a class of s is found with probability 1/s.
- The journalist knows a population from which the table was drawn, but not who of it is in the table. The size S of the
  same class in the population counts: 1/S.
- The marketer wants to find as many people as possible and accepts errors. In a class of s, one of s guesses is right.
  So of the whole table a share of (classes)/(members) is found, which is the mean of the prosecutor's risks.

If people are counted, a member is a record: the rows of one person in one class. Averages are over records. People who
are counted (unique, or above a threshold) are distinct: each counts once, in however many classes they are.

A threshold is the largest acceptable risk. A row in a class of s members is above it if 1/s is greater, so that each
threshold requires a smallest class: 0.2 one of 5, and 0.09 one of 12, since 1/11 is greater.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.errors import UsageError
from kanon_sql.measures.shares import read_share
from kanon_sql.risks.estimators.estimate import Sample
from kanon_sql.risks.estimators.subsets import largest_subsets, subset_risks
from kanon_sql.risks.estimators.suda import suda_scores
from kanon_sql.risks.estimators.tuples import PeopleAtRisk, collect, count_people, members_by_population_class
from kanon_sql.risks.estimators.uniqueness import population_uniqueness
from kanon_sql.risks.estimators.weighted import weighted_risk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.risks.estimators.estimate import Bin, SizeCounts
    from kanon_sql.risks.estimators.subsets import Subsets
    from kanon_sql.risks.estimators.suda import Suda
    from kanon_sql.risks.estimators.tuples import Population
    from kanon_sql.risks.estimators.uniqueness import Uniqueness
    from kanon_sql.risks.estimators.weighted import WeightedRisk, Weights


@dataclass(frozen=True)
class Threshold:
    """The largest accepted risk of a row; ``source`` requires it."""

    name: str
    risk: float
    source: str | None = None

    @property
    def k(self) -> int:
        """The smallest class that does not exceed the threshold."""
        k = max(1, math.floor(1 / self.risk) - 1)
        while self.exceeded_by(k):
            k += 1
        return k

    def exceeded_by(self, members: int) -> bool:
        return 1 / members > self.risk


@dataclass(frozen=True)
class ThresholdResult:
    """Whether the smallest class of a table is large enough for a threshold, which requires ``k``.

    ``met`` is None if rows were counted, and a class may have fewer people.
    """

    name: str
    risk: float
    source: str | None
    k: int
    met: bool | None


_EL_EMAM = 'K. El Emam, "Guide to the De-Identification of Personal Health Information", CRC Press 2013, cell size'

PRESETS = (
    Threshold(
        "pdpc-internal",
        1 / 3,
        'Singapore, PDPC, "Guide to Basic Anonymisation", 2022: k = 3 for data shared inside an organisation',
    ),
    Threshold(
        "pdpc-external",
        1 / 5,
        'Singapore, PDPC, "Guide to Basic Anonymisation", 2022: k = 5 for data shared with others',
    ),
    Threshold("cell-of-five", 1 / 5, f"{_EL_EMAM} precedents: the rule that data custodians used most, 0.2"),
    Threshold(
        "us-health", 1 / 11, f"{_EL_EMAM} precedents: cells of 11 in public United States health data, and in CMS data"
    ),
    Threshold(
        "ema-0070",
        0.09,
        "European Medicines Agency, external guidance on Policy 0070, 2017: risk of at most 0.09 for published reports",
    ),
    Threshold("cell-of-twenty", 1 / 20, f"{_EL_EMAM} precedents: cells of 20 in public patient data, 0.05"),
)
"""From the weakest to the strictest."""

DEFAULT_THRESHOLD = "cell-of-five"


def threshold_of(given: str | float) -> Threshold:
    """Return the threshold of a name, or of a number (also written as 1/5)."""
    named = {preset.name: preset for preset in PRESETS}
    text = str(given).strip()
    if text in named:
        return named[text]
    try:
        risk = read_share(text) if text.endswith("%") else float(Fraction(text))
    except (ValueError, ZeroDivisionError, OverflowError):
        risk = math.nan
    if isinstance(given, bool) or not 0 < risk <= 1:
        raise UsageError(
            f"A threshold is a risk above 0 and at most 1, such as 0.2, 20% or 1/5, or one of {', '.join(named)}; "
            f"not {given!r}."
        )
    return Threshold(text, risk)


@dataclass(frozen=True)
class RiskSettings:
    """Settings of the risk of a table."""

    # members with a higher risk are counted
    threshold: Threshold = field(default_factory=lambda: threshold_of(DEFAULT_THRESHOLD))
    subsets: int | None = None  # columns of the largest subsets of quasi-identifiers to count; None means up to three
    # the share of a population that the table has; without it nothing is estimated
    sampling_fraction: float | None = None
    suda: int | None = None  # columns of the largest minimal sample uniques to score rows by; None scores none
    record_weight: str | None = None  # the column with the number of members of the population that a row stands for

    def __post_init__(self) -> None:
        if self.record_weight is not None and self.sampling_fraction is not None:
            raise UsageError("Record weights say how large the population is: leave out the sampling fraction.")
        if self.suda is not None and (isinstance(self.suda, bool) or self.suda < 1):
            raise UsageError(f"SUDA scores (--suda) are by sets of 1 column or more. Got {self.suda}.")
        fraction = self.sampling_fraction
        if fraction is not None and (isinstance(fraction, bool) or not 0 < fraction <= 1):
            raise UsageError(f"The sampling fraction is the share of the population, above 0 to 1, not {fraction}.")

    def population_of(self, members: int) -> int | None:
        """Return the size of the population that ``members`` are a sample from; None if unknown."""
        return (
            None if self.sampling_fraction is None else max(members, math.floor(members / self.sampling_fraction + 0.5))
        )


@dataclass(frozen=True)
class Risk:
    """What a table reveals to strangers about the people in it.

    Attributes:
        members: rows; if people are counted, records: the rows of one person in one class.
        people: distinct people; None if rows are counted.
        marketer: the share of members that are found by guessing; None for a table without rows.
        people_repeat: the column that names people with several rows each (or several columns that do together), if
            rows were counted anyway: then every risk of a person may be higher. Empty if none was found, or rows are
            meant.
    """

    counted: Literal["rows", "people"]
    members: int
    people: int | None
    classes: int
    smallest_class: int | None
    threshold: Threshold
    prosecutor: Prosecutor
    marketer: float | None
    journalist: Journalist | None
    thresholds: tuple[ThresholdResult, ...]
    histogram: tuple[Bin, ...]
    subsets: Subsets
    uniqueness: Uniqueness | None
    people_repeat: tuple[str, ...] = ()
    suda: Suda | None = None
    weighted: WeightedRisk | None = None

    @property
    def everybody(self) -> int:
        """The total for shares that are unique or above the threshold: rows, or distinct people."""
        return self.members if self.people is None else self.people

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values, as ``--format json`` prints them."""
        plain = asdict(self)
        plain["threshold"]["k"] = self.threshold.k
        plain["people_repeat"] = list(self.people_repeat)
        for subset in plain["subsets"]["found"]:
            subset["columns"] = list(subset["columns"])
        return plain

    def of_fewest(self, most: int) -> Risk:
        """Return the risk for classes that are counted as if each had the fewest people that it can have.

        It is unknown which people are in several of them, except that they are at most ``most`` people together. So
        shares of people are unknown, and so are averages and estimates over the members of a population's classes.
        """
        if self.people is None:
            return self
        people = min(self.people, most)
        prosecutor, journalist = self.prosecutor, self.journalist
        prosecutor = replace(
            prosecutor,
            above_threshold=min(prosecutor.above_threshold, people),
            share_above_threshold=None,
            uniques=min(prosecutor.uniques, people),
            share_unique=None,
        )
        if journalist is not None:
            above = min(journalist.above_threshold, people)
            journalist = replace(journalist, average=None, above_threshold=above, share_above_threshold=None)
        return replace(self, people=people, prosecutor=prosecutor, journalist=journalist, uniqueness=None)

    def unverified(self, people_repeat: Sequence[str]) -> Risk:
        """Return the same for a table that a check refused: no threshold is known to be met."""
        thresholds = tuple(replace(result, met=None) if result.met else result for result in self.thresholds)
        return replace(self, people_repeat=tuple(people_repeat), thresholds=thresholds)


def assess(
    engine: Engine,
    table: exp.Table,
    columns: Sequence[Column],
    settings: RiskSettings,
    *,
    entity: Column | None = None,
    population: Population | None = None,
    population_size: int | None = None,
    weights: Weights | None = None,
) -> Risk:
    """Return the risk of a table.

    ``population`` has all people that its rows could be about. ``population_size`` is the number of members of the
    population that the table is a sample of; if None, the weights or the sampling fraction give it.
    """
    largest = largest_subsets(settings.subsets, len(columns))
    tuples = collect(engine, table, columns, entity)
    sizes = tuples.sizes()
    k, smallest = settings.threshold.k, sizes.smallest
    people = None if entity is None else count_people(tuples, k)
    found = None if population is None else members_by_population_class(tuples, population, k)
    subsets = subset_risks(tuples, largest)
    suda = None
    if settings.suda is not None:
        suda = suda_scores(tuples, settings.suda, sizes.members, sizes.members if people is None else people.everybody)
    weighted = None if weights is None else weighted_risk(tuples, sizes.members, weights, settings.threshold.risk)
    tuples.drop()
    if weighted is not None and population_size is None:
        population_size = round(weighted.population)
    size = settings.population_of(sizes.members) if population_size is None else max(population_size, sizes.members)
    prosecutor = _prosecutor_risk(sizes, settings.threshold, people)
    return Risk(
        counted="rows" if entity is None else "people",
        members=sizes.members,
        people=None if people is None else people.everybody,
        classes=sizes.classes,
        smallest_class=smallest,
        threshold=settings.threshold,
        prosecutor=prosecutor,
        marketer=prosecutor.average,
        journalist=None if found is None else _journalist_risk(found[0], settings.threshold, found[1]),
        thresholds=tuple(  # a table without rows meets them all
            ThresholdResult(**vars(preset), k=preset.k, met=not (smallest and preset.exceeded_by(smallest)))
            for preset in PRESETS
        ),
        histogram=sizes.histogram(),
        subsets=subsets,
        uniqueness=None if size is None else population_uniqueness(Sample(dict(sizes.classes_of), size)),
        suda=suda,
        weighted=weighted,
    )


@dataclass(frozen=True)
class Prosecutor:
    """Risks of a person who is known to be in the table; None if a table has no rows.

    Shares, of all rows or of all people, are also None if it is not known who is in which class.
    """

    highest: float | None
    average: float | None  # over all members: rows, or records of people
    above_threshold: int  # rows whose risk is above the threshold, or distinct people with such a record
    share_above_threshold: float | None
    uniques: int  # rows that are alone in their class, or distinct people who are alone in one
    share_unique: float | None


@dataclass(frozen=True)
class Journalist:
    """Risks of a person who is only known to be in a population, as ``Prosecutor``.

    The smallest class is that of the population, among classes with members in the table.
    """

    smallest_class: int | None
    highest: float | None
    average: float | None
    above_threshold: int
    share_above_threshold: float | None


def _prosecutor_risk(sizes: SizeCounts, threshold: Threshold, people: PeopleAtRisk | None = None) -> Prosecutor:
    found = people or PeopleAtRisk(sizes.members, sizes.uniques, sizes.members_where(threshold.exceeded_by))
    return Prosecutor(
        highest=None if sizes.smallest is None else 1 / sizes.smallest,
        average=_share(sizes.classes, sizes.members),
        above_threshold=found.above_threshold,
        share_above_threshold=_share(found.above_threshold, found.everybody),
        uniques=found.alone,
        share_unique=_share(found.alone, found.everybody),
    )


def _journalist_risk(
    members_by_size: Mapping[int, int], threshold: Threshold, people: tuple[int, int] | None = None
) -> Journalist:
    members, smallest = sum(members_by_size.values()), min(members_by_size, default=None)
    above = sum(count for size, count in members_by_size.items() if threshold.exceeded_by(size))
    everybody, above = people or (members, above)
    return Journalist(
        smallest_class=smallest,
        highest=None if smallest is None else 1 / smallest,
        average=_share(sum(count / size for size, count in members_by_size.items()), members),
        above_threshold=above,
        share_above_threshold=_share(above, everybody),
    )


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
