"""Count the people who are found by someone who knows their published columns and up to a number of their events.

It answers the question of ``verify`` for people: ``verify`` counts combinations that fewer than k people share, this
module the people who have one. It works on released tables and on the originals.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import comb
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.errors import counted
from kanon_sql.policy.tables import MOST_EVENTS
from kanon_sql.release.tables.opened import Temporary
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.release.tables.verify import ReleasedTables

MOST_COMBINATIONS = 50_000_000
"""The limit of combinations of events to count: more take minutes, and gigabytes of disk."""


@dataclass(frozen=True)
class FoundPeople:
    """The people who are found by their published values and a number of their events.

    Attributes:
        events: the number of known events.
        people: all people of the tables.
        combinations: of this number of events of one person, summed over the people.
        alone: people with a combination that fits no other person; None if there are too many combinations to count.
        below_k: people with a combination that fits fewer than k; None likewise.
        smallest: people who share the rarest combination; None likewise, and if there are no people.
    """

    events: int
    people: int
    combinations: int
    alone: int | None = None
    below_k: int | None = None
    smallest: int | None = None


def found_people(tables: ReleasedTables) -> tuple[FoundPeople, ...]:
    """Count the people found by 0, 1, ... events: up to one more than the policy promises, and up to three."""
    engine, policy = tables.engine, tables.opened.policy
    people, events = (engine.temporary_name(name) for name in ("kanon_found_people", "kanon_found_events"))
    of_people = tables.people().subquery("known_people")
    of_events = tables.events().subquery("events")
    made = Temporary(engine)
    try:
        query = sql.query("tables/numbered_classes", relations={"known_people": of_people})
        made.make(people, query, "people, by their published values")
        query = sql.query("tables/known_kinds", tables={"known_people": people}, relations={"events": of_events})
        made.make(events, query, "which kinds of events each person has")
        kinds = engine.rows(sql.query("tables/kinds_per_person", tables={"events": events}), "events of people")
        found: list[FoundPeople] = []
        shared: list[exp.Query] = []
        for number in range(min(policy.km + 1, MOST_EVENTS) + 1):
            combinations = sum(persons * comb(of_one, number) for of_one, persons in kinds if number)
            if combinations > MOST_COMBINATIONS or (found and found[-1].alone is None):
                (everybody,) = engine.row(sql.select_count(people), "people of the tables")
                found.append(FoundPeople(number, everybody, combinations))
                continue
            rarest = engine.temporary_name("kanon_rarest")
            known = f"published values of a person and {counted(number, 'event')}"
            made.make(rarest, _rarest(events if number else people, number), f"how many people share {known}")
            shared.append(exp.select("person", "fewest").from_(rarest.copy()))
            every = sql.union_all([one.copy() for one in shared]).subquery("rarest_known")
            counts = sql.query("tables/found_people", values={"k": policy.k}, relations={"rarest_known": every})
            everybody, alone, below_k, smallest = engine.row(counts, f"who is found by {known}")
            found.append(FoundPeople(number, everybody, combinations, alone, below_k, smallest))
        return tuple(found)
    finally:
        made.drop("drop the table that people were counted in")


def _rarest(table: exp.Table, number: int) -> exp.Query:
    """Return the query of how many people share the rarest combination of ``number`` events of each person."""
    names = ["events", *(f"events_{place}" for place in range(2, number + 1))]
    joins = [
        (
            sql.aliased(table, own),
            exp.and_(
                exp.EQ(this=sql.column("person", own), expression=sql.column("person", "events")),
                exp.EQ(this=sql.column("class", own), expression=sql.column("class", "events")),
                exp.GT(this=sql.column("event", own), expression=sql.column("event", before)),
            ),
        )
        for before, own in pairwise(names)
    ]
    return sql.query(
        "tables/rarest_known",
        values={"events": [sql.column("event", own) for own in names if number]},
        tables={"events": table},
        joins={"another": joins},
    )
