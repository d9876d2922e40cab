"""Two releases together, by subtraction: against brute force over all possible worlds, and by hand."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attack_oracle as oracle
import brute_force
import duckdb
import possible_worlds
import pytest
from strategies import write_hierarchy

import kanon_sql as kanon
from kanon_sql.risks.attacks.candidates import find_candidates, make_people
from kanon_sql.risks.attacks.joint import InBoth, Joint, Side, join
from kanon_sql.risks.attacks.released import Shared
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterator

A = {"a0": ["01", "*"], "a1": ["01", "*"], "a2": ["23", "*"], "a3": ["23", "*"], None: ["23", "*"]}
B = {"b0": ["*"], "b1": ["*"], "b2": ["*"]}
WAYS: list[dict[str, Any]] = [
    {"algorithm": "optimal", "max_suppressed": 0},
    {"algorithm": "optimal", "max_suppressed": 0.4},
    {"algorithm": "optimal", "max_suppressed": 0.4, "measure": "discernibility"},
    {"algorithm": "local", "max_suppressed": 0.2},
    {"algorithm": "local", "max_suppressed": 0},
    {"algorithm": "spolg", "max_suppressed": 0.5, "sample_rate": 1.0},
    {"algorithm": "mondrian"},
    {"algorithm": "mondrian", "labels": "set"},
    {"algorithm": "mondrian", "labels": "set", "cut": "relaxed"},
    {"algorithm": "mondrian", "cut": "node"},
]
PAIRS = 100


class Small:
    """A table of a few rows, some releases of it, and what each pair of them gives away."""

    def __init__(self, seed: int, directory: Path) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a test that can be run again
        length = self.random.randint(4, 8)
        with_nulls, self.with_people = self.random.random() < 0.4, self.random.random() < 0.4
        self.with_sensitive = self.random.random() < 0.75
        firsts = [value for value in A if value is not None or with_nulls]
        self.original = [(self.random.choice(firsts), self.random.choice(list(B))) for _ in range(length)]
        values = ["flu", "cold", "cough", None] if with_nulls else ["flu", "cold", "cough", "gout"]
        several = values[: self.random.randint(2, 4)]
        self.values = [self.random.choice(several) for _ in range(length)]
        persons = (
            [*range(length)] if not self.with_people else [self.random.randint(0, length - 2) for _ in range(length)]
        )
        self.persons: list[Any] = persons
        self.trees = [A, B]
        self.paths = {}
        for name, tree in zip("ab", self.trees, strict=True):
            self.paths[name] = str(directory / f"{name}.csv")
            write_hierarchy(Path(self.paths[name]), tree)

    def model(self, k: int) -> kanon.KAnonymity:
        """Return k-anonymity of rows or of people."""
        return kanon.KAnonymity(k, entity="person" if self.with_people else None)

    def publish(self, connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str, Joint]]:
        """Publish up to eight releases, and join each two of them, as the ledger and the attack do.

        Their rows have their number in the original beside them, for the oracle.
        """
        connection.execute("CREATE OR REPLACE TABLE t (a VARCHAR, b VARCHAR, s VARCHAR, person INTEGER, own INTEGER)")
        rows = [
            (*row, value, person, own)
            for own, (row, value, person) in enumerate(zip(self.original, self.values, self.persons, strict=True))
        ]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        sides = {}
        with kanon.prepare(
            connection, "t", quasi_identifiers=["a", "b"], sensitive=["s"], insensitive=["own"], rest="drop",
            hierarchies=self.paths, entity="person" if self.with_people else None,
        ) as prepared:  # fmt: skip
            source, places = prepared.prepared.source, prepared.prepared.places()
            people = make_people(source.engine, source.relation, source.columns, places)
            for number, way in enumerate(self.random.sample(WAYS, 8)):
                asked = {"max_suppressed": 0, "models": (self.model(self.random.choice([2, 2, 3])),), "seed": 1} | way
                try:
                    with prepared.anonymize(**asked) as release:
                        release.to_table(f"r_{number}", replace=True)
                except (kanon.NoSolutionError, kanon.UnsuitableError):
                    continue
                relation = sql.relation(f"r_{number}")
                columns = source.engine.columns(relation)[:2]
                candidates = find_candidates(source.engine, people, places, relation, columns)
                sides[f"r_{number}"] = Side(candidates)
            value = next(column for column in source.columns if column.name == "s")
            person = next(column for column in source.columns if column.name == "person")
            sensitive = [InBoth(Shared(value, value), Shared(value, value))] if self.with_sensitive else []
            for first, second in combinations(sides, 2):
                joined = (sides[first], sides[second])
                who = person if self.with_people else None
                yield first, second, join(joined, sensitive, second, 2, who)

    def published(self, connection: duckdb.DuckDBPyConnection, name: str) -> possible_worlds.Published:
        """Return a release as the oracle takes it."""
        value = "s" if self.with_sensitive else "NULL"
        rows = connection.execute(f"SELECT a, b, {value}, own FROM {name}").fetchall()  # noqa: S608 - names of our own
        released = oracle.Release([tuple(row[:2]) for row in rows], [row[2] for row in rows])
        upwards = [lambda value, tree=tree: brute_force.labels(tree, value) for tree in self.trees]
        found = oracle.candidates(self.original, released, upwards)
        fits = [{released.labels[number] for number in own} for own in found]
        return possible_worlds.Published(fits, [((row[0], row[1]), row[2], row[3]) for row in rows])


@pytest.mark.thorough
def test_every_pair_that_gives_someone_away_is_flagged(tmp_path: Path) -> None:
    """100 pairs of small releases: full-domain, local, Mondrian; with and without sensitive columns, people and NULLs.

    Fails on 0.1.0: pairs that single people out, or make a value certain, by subtraction are cleared.
    """
    seen: Counter[str] = Counter()
    seed = 0
    with duckdb.connect() as connection:
        while seen["pairs"] < PAIRS:
            seed += 1
            small = Small(seed, tmp_path)
            for first, second, joint in small.publish(connection):
                both = [small.published(connection, name) for name in (first, second)]
                true = possible_worlds.subtract(both, len(small.original), 2, small.persons)
                harmed = true.singled_out | (true.certain if small.with_sensitive else set())
                assert joint.adds or not harmed, (seed, first, second, true, joint)
                certain = sum(known.rows_certain_together for known in joint.known)
                assert certain <= len(true.certain), (seed, first, second, true, joint)
                seen["pairs"] += 1
                seen["flagged"] += joint.adds
                seen["harmed"] += bool(harmed)
                seen["singled out"] += bool(true.singled_out)
                seen["certain"] += bool(true.certain and small.with_sensitive)
                seen["proved certain"] += bool(certain)
                seen["flagged with values"] += joint.adds and small.with_sensitive
                seen["harmed with values"] += bool(harmed) and small.with_sensitive
    assert seen["harmed"] >= PAIRS // 10
    assert seen["flagged"] < seen["pairs"]
