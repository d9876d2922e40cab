"""Brute force over all possible worlds of two releases: who is singled out, and whose sensitive value is certain.

It shares nothing with the package. The attacker knows every row's quasi-identifiers and that all rows are in the table.
A world gives each row of the original a place in each release that its values fit (or none) and one sensitive value for
both, so that every class has its rows and its values. Rows that could have the same places are exchanged in all ways:
worlds are counted through as paths from row to row over what is left of the classes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

OUT = "out"
"""The place of a row that a release leaves out."""
ANY = object()
"""The value of a row that both releases leave out, of which nothing is known."""


@dataclass(frozen=True)
class Published:
    """One release.

    Attributes:
        fits: for each row of the original, the labels of the classes that it can be in.
        rows: labels, sensitive value (None where there is no such column) and true row of the original, of each row.
    """

    fits: list[set[Any]]
    rows: list[tuple[Any, Any, int]]

    def room(self, length: int) -> Counter[Any]:
        """Return how many rows there are of each class and value, and how many rows are left out."""
        room = Counter((label, value) for label, value, _ in self.rows)
        room[OUT, ANY] = length - len(self.rows)
        return room


def places(releases: list[Published], length: int) -> list[set[tuple[Any, ...]]]:
    """Return for each row of the original what it can be in some world: its value, and its class in each release."""
    rooms = [release.room(length) for release in releases]
    keys = [(side, key) for side, room in enumerate(rooms) for key in room]
    number = {key: place for place, key in enumerate(keys)}
    start = tuple(rooms[side][key] for side, key in keys)
    options = []
    for row in range(length):
        by_side = [
            [key for key in room if key == (OUT, ANY) or key[0] in release.fits[row]]
            for release, room in zip(releases, rooms, strict=True)
        ]
        combined: list[list[Any]] = [[]]
        for own in by_side:
            combined = [[*before, key] for before in combined for key in own]
        options.append([keys_ for keys_ in combined if len({value for _, value in keys_ if value is not ANY}) <= 1])
    # 1. Forwards: what can be left of the classes before each row.
    layers = [{start}]
    for row in range(length):
        layers.append({left for state in layers[-1] for _, left in _steps(state, options[row], number)})
    # 2. Backwards: what a row can be, where all rows after it have a place.
    ends = {state for state in layers[-1] if not any(state)}
    found: list[set[tuple[Any, ...]]] = [set() for _ in range(length)]
    for row in reversed(range(length)):
        before = set()
        for state in layers[row]:
            for chosen, left in _steps(state, options[row], number):
                if left in ends:
                    before.add(state)
                    found[row].add(tuple(chosen))
        ends = before
    return found


def _steps(state: tuple[int, ...], options: list[list[Any]], number: dict[Any, int]) -> Any:
    for chosen in options:
        taken = [number[side, key] for side, key in enumerate(chosen)]
        if all(state[place] for place in taken):
            left = list(state)
            for place in taken:
                left[place] -= 1
            yield chosen, tuple(left)


@dataclass(frozen=True)
class Outcome:
    """What two releases give away: rows that are singled out, and those whose value becomes certain."""

    singled_out: set[int]
    certain: set[int]


def subtract(releases: list[Published], length: int, k: int, owners: list[Any], least: int = 2) -> Outcome:
    """Return whom two releases give away who is safe in each of them alone.

    Args:
        releases: the two.
        length: rows of the original.
        k: so many people must be candidates.
        owners: the person of each row of the original; None is nobody.
        least: so many values must be possible.
    """
    joint = places(releases, length)
    alone = [places([release], length) for release in releases]
    singled, certain = set(), set()
    for row in range(length):
        if owners[row] is None:
            continue
        for side, release in enumerate(releases):
            if row not in {own for _, _, own in release.rows}:
                continue
            can_be = {chosen[side] for chosen in joint[row]}
            people = {owners[own] for label, value, own in release.rows if (label, value) in can_be} - {None}
            if len(people) < k:
                singled.add(row)
        values = _values(joint[row])
        if values is not None and len(values) < least:
            before = [_values(found[row]) for found in alone]
            if all(own is None or len(own) >= least for own in before):
                certain.add(row)
    return Outcome(singled, certain)


def _values(found: set[tuple[Any, ...]]) -> set[Any] | None:
    """Return the values that a row can have; None where it can have any."""
    values = set()
    for chosen in found:
        known = [value for _, value in chosen if value is not ANY]
        if not known:
            return None
        values.add(known[0])
    return values
