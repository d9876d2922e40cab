"""A plain recursive Mondrian over lists, which shares nothing with the package, and random tables to compare it on."""

from __future__ import annotations

import datetime as dt
import math
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brute_force
from hypothesis import reject
from hypothesis import strategies as st
from rows import released_rows
from sqlglot import exp
from strategies import PERSON, TABLE, Case, database_with, hierarchies

import kanon_sql as kanon
from kanon_sql.search.mondrian.boxes import BoxColumns

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pandas as pd
    from brute_force import Hierarchy

Row = tuple[Any, ...]
"""The quasi-identifiers of a row, and the person, if people are counted."""

# A plain Mondrian


def as_number(value: Any) -> float | None:
    """Return the place of a value on a scale; None for NULL and what is not finite."""
    if isinstance(value, dt.datetime):
        return (value - dt.datetime(1970, 1, 1)).total_seconds()
    if isinstance(value, dt.date):
        return float(value.toordinal() * 86_400)
    return None if value is None or not math.isfinite(value) else float(value)


def by_value(value: Any) -> tuple[Any, ...]:
    """Return what a value is sorted by: NULL is the least, NaN the greatest."""
    return value is not None, value != value, 0 if value is None else value  # noqa: PLR0124 - NaN


class Column:
    """A quasi-identifier: its values in their order, and how far those of a part go."""

    def __init__(self, values: list[Any], tree: Hierarchy | None) -> None:
        self.rows, self.tree = Counter(values), tree
        if tree is None:
            order = sorted(self.rows, key=by_value)
            numbers = [number for value in order if (number := as_number(value)) is not None]
            self.range = max(numbers) - min(numbers) if numbers else 0.0
        else:
            self.height = len(next(iter(tree.values())))
            self.leaves = [leaf for leaf in {**tree, None: None} if leaf is not None or None in self.rows]
            self.above = {leaf: brute_force.labels(tree, leaf) for leaf in {**tree, None: None}}
            order = sorted(self.leaves, key=self._in_tree)
        self.place = {value: place for place, value in enumerate(order)}

    def _in_tree(self, leaf: Any) -> list[Any]:
        """Return what a leaf is sorted by: at each level the rows under its label, then the smallest value there."""
        keys = []
        for level in reversed(range(self.height)):
            own = self.above[leaf][level : level + 1]  # a list, in which NaN is itself
            under = [other for other, labels in self.above.items() if labels[level : level + 1] == own]
            texts = sorted((other for other in under if other is not None), key=by_value)
            keys.append((sum(self.rows[other] for other in under), [by_value(text) for text in texts[:1]]))
        return keys

    def level(self, values: set[Any]) -> int:
        """Return the level of the lowest label over some values."""
        return next(n for n in range(self.height + 1) if len({self.above[value][n] for value in values}) == 1)

    def width(self, values: set[Any], choose: str, labels: str) -> float:
        """Return how much of the column some values span."""
        low, high = (pick(values, key=self.place.__getitem__) for pick in (min, max))
        if len(values) == 1:
            return 0.0
        if choose == "distinct":
            return len(values) / len(self.rows)
        if self.tree is None:
            ends = as_number(low), as_number(high)
            return 1.0 if None in ends else (ends[1] - ends[0]) / self.range  # type: ignore[operator]  # not None
        level = self.level(values)
        under = sum(self.above[leaf][level] == self.above[low][level] for leaf in self.leaves)
        places = self.place[high] - self.place[low] + 1
        share = {"tree": under, "set": len(values), "range": places}[labels] / len(self.leaves)
        return 1.0 if labels == "tree" and level == self.height else share


