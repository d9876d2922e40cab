"""An oracle for what an algorithm's choice gives away: all assignments of sensitive values to people are gone through.

It shares nothing with the package. The attacker knows the quasi-identifiers of all people, the algorithm, its settings
and the release, and nothing about who has which sensitive value: all assignments are equally likely. The values are
those of the table (``People.values``), which the attacker knows too.

- A *world* gives each person a value. People with equal quasi-identifiers are exchangeable: a world is kept as how many
  people of each tuple have each value, and weighs as many assignments as a multinomial coefficient says.
- A world is *possible by the classes* if the people can be put into the published classes (each tuple into one whose
  labels cover it, or among the suppressed rows) so that every class has its rows and its values. Suppressed people may
  have any value. That is what the release shows if the choice reveals nothing.
- It is *consistent* if the algorithm makes the same release of it, as a multiset of rows. An algorithm publishes people
  with equal quasi-identifiers alike, so each consistent world is possible by the classes.

A person is *newly certain* if all consistent worlds give them one value and not all possible ones do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Row = tuple[Any, ...]
"""The values of quasi-identifiers, or the labels of a class."""
Counts = tuple[int, ...]
"""How many people have each sensitive value."""
World = tuple[Counts, ...]
"""The counts of each tuple of quasi-identifiers."""
Release = frozenset[tuple[Row, Counts]]
"""The labels of each class, with the counts of its values: the multiset of published rows."""

MOST_WORLDS = 20_000
_STATES_OF_A_WORLD = 40


class TooManyError(Exception):
    """More worlds are possible by the classes than are gone through."""


@dataclass(frozen=True)
class People:
    """The people of a table, as an attacker knows them.

    Attributes:
        tuples: the different tuples of quasi-identifiers.
        counts: how many people have each of them.
        values: how many sensitive values there are; they are 0, 1, ...
    """

    tuples: tuple[Row, ...]
    counts: tuple[int, ...]
    values: int

    @classmethod
    def of(cls, rows: Sequence[Row], sensitive: Sequence[int]) -> tuple[People, World]:
        """Return the people of a table, and the true world."""
        numbers = Counter(rows)
        tuples = tuple(sorted(numbers))
        values = max(sensitive) + 1
        pairs = Counter(zip(rows, sensitive, strict=True))
        world = tuple(tuple(pairs[own, value] for value in range(values)) for own in tuples)
        return cls(tuples, tuple(numbers[own] for own in tuples), values), world

    def weight(self, world: World) -> int:
        """Return how many assignments of values to people a world stands for."""
        return prod(factorial(n) // prod(map(factorial, own)) for n, own in zip(self.counts, world, strict=True))


def covers_by(trees: Sequence[dict[Any, list[str]]]) -> Callable[[Row, Row], bool]:
    """Return whether labels cover a tuple: each is the value itself, or a label above it in its tree."""

    def covers(labels: Row, own: Row) -> bool:
        return all(
            label == value or label in tree[value] for label, value, tree in zip(labels, own, trees, strict=True)
        )

    return covers


def published(labels: Sequence[Row | None], world: World) -> Release:
    """Return the release that publishes each tuple under labels, or not at all if they are None."""
    classes: dict[Row, Counts] = {}
    for label, own in zip(labels, world, strict=True):
        if label is not None:
            before = classes.get(label)
            classes[label] = own if before is None else tuple(map(int.__add__, before, own))
    return frozenset(classes.items())


def possible_worlds(
    people: People, release: Release, covers: Callable[[Row, Row], bool], most: int = MOST_WORLDS
) -> list[World]:
    """Return the worlds that are possible by the classes alone."""
    search = _Worlds(people, release, covers, most)
    room = [counts for _, counts in release]
    search.go(0, room, sum(people.counts) - sum(map(sum, room)))
    return sorted(search.found)


class _Worlds:
    """A search for worlds: tuple by tuple, each goes into a class, or out."""

    def __init__(self, people: People, release: Release, covers: Callable[[Row, Row], bool], most: int) -> None:
        self.people, self.most = people, most
        self.found: set[World] = set()
        self._visited = 0
        self._chosen: list[Counts] = [()] * len(people.tuples)
        # The tuples that fit few classes come first: fewer ways end in nothing.
        self._fits = [
            [place for place, (label, _) in enumerate(release) if covers(label, own)] for own in people.tuples
        ]
        self._order = sorted(
            range(len(people.tuples)), key=lambda number: (len(self._fits[number]), self._fits[number])
        )
        # Of the rows that a class has left, at most those of later tuples that fit it can come.
        self._later = [[0] * len(release)]
        for number in reversed(self._order):
            fitting = [people.counts[number] * (place in self._fits[number]) for place in range(len(release))]
            self._later.insert(0, list(map(int.__add__, self._later[0], fitting)))

    def go(self, depth: int, room: list[Counts], suppressed: int) -> None:
        """Go on with what classes have left, and how many more rows are left out."""
        self._visited += 1
        if len(self.found) > self.most or self._visited > _STATES_OF_A_WORLD * self.most:
            raise TooManyError
        if any(sum(left) > may for left, may in zip(room, self._later[depth], strict=True)):
            return
        if depth == len(self._order):
            self.found.add(tuple(self._chosen))
            return
        number = self._order[depth]
        n = self.people.counts[number]
        for place in self._fits[number]:
            for own in compositions(n, room[place]):
                self._chosen[number] = own
                left = tuple(map(int.__sub__, room[place], own))
                self.go(depth + 1, [*room[:place], left, *room[place + 1 :]], suppressed)
        if suppressed >= n:
            for own in compositions(n, (n,) * self.people.values):
                self._chosen[number] = own
                self.go(depth + 1, room, suppressed - n)


def compositions(n: int, most: Counts) -> Iterator[Counts]:
    """Return all counts of values that add up to n, none of them above what there is of the value."""
    if not most:
        if n == 0:
            yield ()
        return
    for first in range(max(0, n - sum(most[1:])), min(n, most[0]) + 1):
        for rest in compositions(n - first, most[1:]):
            yield (first, *rest)


@dataclass(frozen=True)
class Known:
    """What worlds say about people.

    Attributes:
        worlds: how many there are.
        shares: for each tuple, how likely each value is for a person of it.
        possible: for each tuple, the values that a person of it has in some world.
    """

    worlds: int
    shares: tuple[tuple[Fraction, ...], ...]
    possible: tuple[frozenset[int], ...]

    @property
    def largest(self) -> Fraction:
        """The largest posterior of any person's value."""
        return max(share for own in self.shares for share in own)

    def certain(self, number: int) -> bool:
        """Return True if all worlds give the people of a tuple one value."""
        return len(self.possible[number]) == 1


