"""The probability that somebody is found, under three suppositions about who is looking.

- The prosecutor knows that the person is in the table: one of a class of s is found with probability 1/s.
- The journalist knows of a population that the table was drawn from, and not who of it is in the table: what counts
  is the size S of the same class in the population, 1/S.
- The marketer wants to find as many as possible and does not mind errors: of a class, one guess in s is right, so that
  of the whole table a share of (classes)/(members) is found, which is the mean of the prosecutor's risks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.risks.class_sizes import ClassSizes
    from kanon_sql.risks.thresholds import Threshold


@dataclass(frozen=True)
class Prosecutor:
    """The risks of who is known to be in the table; None where a table has no rows.

    Attributes:
        highest: of a member of the smallest class.
        average: over all members.
        above_threshold: members whose risk is above the threshold.
        share_above_threshold: their share of all members.
        uniques: members that are alone in their class.
        share_unique: their share of all members.
    """

    highest: float | None
    average: float | None
    above_threshold: int
    share_above_threshold: float | None
    uniques: int
    share_unique: float | None


@dataclass(frozen=True)
class Journalist:
    """The risks of who is in the table if the class of the population is where they are looked for.

    Attributes:
        smallest_class: members of the smallest class of the population that the table has members of.
        highest: the risk of a member of it; None where a table has no rows.
        average: over all members of the table.
        above_threshold: members of the table whose risk is above the threshold.
        share_above_threshold: their share of all members of the table.
    """

    smallest_class: int | None
    highest: float | None
    average: float | None
    above_threshold: int
    share_above_threshold: float | None


def prosecutor_risk(sizes: ClassSizes, threshold: Threshold) -> Prosecutor:
    """Return the prosecutor's risks in classes of these sizes."""
    members, smallest, uniques = sizes.members, sizes.smallest, sizes.uniques
    above = sizes.members_where(threshold.exceeded_by)
    return Prosecutor(
        highest=None if smallest is None else 1 / smallest,
        average=_share(sizes.classes, members),
        above_threshold=above,
        share_above_threshold=_share(above, members),
        uniques=uniques,
        share_unique=_share(uniques, members),
    )


def journalist_risk(members_by_size: Mapping[int, int], threshold: Threshold) -> Journalist:
    """Return the journalist's risks.

    Args:
        members_by_size: for each size of a class of the population, the members of the table in such classes.
        threshold: above which members are counted.
    """
    members, smallest = sum(members_by_size.values()), min(members_by_size, default=None)
    above = sum(count for size, count in members_by_size.items() if threshold.exceeded_by(size))
    return Journalist(
        smallest_class=smallest,
        highest=None if smallest is None else 1 / smallest,
        average=_share(sum(count / size for size, count in members_by_size.items()), members),
        above_threshold=above,
        share_above_threshold=_share(above, members),
    )


def _share(part: float, whole: int) -> float | None:
    return part / whole if whole else None
