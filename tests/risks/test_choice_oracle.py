"""The oracle for what an algorithm's choice gives away, and the replays that it runs instead of kanon."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest
from choice import (
    People,
    TooManyError,
    covers_by,
    each,
    known,
    outcome,
    possible_worlds,
    published,
)
from choice_replays import Asked, Replay, Table, by_kanon, random_table, random_world, settings
from effort import seeds_of

from kanon_sql.policy.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from choice import Release, World

TREE = {"a0": ["*"], "a1": ["*"], "a2": ["*"]}
COVERS = covers_by([TREE])
FIVE = [("a0",), ("a0",), ("a1",), ("a1",), ("a1",)]
"""Two people are a0, three are a1."""


def apart_if_diverse(people: People) -> Callable[[Sequence[World]], Iterable[Release | None]]:
    """Return an algorithm: each tuple is a class if all of them have two values, else the table is one class."""

    def release_of(world: World) -> Release | None:
        diverse = all(sum(map(bool, counts)) > 1 for counts in world)
        return published([own if diverse else ("*",) for own in people.tuples], world)

    return each(release_of)


def test_a_class_that_was_not_divided_gives_values_away() -> None:
    """One 1 among five: a0 or a1 has zeros only. That holds in all ten worlds, and says nothing of a person."""
    people, truth = People.of(FIVE, [0, 0, 0, 0, 1])
    found = outcome(people, truth, COVERS, apart_if_diverse(people))
    assert found is not None
    assert not found.newly_certain
    assert found.before == found.after
    assert found.in_class == Fraction(4, 5)


def test_five_people() -> None:
    """Two 1 and three 0: not divided, so that a0 is 00 or 11, or a1 is 000. In 10 worlds there are 1 + 3 of these."""
    people, truth = People.of(FIVE, [0, 0, 0, 1, 1])
    found = outcome(people, truth, COVERS, apart_if_diverse(people))
    assert found is not None
    assert (found.before.worlds, found.after.worlds) == (3, 2), "worlds by the counts of each tuple"
    assert found.before.shares == ((Fraction(3, 5), Fraction(2, 5)),) * 2
    assert found.after.shares == ((Fraction(3, 4), Fraction(1, 4)), (Fraction(2, 4), Fraction(2, 4)))
    assert not found.newly_certain


def test_a_person_who_is_newly_certain() -> None:
    """Four a0 and one a1, who makes no class of two values: an algorithm that divides if a1 is 0 says that a1 is 1."""
    people, truth = People.of([("a0",)] * 4 + [("a1",)], [0, 0, 0, 1, 1])

    def release_of(world: World) -> Release | None:
        return published([own if world[1] == (1, 0) else ("*",) for own in people.tuples], world)

    found = outcome(people, truth, COVERS, each(release_of))
    assert found is not None
    assert found.newly_certain == {("a1",): 1}
    assert found.newly_certain_people == 1
    assert found.people_below(2) == 1
    assert (found.before.largest, found.after.largest) == (Fraction(3, 5), Fraction(1))


def test_worlds_are_all_assignments_that_the_classes_allow() -> None:
    """Compare with a loop over all assignments and all ways to put tuples into classes."""
    for seed in range(40):
        random = Random(seed)  # noqa: S311 - a table, not a secret
        rows = [(random.choice(["a0", "a1", "a2"]),) for _ in range(6)]
        people, truth = People.of(rows, [0, 1, *random.choices([0, 1, 2], k=4)])
        labels = [random.choice([own, ("*",), None]) for own in people.tuples]
        release = published(labels, truth)
        expected: Counter[World] = Counter()
        for values in product(range(people.values), repeat=len(rows)):
            in_order = sorted(rows)
            world = tuple(
                tuple(
                    sum(own == row and one == value for row, one in zip(in_order, values, strict=True))
                    for value in range(people.values)
                )
                for own in people.tuples
            )
            ways = product(*([own, ("*",), None] for own in people.tuples))
            if any(published(way, world) == release for way in ways):
                expected[world] += 1
        found = possible_worlds(people, release, COVERS)
        assert {world: people.weight(world) for world in found} == dict(expected)
        shares = known(people, found).shares
        assert all(sum(own) == 1 for own in shares)


def test_too_many_worlds_are_not_gone_through() -> None:
    rows = [(f"a{n}",) for n in range(12)]
    people, truth = People.of(rows, [0, 1] * 6)
    covers = covers_by([{f"a{n}": ["*"] for n in range(12)}])
    release = published([("*",)] * 12, truth)
    assert len(possible_worlds(people, release, covers)) == 924
    with pytest.raises(TooManyError):
        possible_worlds(people, release, covers, most=900)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_k_alone_gives_nothing_away(algorithm: str) -> None:
    """Under k the choice does not read sensitive values: every world has classes of the same labels and sizes."""
    for seed in range(3):
        random = Random(seed)  # noqa: S311 - a table, not a secret
        table = random_table(random, values=2)
        with Replay(table, Asked(2)) as replay:
            releases_of = replay.releases_of(algorithm)
            worlds = [table.truth, *(random_world(random, table.people) for _ in range(20))]
            sizes = {frozenset((label, sum(counts)) for label, counts in own or ()) for own in releases_of(worlds)}
            assert len(sizes) == 1
            if ALGORITHMS[algorithm].kind == "full-domain":  # labels tell who is in which class
                found = outcome(table.people, table.truth, covers_by(table.trees), releases_of)
                assert found is not None
                assert found.before == found.after


ASKED = [
    Asked(k, l=diversity, alpha=alpha, max_suppressed=suppressed)
    for k in (2, 3)
    for diversity, alpha in ((2, None), (3, None), (1, 0.6))
    for suppressed in (0, 2, 4)
]


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_replays_are_what_kanon_releases(algorithm: str) -> None:
    """Of the true world and of a random one."""
    for seed in seeds_of(40, quick=4):
        random = Random(seed)  # noqa: S311 - a table, not a secret
        table = random_table(random, values=random.choice([2, 2, 3]), rows=(8, 20))
        asked = random.choice(list(settings(algorithm, ASKED)))
        worlds = [table.truth, random_world(random, table.people)]
        with Replay(table, asked) as replay:
            found = list(replay.releases_of(algorithm)(worlds))
        assert found == [by_kanon(table, asked, algorithm, world) for world in worlds], f"seed {seed}, {asked}"


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-plus"])
def test_replays_of_all_or_none_are_what_kanon_releases(algorithm: str) -> None:
    for seed in seeds_of(40, quick=4):
        random = Random(seed)  # noqa: S311 - a table, not a secret
        table = random_table(random, values=random.choice([2, 2, 3, 4]), rows=(8, 20))
        asked = random.choice([one for one in ASKED if not one.max_suppressed])
        worlds = [table.truth, random_world(random, table.people)]
        with Replay(table, asked) as replay:
            found = list(replay.releases_of(algorithm, "all-or-none")(worlds))
        expected = [by_kanon(table, asked, algorithm, world, "all-or-none") for world in worlds]
        assert found == expected, f"seed {seed}, {asked}"


@pytest.mark.deeper
@pytest.mark.parametrize("algorithm", ["mondrian", "mondrian-plus"])
@pytest.mark.parametrize("asked", [Asked(2, l=2), Asked(3, l=2), Asked(2, l=3), Asked(2, alpha=0.6)], ids=str)
def test_all_or_none_makes_nobody_certain(algorithm: str, asked: Asked) -> None:
    """All assignments of each small table; each person keeps l possible values. Greedily, some do not (below)."""
    for seed in seeds_of(100, quick=6):
        random = Random(seed)  # noqa: S311 - a table, not a secret
        table = random_table(random, values=3 if asked.l == 3 else 2 + seed % 2, rows=(8, 14))
        if not asked.met(table.whole):
            continue
        with Replay(table, asked) as replay:
            try:
                releases_of = replay.releases_of(algorithm, "all-or-none")
                found = outcome(table.people, table.truth, covers_by(table.trees), releases_of, most=3_000)
            except TooManyError:
                continue
        assert found is not None
        assert not found.newly_certain
        assert not found.people_below(max(2, asked.l))


def test_local_gives_values_away_today() -> None:
    """The product is the judge of every world: a0 are no class, so they share the value that occurs three times."""
    tree = {"a0": ["*"], "a1": ["*"]}
    table = Table([("a0",)] * 3 + [("a1",)] * 4, [0, 0, 0, 1, 1, 2, 2], [tree])
    asked = Asked(2, l=2)
    covers = covers_by(table.trees)
    found = outcome(table.people, table.truth, covers, each(lambda world: by_kanon(table, asked, "local", world)))
    assert found is not None
    assert found.newly_certain == {("a0",): 0}
    with Replay(table, asked) as replay:
        assert outcome(table.people, table.truth, covers, replay.releases_of("local")) == found