def known(people: People, worlds: Sequence[World]) -> Known:
    """Return what worlds say, each assignment being equally likely."""
    total = 0
    sums = [[0] * people.values for _ in people.tuples]
    for world in worlds:
        weight = people.weight(world)
        total += weight
        for own, counts in zip(sums, world, strict=True):
            for value, count in enumerate(counts):
                own[value] += weight * count
    shares = tuple(tuple(Fraction(one, n * total) for one in own) for n, own in zip(people.counts, sums, strict=True))
    possible = tuple(frozenset(value for value, share in enumerate(own) if share) for own in shares)
    return Known(len(worlds), shares, possible)


@dataclass(frozen=True)
class Outcome:
    """What a release gives away: by its classes alone, and to an attacker who knows the algorithm.

    Attributes:
        people: the people.
        before: what the classes show.
        after: what the consistent worlds show.
        in_class: the largest share of a value in a published class.
    """

    people: People
    before: Known
    after: Known
    in_class: Fraction

    @property
    def newly_certain(self) -> dict[Row, int]:
        """The tuples of people who are newly certain, and their value."""
        return {
            own: next(iter(self.after.possible[number]))
            for number, own in enumerate(self.people.tuples)
            if self.after.certain(number) and not self.before.certain(number)
        }

    @property
    def newly_certain_people(self) -> int:
        newly = self.newly_certain
        return sum(n for own, n in zip(self.people.tuples, self.people.counts, strict=True) if own in newly)

    def people_below(self, values: int) -> int:
        """Return how many people have fewer possible values than this in the consistent worlds, and had not before."""
        return sum(
            n
            for n, before, after in zip(self.people.counts, self.before.possible, self.after.possible, strict=True)
            if len(after) < values <= len(before)
        )


def outcome(
    people: People,
    truth: World,
    covers: Callable[[Row, Row], bool],
    releases_of: Callable[[Sequence[World]], Iterable[Release | None]],
    most: int = MOST_WORLDS,
) -> Outcome | None:
    """Return what the release of the true world gives away; None if there is no release with rows.

    Args:
        people: the people.
        truth: their true values.
        covers: whether the labels of a class cover a tuple.
        releases_of: runs the algorithm on worlds, and returns a release for each; None if it refuses the world.
        most: the number of possible worlds above which ``TooManyError`` is raised.
    """
    (release,) = releases_of([truth])
    if not release:
        return None
    worlds = possible_worlds(people, release, covers, most)
    consistent = [world for world, own in zip(worlds, releases_of(worlds), strict=True) if own == release]
    assert truth in consistent, "the algorithm publishes alike people in different ways, or draws at random"
    in_class = max(Fraction(max(counts), sum(counts)) for _, counts in release)
    return Outcome(people, known(people, worlds), known(people, consistent), in_class)


def each(release_of: Callable[[World], Release | None]) -> Callable[[Sequence[World]], Iterable[Release | None]]:
    """Return a function of many worlds, from that of one."""
    return lambda worlds: map(release_of, worlds)
