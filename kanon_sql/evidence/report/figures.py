"""The parts of a report: figures of a release, as plain data. No value that is not in the release is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ReportedRequirement:
    """What was required of every class, and the measure of the worst class of the output; None if it has no rows.

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
    """How many rows have a label, or one of several ``others``, in the output and before; or no label there (left out).

    ``label`` is None for NULL, and for other kinds; ``rows_in`` is None if it is not shown (see ``attributes``).
    """

    kind: Literal["label", "others", "left out"]
    label: str | None
    rows_out: int
    rows_in: int | None


@dataclass(frozen=True)
class DescribedColumn:
    """A column of the original, and what became of it."""

    name: str
    type: str
    role: str
    published: str
    hierarchy: str | None = None  # by which a quasi-identifier was generalized; ``chosen`` here if none was given
    chosen: bool = False
    height: int | None = None
    level: int | None = None  # its level in the output, of ``height``; None if cells have several


@dataclass(frozen=True)
class Attribute(DescribedColumn):
    """A column of a table that was released by itself."""

    labels: int | None = None  # different labels in the output
    loss: float | None = None  # what was measured of this column alone, 0 to 1; None if that cannot be
    distribution: tuple[LabelCount, ...] = ()
    hidden: bool = False  # whether the original's rows by label are not shown, or not all of them
    # of a column that is published as it is, or by a rule without a key, rows of the output that no other row is like
    # in it and in the labels of all quasi-identifiers; None of other columns
    rows_alone: int | None = None
    rule: str | None = None  # by which a column that is kept is published; None if it is published as it is


@dataclass(frozen=True)
class CurvePoint:
    """The release that another k would give; its figures are None if there is none. ``chosen`` is this release."""

    k: int
    chosen: bool
    loss: float | None
    rows_suppressed: int | None
    share_suppressed: float | None
    classes: int | None


@dataclass(frozen=True)
class Search:
    """How the release was searched for."""

    algorithm: str
    measure: str
    max_suppressed: float | str
    weights: dict[str, int | str]  # of columns; 1 for all others
    time_limit: float | None  # in seconds
    optimal: bool  # whether it is proven that no release of its kind is better
    gap: float | None  # how much less any could cost, as a share; None if that is not known
    stopped: str | None
    nodes_tested: int
    lattice_size: int
    steps: int | None
    rounds: int | None
    seed: int
    time_zone: str | None  # of labels and texts; None if no column has one

    @property
    def is_of_parts(self) -> bool:
        """Whether labels of one column may be of several levels: a local or multidimensional recoding."""
        return self.steps is not None or self.rounds is not None


@dataclass(frozen=True)
class Pseudonymized:
    """Identifying columns that are published as pseudonyms, by a key that was ``drawn`` or is from a ``key file``.

    ``fewest_alike``: for each column, how many pseudonyms at least are tied to rows alike; None if none stand for any.
    """

    columns: tuple[str, ...]
    key: str
    fewest_alike: dict[str, int | None]
