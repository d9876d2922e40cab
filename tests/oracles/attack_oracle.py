"""An oracle for attacks that shares nothing with the package: loops over rows, by the definitions of docs/attacks.md.

The original is a list of tuples of quasi-identifier values and a list of sensitive values; a release is a list of
tuples of labels and a list of sensitive values. A value's labels upwards come from ``brute_force.labels``; numbers have
themselves and the root.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Release:
    """Published rows."""

    labels: list[Row]
    sensitive: list[Any]


def covered(
    values: list[Any], labels: list[Any], upwards: Callable[[Any], list[Any]], *, one_level: bool = True
) -> dict[Any, set[Any]]:
    """Return the values of a column of the original that each label of the release covers.

    Labels are read on the levels that all of them are on, or with ``one_level`` unset wherever each of them is.
    """
    rows, released = Counter(values), Counter(labels)
    heights = range(len(upwards(None)))
    under = {
        (label, level): {value for value in rows if upwards(value)[level] == label}
        for label in released
        for level in heights
    }
    enough = {key for key, own in under.items() if own and sum(rows[value] for value in own) >= released[key[0]]}
    common = [level for level in heights if all((label, level) in enough for label in released)]
    found = {}
    for label in released:
        levels = common if common and one_level else heights
        found[label] = set().union(*(under[label, level] for level in levels))
        if not common and not any((label, level) in enough for level in heights):
            found[label] |= {value for value in rows if value in read(label)}
    return found


class Within:
    """The numbers of a range, and NULL beside it."""

    def __init__(self, low: int, high: int, *, null: bool) -> None:
        self.low, self.high, self.null = low, high, null

    def __contains__(self, value: Any) -> bool:
        return self.null if value is None else isinstance(value, int) and self.low <= value <= self.high


def read(label: Any) -> Any:
    """Return what a set or a range stands for."""
    number = r"(-?\d+)"
    text = str(label)
    if match := re.fullmatch(rf"\[{number}-{number}\]", text):
        return Within(int(match[1]), int(match[2]), null=False)
    if match := re.fullmatch(rf"\{{\\N, \[{number}-{number}\]\}}", text):
        return Within(int(match[1]), int(match[2]), null=True)
    if match := re.fullmatch(rf"\{{\\N, {number}\}}", text):
        return {None, int(match[1]), match[1]}
    if text.startswith("{") and text.endswith("}"):
        return {None if member == r"\N" else re.sub(r"\\(.)", r"\1", member) for member in _members(text[1:-1])}
    return set()


def _members(text: str) -> list[str]:
    return re.split(r"(?<!\\), ", text)  # no value of a test ends with a backslash


def candidates(original: list[Row], release: Release, upwards: list[Callable[[Any], list[Any]]]) -> list[list[int]]:
    """Return for each row of the original the numbers of the rows of the release that it can be.

    That is the rows whose labels cover it, of those classes that it can be in beside all other rows. Labels are read on
    one level, unless the rows of the release cannot all be rows of the original then.
    """
    classes = _covering(original, release, upwards, one_level=True)
    if not _all_matched(release.labels, list(range(len(original))), classes):
        classes = _covering(original, release, upwards, one_level=False)
    left = settled(original, classes, Counter(release.labels))
    return [[number for number, labels in enumerate(release.labels) if labels in own] for own in left]


def _covering(
    original: list[Row], release: Release, upwards: list[Callable[[Any], list[Any]]], *, one_level: bool
) -> list[set[Row]]:
    """Return for each row of the original the classes whose labels cover it."""
    covers = [
        covered([row[place] for row in original], [row[place] for row in release.labels], own, one_level=one_level)
        for place, own in enumerate(upwards)
    ]
    return [
        {
            labels
            for labels in set(release.labels)
            if all(value in cover[label] for value, cover, label in zip(row, covers, labels, strict=True))
        }
        for row in original
    ]


def linkage(found: list[list[int]], release: Release, k: int) -> dict[str, Any]:
    """Return the figures of linkage."""
    classes = [{release.labels[number] for number in own} for own in found]
    sizes = [len(own) for own in found]
    return {
        "k": k,
        "rows": len(found),
        "rows_without_class": sizes.count(0),
        "rows_with_one_class": sum(len(own) == 1 for own in classes),
        "smallest_single_class": min(
            (size for size, own in zip(sizes, classes, strict=True) if len(own) == 1), default=None
        ),
        "smallest": min((size for size in sizes if size), default=None),
        "rows_below_k": sum(0 < size < k for size in sizes),
    }


def homogeneity(found: list[list[int]], release: Release, true: list[Any], share: tuple[int, int]) -> dict[str, int]:
    """Return the figures of homogeneity at a confidence of one number in another, above a half."""
    counts = [Counter(release.sensitive[number] for number in own) for own in found]
    certain = [len(own) == 1 for own in counts]
    best = [own.most_common(1)[0] if own else (None, 0) for own in counts]
    sure = [
        bool(own) and most * share[1] >= share[0] * own.total() for own, (_, most) in zip(counts, best, strict=True)
    ]
    right = [bool(own) and guess == value for own, (guess, _), value in zip(counts, best, true, strict=True)]
    return {
        "rows_certain": sum(certain),
        "rows_certain_right": sum(a and b for a, b in zip(certain, right, strict=True)),
        "rows_confident": sum(sure),
        "rows_confident_right": sum(a and b for a, b in zip(sure, right, strict=True)),
    }


def background(found: list[list[int]], release: Release, m: int) -> int:
    """Return the rows of the original that are certain after ruling out values."""
    different = [len({release.sensitive[number] for number in own}) for own in found]
    return sum(0 < number <= m + 1 for number in different)


def settled(original: list[Row], classes: list[set[Row]], sizes: Counter[Row]) -> list[frozenset[Row]]:
    """Return the classes that each row can be in, if every published row is another row of the original.

    Each row is put into each class that fits it; what is left of the release must then still fit other rows, which is
    tried by matching them one by one. Where that is impossible for all, the release is not one of this table: then
    nothing is ruled out.

    Args:
        original: the rows.
        classes: the classes whose labels cover each row.
        sizes: rows of each class.
    """
    known: dict[tuple[Row, Row], bool] = {}

    def possible(row: int, one: Row) -> bool:
        if (original[row], one) not in known:
            slots = list((sizes - Counter([one])).elements())
            others = [number for number in range(len(original)) if number != row]
            known[original[row], one] = _all_matched(slots, others, classes)
        return known[original[row], one]

    found = [frozenset(one for one in own if possible(row, one)) for row, own in enumerate(classes)]
    return found if any(found) else [frozenset(own) for own in classes]


def _all_matched(slots: list[Row], rows: list[int], classes: list[set[Row]]) -> bool:
    """Tell whether each published row can be another row of the original (Kuhn's algorithm)."""
    taken: dict[int, int] = {}

    def place(slot: int, tried: set[int]) -> bool:
        for row in rows:
            if row not in tried and slots[slot] in classes[row]:
                tried.add(row)
                if row not in taken or place(taken[row], tried):
                    taken[row] = slot
                    return True
        return False

    return all(place(slot, set()) for slot in range(len(slots)))


def joint(
    original: list[Row], first: list[set[Row]], second: list[set[Row]], releases: tuple[Release, Release], k: int
) -> tuple[list[int], list[int]]:
    """Return with how many people each row is left that is in one of two releases; and the rows of each such group.

    Args:
        original: the rows.
        first: for each row, the classes of the first release that it can be in.
        second: ... of the second.
        releases: the two.
        k: the smallest group that is allowed.
    """
    sizes = [Counter(release.labels) for release in releases]
    sides = [[frozenset(own) for own in side] for side in (first, second)]
    nothing = frozenset[Row]()
    alike = Counter(both for both in zip(*sides, strict=True) if any(both))
    same = Counter(map(frozenset, first)) == Counter(map(frozenset, second)) and _covers(original, first, sizes[0]) == (
        _covers(original, second, sizes[1])
    )
    disjoint = all(len(own) <= 1 for side in (first, second) for own in side)
    found = []
    for both in zip(*sides, strict=True):
        if not any(both):
            continue
        if same and not disjoint:
            found.append(min(sizes[0][one] for one in both[0]))
        elif len(both[0]) <= 1 and len(both[1]) <= 1:
            found.append(alike[both])
        else:
            pairs = [
                (frozenset([a]) if a else nothing, frozenset([b]) if b else nothing)
                for a in both[0] or [None]
                for b in both[1] or [None]
            ]
            found.append(alike[both] + min(alike[pair] for pair in pairs))
    return found, [size for size in found if size < k]


def _covers(original: list[Row], classes: list[set[Row]], sizes: Counter[Row]) -> Counter[Any]:
    return Counter(
        (size, frozenset(row for row, own in zip(original, classes, strict=True) if one in own))
        for one, size in sizes.items()
    )
