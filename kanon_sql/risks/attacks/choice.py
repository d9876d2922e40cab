"""Choice: what can an attacker who knows how the release was chosen infer about sensitive values?

Local recoding publishes rows step by step. If a class of the remaining rows is large enough at a step and is not
published, it violates a model: it was held back. Its rows are in later classes, whose values are published. So

1. a class that was held back under l-diversity has at most l - 1 values, which are frequent enough in all later classes
   that hold its rows;
2. values that are certain for people are subtracted from the later classes;
3. both are repeated until nothing changes.

Every value that is ruled out is ruled out by proof, but the remaining values are not proven possible. So if the attack
fails, a better one is not excluded (Wong et al. 2007; Chhillar et al. 2025).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from kanon_sql.errors import counted
from kanon_sql.risks.attacks.verdicts import Attack, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_TUPLES = 200_000
"""Limit of tuples of quasi-identifiers and sensitive values to process."""
_MOST_SETS = 20_000
"""Limit of sets of values to compare a held-back class with."""

Keys = tuple[int, ...]
Value = Any
_Class = tuple[int, Keys]


@dataclass(frozen=True)
class Choice(Attack):
    """The inferences about one sensitive column by an attacker who knows the algorithm."""

    column: str
    algorithm: str
    rows: int
    rows_certain: int = 0  # rows whose value is certain, in classes with several values
    rows_certain_right: int = 0  # those for which this value is the true one
    rows_below: int = 0  # further rows with fewer possible values than the model promises
    held_back: int = 0  # classes that were held back
    all_or_none: bool = False  # whether the choice is of a kind that makes no value certain
    uncounted: str | None = None  # why nothing was counted although the choice may reveal something
    reason: str | None = None  # why this was not tested; None if it was
    name = "choice"

    @property
    def about(self) -> str:
        return self.column

    @property
    def succeeded(self) -> bool:
        """True if people have fewer possible values than the model promises."""
        return self.rows_certain > 0 or self.rows_below > 0

    @property
    def leaves_open(self) -> bool:
        return not self.all_or_none or self.uncounted is not None

    def sentence(self) -> str:
        if self.uncounted is not None:
            return f"{self.uncounted}. What {self.algorithm} did not publish tells something of sensitive values"
        if self.all_or_none:
            return "the choice all-or-none makes nobody's value certain to one who knows the algorithm"
        said = f"{share(self.rows_certain, self.rows)} are certain to one who knows that {self.algorithm} made it"
        if self.rows_certain:
            said += f", and of {self.rows_certain_right:,} it is right"
        if self.rows_below:
            said += f"; {share(self.rows_below, self.rows)} have fewer possible values than was promised"
        were = "was" if self.held_back == 1 else "were"
        return f"{said}; {counted(self.held_back, 'class', 'classes')} {were} held back. More may follow"

    def remedy(self, _sensitive: int) -> str:
        return '--algorithm mondrian with --choice all-or-none (choice = "all-or-none")'

    def figures(self) -> dict[str, Any]:
        found = dict(vars(self))
        found["not_tested"] = found.pop("reason")
        return found


@dataclass(frozen=True)
class Tuple:
    """Rows with the same quasi-identifiers and the same sensitive value, both coded."""

    keys: Keys
    value: Value
    rows: int


def attack_steps(tuples: Iterable[Tuple], masks: Sequence[Keys], k: int, values: int) -> tuple[int, int, int, int]:
    """Return the number of certain rows, of those that are correct, of further rows below, and of held-back classes.

    ``masks`` are the parts of each key that each step keeps. A held-back class of ``k`` rows has fewer than ``values``.
    """
    search = _Search(tuples, masks, k, values)
    changed = True
    while changed:
        changed = sum(map(search.rule_out, search.held_back)) > 0
        search.subtract_certain()
    return (*search.counted(), len(search.held_back))


class _Search:
    """The possible values of the people of each combination of quasi-identifiers."""

    def __init__(self, tuples: Iterable[Tuple], masks: Sequence[Keys], k: int, values: int) -> None:
        self.masks, self.k, self.values = masks, k, values
        self.truth: defaultdict[Keys, Counter[Value]] = defaultdict(Counter)
        for own in tuples:
            self.truth[own.keys][own.value] += own.rows
        self.rows = {keys: sum(counts.values()) for keys, counts in self.truth.items()}
        self.class_of: dict[Keys, _Class | None] = dict.fromkeys(self.truth)
        self.left: defaultdict[_Class, Counter[Value]] = defaultdict(Counter)
        self.held_back = [group for step in range(len(masks)) for group in self._take(step)]
        everything = frozenset(value for counts in self.truth.values() for value in counts)
        shown = {own: frozenset(counts) for own, counts in self.left.items()}
        self.possible = {keys: everything if own is None else shown[own] for keys, own in self.class_of.items()}
        self.open_before = {keys: len(possible) for keys, possible in self.possible.items()}
        self.subtracted: set[Keys] = set()

    def _take(self, step: int) -> list[list[Keys]]:
        """Publish the classes of a step; return the large enough ones that were held back."""
        classes: defaultdict[Keys, list[Keys]] = defaultdict(list)
        for keys, own in self.class_of.items():
            if own is None:
                classes[tuple(key & mask for key, mask in zip(keys, self.masks[step], strict=True))].append(keys)
        held_back = []
        for masked, members in classes.items():
            counts = sum(map(self.truth.__getitem__, members), Counter[Value]())
            if counts.total() < self.k:
                continue
            if len(counts) < self.values:
                held_back.append(members)
                continue
            self.left[step, masked] = counts
            self.class_of |= dict.fromkeys(members, (step, masked))
        return held_back

    def rule_out(self, group: list[Keys]) -> bool:
        """Rule out values that the members of a held-back class cannot have; return True if there were any."""
        needed: Counter[_Class] = Counter()
        for keys in group:
            own = self.class_of[keys]
            if own is not None and keys not in self.subtracted:
                needed[own] += self.rows[keys]
        fixed = frozenset[Value]().union(*(self.possible[keys] for keys in group if len(self.possible[keys]) == 1))
        candidates = frozenset[Value]().union(*(self.possible[keys] for keys in group))
        own_values = self._values_of(needed, fixed, candidates)
        if own_values is None:
            return False
        changed = False
        for keys in group:
            both = self.possible[keys] & own_values
            if both and both != self.possible[keys]:
                self.possible[keys], changed = both, True
        return changed

    def _values_of(
        self, needed: Counter[_Class], fixed: frozenset[Value], candidates: frozenset[Value]
    ) -> frozenset[Value] | None:
        """Return the values that people of a held-back class may have; None if unknown."""
        size = self.values - 1
        if len(fixed) > size or size >= len(candidates):
            return None
        found = set[Value]()
        for tried, some in enumerate(combinations(sorted(candidates), size)):
            if tried == _MOST_SETS:
                return None
            if fixed <= {*some} and all(sum(self.left[own][one] for one in some) >= n for own, n in needed.items()):
                found |= {*some}
        return frozenset(found) or None

    def subtract_certain(self) -> None:
        """Remove people with a certain value from their classes; the others have the remaining values."""
        for keys, possible in self.possible.items():
            own = self.class_of[keys]
            if len(possible) == 1 and own is not None and keys not in self.subtracted:
                self.left[own][next(iter(possible))] -= self.rows[keys]
                self.subtracted.add(keys)
        for keys, own in self.class_of.items():
            if own is not None and keys not in self.subtracted:
                there = frozenset(value for value, n in self.left[own].items() if n > 0)
                self.possible[keys] &= there

    def counted(self) -> tuple[int, int, int]:
        certain = right = below = 0
        for keys, possible in self.possible.items():
            if len(possible) >= min(self.values, self.open_before[keys]):
                continue
            if len(possible) == 1:
                certain += self.rows[keys]
                right += self.truth[keys][next(iter(possible))]
            else:
                below += self.rows[keys]
        return certain, right, below
