"""The probability that somebody is found, under three suppositions about who is looking.

- The prosecutor knows that the person is in the table: one of a class of s is found with probability 1/s.
- The journalist knows of a population that the table was drawn from, and not who of it is in the table: what counts
  is the size S of the same class in the population, 1/S.
- The marketer wants to find as many as possible and does not mind errors: of a class, one guess in s is right, so that
  of the whole table a share of (classes)/(members) is found, which is the mean of the prosecutor's risks.

Where people are counted, a member is a record: what one person has in one class. Averages are over records. Who is
counted (unique, or above a threshold) are distinct people: each once, in however many classes she is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.risks.estimators.people import PeopleAtRisk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kanon_sql.risks.estimators.class_sizes import SizeCounts
    from kanon_sql.risks.estimators.thresholds import Threshold


@dataclass(frozen=True)
class Prosecutor:
    """The risks of who is known to be in the table; None where a table has no rows.

    Attributes:
        highest: of a member of the smallest class.
        average: over all members: rows, or records of people.
        above_threshold: rows whose risk is above the threshold, or distinct people who have such a record.
        share_above_threshold: their share of all rows, or of all people.
        uniques: rows that are alone in their class, or distinct people who are alone in one.
        share_unique: their share of all rows, or of all people.
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
        average: over all members of the table: rows, or records of people.
        above_threshold: rows of the table whose risk is above the threshold, or distinct people who have such a record.
        share_above_threshold: their share of all rows of the table, or of all its people.
    """

    smallest_class: int | None
    highest: float | None
    average: float | None
    above_threshold: int
    share_above_threshold: float | None


def prosecutor_risk(sizes: SizeCounts, threshold: Threshold, people: PeopleAtRisk | None = None) -> Prosecutor:
    """Return the prosecutor's risks in classes of these sizes.

    Args:
        sizes: of the classes.
        threshold: above which members are counted.
        people: distinct people, where they are counted.
    """
    found = people or PeopleAtRisk(sizes.members, sizes.uniques, sizes.members_where(threshold.exceeded_by))
    return Prosecutor(
        highest=None if sizes.smallest is None else 1 / sizes.smallest,
        average=_share(sizes.classes, sizes.members),
        above_threshold=found.above_threshold,
        share_above_threshold=_share(found.above_threshold, found.everybody),
        uniques=found.alone,
        share_unique=_share(found.alone, found.everybody),
    )


def journalist_risk(
    members_by_size: Mapping[int, int], threshold: Threshold, people: tuple[int, int] | None = None
) -> Journalist:
    """Return the journalist's risks.

    Args:
        members_by_size: for each size of a class of the population, the members of the table in such classes.
        threshold: above which members are counted.
        people: distinct people of the table, and those of them above the threshold, where they are counted.
    """
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
