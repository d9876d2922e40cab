"""The parts of a report: figures of a release, as plain data, without values that are not in the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ReportedRequirement:
    """A requirement on every class, and the measure of the worst class of the output; None if it has no rows.

    ``entity`` is the column that names people, if people are counted.
    """

    model: str
    letter: str
    sensitive: str | None
    entity: str | None
    required: float
    measured: float | None
    holds: bool


@dataclass(frozen=True)
class LabelCount:
    """Rows in the output and before with a label, with one of several ``others``, or with no label there (left out).

    ``label`` is None for NULL and for other kinds; ``rows_in`` is None if it is not shown (see ``attributes``).
    """

    kind: Literal["label", "others", "left out"]
    label: str | None
    rows_out: int
    rows_in: int | None


@dataclass(frozen=True)
class DescribedColumn:
    """A column of the original and its treatment."""

    name: str
    type: str
    role: str
    published: str
    hierarchy: str | None = None  # generalizes a quasi-identifier; ``chosen`` here if none was given
    chosen: bool = False
    height: int | None = None
    level: int | None = None  # its level in the output, from 0 to ``height``; None if cells have several


@dataclass(frozen=True)
class Attribute(DescribedColumn):
    """A column of a table that was released by itself."""

    labels: int | None = None  # distinct labels in the output
    loss: float | None = None  # the loss of this column alone, 0 to 1; None if it cannot be measured
    distribution: tuple[LabelCount, ...] = ()
    hidden: bool = False  # True if some or all of the original's rows by label are not shown
    # for a column that is published unchanged, or by a rule without a key: rows of the output that no other row equals
    # in it and in the labels of all quasi-identifiers; None for other columns
    rows_alone: int | None = None
    rule: str | None = None  # publishes a kept column; None if it is published unchanged


@dataclass(frozen=True)
class CurvePoint:
    """The release for another k; its figures are None if there is none. ``chosen`` marks this release."""

    k: int
    chosen: bool
    loss: float | None
    rows_suppressed: int | None
    share_suppressed: float | None
    classes: int | None


@dataclass(frozen=True)
class Search:
    """The search for the release."""

    algorithm: str
    measure: str
    max_suppressed: float | str
    weights: dict[str, int | str]  # by column; 1 for all others
    time_limit: float | None  # in seconds
    optimal: bool  # True if it is proven that no release of its kind is better
    gap: float | None  # how much less any release could cost, as a share; None if it is not known
    stopped: str | None
    nodes_tested: int
    lattice_size: int
    steps: int | None
    rounds: int | None
    seed: int
    time_zone: str | None  # of labels and texts; None if no column has one

    @property
    def is_of_parts(self) -> bool:
        """True if labels of one column may be on several levels: a local or multidimensional recoding."""
        return self.steps is not None or self.rounds is not None


@dataclass(frozen=True)
class Pseudonymized:
    """Identifying columns that are published as pseudonyms, by a key that was ``drawn`` or is from a ``key file``.

    ``fewest_alike``: for each column, the minimum number of pseudonyms that link equal rows; None if there are none.
    """

    columns: tuple[str, ...]
    key: str
    fewest_alike: dict[str, int | None]
