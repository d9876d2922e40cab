"""How many classes there are of each size: what every figure of risk is computed from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FROM = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Bin:
    """Classes of similar sizes.

    Attributes:
        least, most: sizes from and to; the last bin has no end.
        classes: classes of these sizes.
        members: rows in them; where people are counted, records, somebody in two classes being two.
    """

    least: int
    most: int | None
    classes: int
    members: int

    @property
    def name(self) -> str:
        """The sizes as people write them: 1, 3-4, 100+."""
        if self.most is None:
            return f"{self.least}+"
        return str(self.least) if self.most == self.least else f"{self.least}-{self.most}"


@dataclass(frozen=True)
class SizeCounts:
    """The classes of a table by their size.

    Attributes:
        classes_of: for each size that occurs, how many classes have it.
    """

    classes_of: Mapping[int, int]

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return sum(self.classes_of.values())

    @property
    def members(self) -> int:
        """Rows in all classes; where people are counted, records: somebody in two classes is two."""
        return sum(size * classes for size, classes in self.classes_of.items())

    @property
    def smallest(self) -> int | None:
        """The size of the smallest class; None if there is none."""
        return min(self.classes_of, default=None)

    @property
    def uniques(self) -> int:
        """Members that are alone in their class."""
        return self.classes_of.get(1, 0)

    def members_where(self, holds: Callable[[int], bool]) -> int:
        """Return how many members are in classes of sizes for which something holds."""
        return sum(size * classes for size, classes in self.classes_of.items() if holds(size))

    def histogram(self) -> tuple[Bin, ...]:
        """Return the classes in bins of similar sizes, also in those that are empty."""
        ends: list[int | None] = [start - 1 for start in _FROM[1:]]
        return tuple(self._bin(least, most) for least, most in zip(_FROM, [*ends, None], strict=True))

    def _bin(self, least: int, most: int | None) -> Bin:
        last = math.inf if most is None else most
        inside = {size: classes for size, classes in self.classes_of.items() if least <= size <= last}
        return Bin(least, most, sum(inside.values()), sum(size * classes for size, classes in inside.items()))