@dataclass(frozen=True)
class Mondrian:
    """What is cut and how: a plain version of the definition."""

    columns: list[Column]
    k: int
    people: bool = False
    choose: str = "range"
    cut: str = "strict"
    labels: str = "tree"

    def allows(self, part: list[Row]) -> bool:
        """Tell whether a part is large enough."""
        return (len({row[-1] for row in part} - {None}) if self.people else len(part)) >= self.k

    def sides(self, part: list[Row]) -> list[list[Row]]:
        """Return the sides of the cut of a part; nothing if it has none that is allowed."""
        if len(part) < 2 * self.k:
            return []
        widths = [c.width({row[n] for row in part}, self.choose, self.labels) for n, c in enumerate(self.columns)]
        for number in sorted(range(len(widths)), key=lambda n: -widths[n]):
            for sides in self.cuts(part, number) if widths[number] else ():
                if len(sides) > 1 and all(map(self.allows, sides)):
                    return sides
        return []

    def cuts(self, part: list[Row], number: int) -> Iterator[list[list[Row]]]:
        """Return the cuts to try in a column: at its NULLs, then at its children or its median."""
        column, rows = self.columns[number], len(part)

        def place(row: Row) -> int:
            return column.place[row[number]]

        if nulls := [row for row in part if row[number] is None]:
            yield [nulls, [row for row in part if row[number] is not None]]
        if self.cut == "node" and column.tree is not None:
            yield self.children(sorted(part, key=place), number)
        elif self.cut == "relaxed":
            ordered = sorted(
                part, key=lambda row: (place(row), [c.place[v] for c, v in zip(self.columns, row, strict=False)])
            )
            yield [ordered[: rows // 2], ordered[rows // 2 :]]
        else:
            places = sorted(map(place, part))
            median = next(p for p in reversed(places) if 2 * sum(q < p for q in places) < rows)
            if median == places[-1]:
                median = max(p for p in places if p < median)
            yield [[row for row in part if place(row) <= median], [row for row in part if place(row) > median]]

    def children(self, part: list[Row], number: int) -> list[list[Row]]:
        """Return the rows under each large child of the lowest label, and those under all others."""
        column, by_child = self.columns[number], defaultdict(list)
        level = column.level({row[number] for row in part})
        for row in part:
            by_child[column.above[row[number]][level - 1]].append(row)
        large = [rows for rows in by_child.values() if len(rows) >= self.k]
        others = [row for rows in by_child.values() if len(rows) < self.k for row in rows]
        if large and 0 < len(others) < self.k:
            others += large.pop(min(range(len(large)), key=lambda n: len(large[n])))
        return [side for side in (*large, others) if side]

    def parts(self, table: list[Row], *, largest_first: bool = False) -> list[list[Row]]:
        """Return the parts of a table, cut depth first or the largest part first."""
        waiting, finished = [table] if table else [], []
        while waiting:
            part = waiting.pop(max(range(len(waiting)), key=lambda n: len(waiting[n])) if largest_first else -1)
            sides = self.sides(part)
            waiting += sides
            finished += [] if sides else [part]
        return finished


def alike(parts: list[list[Row]]) -> Counter[frozenset[tuple[Row, int]]]:
    """Return parts so that they can be compared, whatever their order and that of their rows."""
    return Counter(frozenset(Counter(part).items()) for part in parts)


# Ours


@dataclass(frozen=True)
class Part:
    """A part of ours: the original rows, and what is published of them."""

    rows: list[Row]
    published: Row


def plain(value: Any) -> Any:
    """Return a value so that all that are equal to it are the same key: NaN too."""
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def records(release: kanon.Release, table: exp.Table) -> list[dict[str, Any]]:
    """Return the rows of one of the tables of a release, by name of the column."""
    engine = release.prepared.source.engine
    names = [column.name for column in engine.columns(table)]
    return [dict(zip(names, map(plain, row), strict=True)) for row in engine.rows(exp.select("*").from_(table.copy()))]


def parts_of(release: kanon.Release, columns: list[str], table: list[Row]) -> list[Part]:
    """Return the parts of a release: the rows of its table, led to their boxes as ``boxes`` says it."""
    recoding: Any = release.publication.recoding
    names = BoxColumns(release.publication.hierarchies)
    cuts = {cut[names.box]: cut for cut in records(release, recoding.cuts_table)}
    boxes = {box[names.box]: box for box in records(release, recoding.boxes_table)}
    places = [order and {row["value"]: row["place"] for row in records(release, order)} for order in recoding.orders]

    def key(number: int, value: Any) -> Any:
        return by_value(value) if (order := places[number]) is None else order[plain(value)]

    def goes_inside(cut: dict[str, Any], row: Row, position: int) -> bool:
        number = columns.index(cut[names.cut_column])
        own, low = key(number, row[number]), None
        if places[number] is None:
            high = key(number, cut[names.labels[number]])
        else:
            low, high = cut[names.low[number]], cut[names.high[number]]
        if cut.get(names.position) is not None and own == high:
            return bool(position <= cut[names.position])
        return bool((low is None or low <= own) and own <= high)

    found: dict[int, Part] = {}
    in_order = sorted(table, key=lambda row: [key(number, row[number]) for number in range(len(columns))])
    for position, row in enumerate(in_order, start=1):
        number = 1
        while number in cuts:
            cut = cuts[number]
            number = cut[names.inside if goes_inside(cut, row, position) else names.outside]
        written = [
            boxes[number].get(name) if kind else None for name, kind in zip(columns, recoding.types, strict=True)
        ]
        own = zip(written, row, recoding.types, strict=False)
        published = tuple(text if kind else value for text, value, kind in own)
        part = found.setdefault(number, Part([], published))
        assert part.published == published
        part.rows.append(row)
    assert len(found) == len(boxes) == recoding.boxes
    assert release.classes == len({part.published for part in found.values()})
    return list(found.values())


def plain_rows(release: kanon.Release) -> list[Row]:
    """Return the rows of a release, in their order."""
    return [tuple(map(plain, row)) for row in released_rows(release)]


@dataclass(frozen=True)
class Table:
    """A table of any types: trees for columns of texts, rules for the others."""

    names: list[str]
    types: list[str]
    rows: list[Row]
    trees: list[Hierarchy | None]
    rules: list[str]
    k: int
    people: bool = False

    def columns(self) -> list[Column]:
        """Return the columns as the plain version has them."""
        found = []
        for number, tree in enumerate(self.trees):
            values = [row[number] for row in self.rows]
            if tree is None and all(as_number(value) is None for value in values):  # nothing has a distance
                tree = {value: ["*"] for value in values}  # noqa: PLW2901 - only narrowed
            found.append(Column(values, tree))
        return found

    def plain(self, **asked: str) -> Mondrian:
        """Return the plain version on this table."""
        return Mondrian(self.columns(), self.k, self.people, **asked)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Return a database with the table."""
        names = [*self.names, *([PERSON] if self.people else [])]
        types = [*self.types, *(["BIGINT"] if self.people else [])]
        own = zip(names, types, strict=True)
        return database_with({name: (kind, [row[n] for row in self.rows]) for n, (name, kind) in enumerate(own)})

    def anonymize(
        self, connection: duckdb.DuckDBPyConnection, algorithm: str = "mondrian", **asked: Any
    ) -> kanon.Release:
        """Anonymize the table, trees read from files."""
        person = PERSON if self.people else None
        with tempfile.TemporaryDirectory() as directory:
            rules = dict(zip(self.names, self.rules, strict=True))
            trees = {n: tree for n, tree in zip(self.names, self.trees, strict=True) if rules[n] == "file"}
            texts = Case(list(trees), [], [tree for tree in trees.values() if tree], 1, 0, None)
            rules |= texts.write_hierarchies(Path(directory))
            models = [kanon.KAnonymity(self.k, entity=person)]
            return kanon.anonymize(connection, TABLE, quasi_identifiers=self.names, models=models, hierarchies=rules,
                                   algorithm=algorithm, **asked)  # fmt: skip


def of_case(case: Case) -> Table:
    """Return a case of texts as a table."""
    people = case.persons is not None
    rows = (
        [(*row, who) for row, who in zip(case.rows, case.persons, strict=True)]
        if case.persons is not None
        else case.rows
    )
    width = len(case.columns)
    return Table(case.columns, ["VARCHAR"] * width, rows, list(case.hierarchies), ["file"] * width, case.k, people)


KINDS: dict[str, tuple[str, list[Any], list[str]]] = {
    "integer": ("INTEGER", [-7, -3, 0, 1, 2, 5, 8, 40], ["flat", "intervals:5,10"]),
    "bigint": ("BIGINT", [-(2**50), 0, 3, 2**50], ["flat"]),
    "date": (
        "DATE",
        [dt.date(1969, 12, 30), dt.date(2024, 2, 29), dt.date(2024, 3, 1)],
        ["flat", "date:month,year"],
    ),
    "timestamp": ("TIMESTAMP", [dt.datetime(2024, 1, n, 12, 30) for n in (1, 2, 9)], ["flat"]),
    "float": ("DOUBLE", [-1.5, -0.25, 0.0, 0.5, 3.0, 1024.0], ["flat"]),
    "odd": ("DOUBLE", [-math.inf, -2.0, 0.0, 1.0, math.inf, math.nan], ["flat"]),
    "constant": ("SMALLINT", [7], ["flat"]),
}


@st.composite
def tables(draw: st.DrawFn, *, max_rows: int = 25, kinds: tuple[str, ...] = tuple(KINDS)) -> Table:
    """Draw a table of numbers, dates and texts, with NULLs, duplicates and constants."""
    width = draw(st.integers(1, 4))
    names = [f"c{number}" for number in range(width)]
    types, rules, values = [], [], []
    trees: list[Hierarchy | None] = []
    for _ in range(width):
        kind = draw(st.sampled_from(["text", "text", *kinds]))
        if kind == "text":
            trees.append(tree := draw(hierarchies()))
            types.append("VARCHAR")
            rules.append("file")
            values.append([*tree, None] if draw(st.booleans()) else [value for value in tree if value is not None])
            continue
        own_type, own, own_rules = KINDS[kind]
        trees.append(None)
        types.append(own_type)
        rules.append(draw(st.sampled_from(own_rules)))
        values.append([*own, None] if draw(st.booleans()) else own)
    rows = draw(st.lists(st.tuples(*map(st.sampled_from, values)), min_size=1, max_size=max_rows))
    people = draw(st.integers(0, 5)) == 5
    if people:
        who = st.sampled_from([*range(9), None])
        rows = [(*row, draw(who)) for row in rows]
    return Table(names, types, rows, trees, rules, draw(st.integers(1, 5)), people)


written = st.fixed_dictionaries(
    {
        "cut": st.sampled_from(["strict", "strict", "relaxed", "node"]),
        "labels": st.sampled_from(["tree", "set", "range"]),
        "numbers": st.sampled_from(["range", "range", "mean", "median"]),
    }
)


def released(table: Table, connection: duckdb.DuckDBPyConnection, **asked: Any) -> kanon.Release:
    """Anonymize the table, or leave the example out where that cannot be."""
    try:
        return table.anonymize(connection, **asked)
    except (kanon.NoSolutionError, kanon.UsageError):
        reject()


def publish(frame: pd.DataFrame, columns: str, **asked: Any) -> list[tuple[Any, ...]]:
    """Return the quasi-identifiers of a release by Mondrian, sorted."""
    names = columns.split(",")
    with kanon.anonymize(frame, quasi_identifiers=names, rest="drop", algorithm="mondrian", **asked) as release:
        return sorted(released_rows(release, *names), key=repr)
