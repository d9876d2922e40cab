"""An oracle for released databases that shares nothing with the package: plain Python over lists of rows.

The promise: for every released person there are at least k - 1 others with the same published person-level
quasi-identifiers and the same published values of any m of her events. An attacker who knows events knows their
quasi-identifiers, not how many are alike.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Row = dict[str, Any]
Event = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class Described:
    """A table: its rows are ``people``, ``events`` or ``kept``; its person is a column, or (column, parent table)."""

    rows: str
    person: str | tuple[str, str] | None = None
    key: str | None = None
    quasi_identifiers: tuple[str, ...] = ()


def violations(
    released: Mapping[str, list[Row]], described: Mapping[str, Described], k: int, m: int
) -> list[tuple[Any, ...]]:
    """Return persons who are found by what an attacker knows, and references that lead to no row."""
    return [*broken_references(released, described), *found_persons(released, described, k, m)]


def found_persons(
    released: Mapping[str, list[Row]], described: Mapping[str, Described], k: int, m: int
) -> list[tuple[Any, ...]]:
    """Return ("found", person-level values, events, persons) of each combination that fewer than k persons share."""
    classes, events = known_of(released, described)
    shared: Counter[tuple[tuple[Any, ...], frozenset[Event]]] = Counter()
    for person, values in classes.items():
        for size in range(m + 1):
            for known in itertools.combinations(events[person], size):
                shared[values, frozenset(known)] += 1
    return [("found", values, known, persons) for (values, known), persons in shared.items() if persons < k]


def known_of(
    released: Mapping[str, list[Row]], described: Mapping[str, Described]
) -> tuple[dict[Any, tuple[Any, ...]], defaultdict[Any, set[Event]]]:
    """Return what can be known of each person: person-level values, and events."""
    parents = by_key(released, described)
    classes: dict[Any, tuple[Any, ...]] = {}  # by person; one class where there is no table of people
    events: defaultdict[Any, set[Event]] = defaultdict(set)
    for name, table in described.items():
        for row in released.get(name, []):
            if table.rows == "people":
                classes[row[str(table.person)]] = tuple(row[column] for column in table.quasi_identifiers)
            elif table.rows == "events" and (steps := way(parents, described, name, row)) is not None:
                of_person = events[steps[-1][1][str(described[steps[-1][0]].person)]]
                if table.quasi_identifiers:
                    of_person.add(as_known(described, steps))
    if not any(table.rows == "people" for table in described.values()):
        classes = dict.fromkeys(events, ())
    return classes, events


def people_found(
    released: Mapping[str, list[Row]], described: Mapping[str, Described], k: int, m: int
) -> tuple[int, int, int, int | None]:
    """Return how many persons there are, are alone with something, share something with fewer than k; and the fewest.

    Each person's number is the least over all sets of up to m of her events, counted by looking at every person.
    """
    classes, events = known_of(released, described)
    persons = [person for person in classes if person is not None]
    fewest = []
    for person in persons:
        alike = [other for other in persons if classes[other] == classes[person]]
        fewest.append(
            min(
                sum(events[other].issuperset(known) for other in alike)
                for size in range(m + 1)
                for known in itertools.combinations(events[person], size)
            )
        )
    return len(fewest), fewest.count(1), sum(number < k for number in fewest), min(fewest, default=None)


def by_key(released: Mapping[str, list[Row]], described: Mapping[str, Described]) -> dict[tuple[str, Any], Row]:
    """Return the rows of tables with a key, by table and key."""
    tables = [(name, table.key) for name, table in described.items() if table.key is not None]
    return {(name, row[key]): row for name, key in tables for row in released.get(name, []) if row[key] is not None}


def way(
    parents: Mapping[tuple[str, Any], Row], described: Mapping[str, Described], name: str, row: Row
) -> list[tuple[str, Row]] | None:
    """Return the rows from an event to the one that names its person, with their tables; None where one is missing."""
    steps = [(name, row)]
    while isinstance(through := described[steps[-1][0]].person, tuple):
        column, parent = through
        if (above := parents.get((parent, steps[-1][1][column]))) is None:
            return None
        steps.append((parent, above))
    return None if steps[-1][1][str(described[steps[-1][0]].person)] is None else steps


def as_known(described: Mapping[str, Described], steps: Iterable[tuple[str, Row]]) -> Event:
    """Return what an attacker knows of an event: its quasi-identifiers, and those of the events it goes through."""
    return tuple((name, tuple(row[column] for column in described[name].quasi_identifiers)) for name, row in steps)


def broken_references(
    released: Mapping[str, list[Row]], described: Mapping[str, Described]
) -> list[tuple[str, str, str]]:
    """Return ("orphan" or "key", table, column) of rows without person or parent, and of NULL and repeated keys."""
    people = next((name for name, table in described.items() if table.rows == "people"), None)
    found = []
    for name, table in described.items():
        rows = released.get(name, [])
        if table.key is not None or table.rows == "people":
            own = str(table.key or table.person)
            keys = [row[own] for row in rows]
            found += [("key", name, own)] * (len(keys) - len(set(keys) - {None}))
        if table.rows != "events" or table.person is None:
            continue
        if isinstance(table.person, tuple):
            column, parent = table.person
            known = {row[str(described[parent].key)] for row in released.get(parent, [])}
        else:
            column = table.person
            known = {row[column] for row in rows}
            if people is not None:
                known = {row[str(described[people].person)] for row in released.get(people, [])}
        known.discard(None)
        found += [("orphan", name, column) for row in rows if row[column] not in known]
    return found


def raw_keys(
    released: Mapping[str, list[Row]], described: Mapping[str, Described], raw: Mapping[tuple[str, str], set[Any]]
) -> list[tuple[str, str, str]]:
    """Return ("raw", table, column) of columns of persons, keys and references that have a value of the original.

    ``raw`` has the values that the column of a table had; they are compared as texts, since a pseudonym is one.
    """
    found = []
    for name, table in described.items():
        reference = table.person[0] if isinstance(table.person, tuple) else table.person
        for column in dict.fromkeys([reference, table.key]):
            if column is None:
                continue
            values = {str(value) for value in raw[name, column] if value is not None}
            found += [("raw", name, column) for row in released.get(name, []) if str(row[column]) in values]
    return found
