"""How much risk is too much: thresholds that people are asked for, with who asks, and any other by its number.

A row in a class of s members is found with probability 1/s. It is above a threshold if 1/s is greater, so that each
threshold asks for a smallest class: 0.2 for 5, and 0.09 for 12, since 1/11 is greater.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from kanon_sql.errors import UsageError
from kanon_sql.measures.shares import read_share


@dataclass(frozen=True)
class Threshold:
    """The greatest risk of a row that is accepted.

    Attributes:
        name: of a preset; otherwise the number as it was given.
        risk: the greatest risk.
        source: who asks for it.
    """

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
        """Tell whether one of so many members is found with a probability above the threshold."""
        return 1 / members > self.risk


@dataclass(frozen=True)
class ThresholdResult:
    """Whether a table meets a threshold: whether its smallest class is large enough.

    Attributes:
        name, risk, source: as of the threshold.
        k: the smallest class that meets it.
        met: whether every class of the table does; None where rows were counted, and a class may have fewer people.
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
    """Return the threshold of a name, or of a number (also written as 1/5).

    Raises:
        UsageError: it is no preset, and no probability that a class can have.
    """
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


def met_thresholds(smallest: int | None) -> tuple[ThresholdResult, ...]:
    """Return whether a table with this smallest class meets each preset; one without rows meets them all."""
    return tuple(
        ThresholdResult(
            preset.name,
            preset.risk,
            preset.source,
            preset.k,
            met=smallest is None or not preset.exceeded_by(smallest),
        )
        for preset in PRESETS
    )
