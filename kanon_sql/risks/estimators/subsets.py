"""The classes of a table by some of its columns: the risk of a person who is known only by these.

An attacker seldom knows all quasi-identifiers of a person. A class by some of the columns is a union of classes by more
of them: it has at least as many members as each. So the subsets show the source of a risk. And if each class by every m
columns has k members, so does each class by fewer.

1. Codes: the combinations of quasi-identifiers with small numbers instead of values, which group faster than texts;
   NULL counts as a value.
2. The classes by every subset, each a GROUP BY of these combinations, several in one statement.
3. The rows in a class that is too small, by any of several subsets: on arrays of these combinations.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.errors import UsageError
from kanon_sql.risks.estimators.tuples import PERSON, N, value_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from kanon_sql.risks.estimators.tuples import Tuples

_LARGEST = 3  # columns of a subset, by default
_AT_MOST = 500  # default limit of the number of subsets
_MOST = 200_000  # subsets to count: at 30,000 rows, about 15 minutes
TOGETHER = 16  # subsets in one statement: they are counted side by side, and planned once
_SPARSE = 8  # numbers for each row, above which classes are not counted in an array of that length
_TUPLES = "tuples"

Places = tuple[int, ...]
"""The indexes of the quasi-identifiers of a subset."""


@dataclass(frozen=True)
class SubsetRisk:
    """The classes by some of the quasi-identifiers; None for a table without rows.

    ``uniques`` are rows that are alone in their class, or distinct people who are alone in some class.
    """

    columns: tuple[str, ...]
    classes: int
    smallest_class: int | None
    uniques: int
    share_unique: float | None


@dataclass(frozen=True)
class Subsets:
    """The classes by subsets of the quasi-identifiers."""

    largest: int  # columns of the largest subsets that were counted; 0 if none were
    not_looked_at: int  # number of subsets with more columns
    found: tuple[SubsetRisk, ...]  # those with the most uniques first


def largest_subsets(size: int | None, width: int) -> int:
    """Return the number of columns of the largest subsets; by default up to 3, with at most 500 subsets in all."""
    if size is None:
        largest, subsets = 1, width
        while largest < min(_LARGEST, width) and subsets + math.comb(width, largest + 1) <= _AT_MOST:
            largest += 1
            subsets += math.comb(width, largest)
        return largest
    if isinstance(size, bool) or not 0 <= size <= width:
        raise UsageError(
            f"Subsets have from 1 to as many columns as there are quasi-identifiers, here {width} (0 looks at none), "
            f"not {size}."
        )
    return size


def subsets_up_to(largest: int, width: int) -> list[Places]:
    """Return every subset of up to ``largest`` of the columns, the smallest first."""
    return [chosen for size in range(1, largest + 1) for chosen in itertools.combinations(range(width), size)]


def require_countable(max_columns: int, width: int, option: str, hint: str = "") -> None:
    """Raise if there are too many subsets to be counted."""
    largest = min(max_columns, width)
    up_to = list(itertools.accumulate(math.comb(width, size) for size in range(1, largest + 1)))
    if up_to[-1] <= _MOST:
        return
    fewer = sum(subsets <= _MOST for subsets in up_to)
    way = f"{option} {fewer} has {up_to[fewer - 1]:,}" if fewer else "name fewer quasi-identifiers"
    subsets = f"{width:,} columns have {up_to[-1]:,} subsets of up to {largest:,}"
    raise UsageError(f"{subsets}, and {_MOST:,} are counted at most: {way}.{hint}")


def subset_risks(tuples: Tuples, largest: int) -> Subsets:
    width = len(tuples.columns)
    places = subsets_up_to(largest, width)
    if not places:
        return Subsets(largest, 2**width - 1, ())
    coded = code(tuples)
    named = coded.people()[0] if tuples.counts_people else 0
    found = []
    for own, by in coded.classes(places):
        names, everybody = tuple(tuples.columns[place].name for place in own), named + by.all_members
        share = by.uniques / everybody if everybody else None
        found.append(SubsetRisk(names, by.classes, by.smallest, by.uniques, share))
    coded.drop()
    found.sort(key=_worst_first)
    return Subsets(largest, 2**width - 1 - len(found), tuple(found))


def _worst_first(found: SubsetRisk) -> tuple[int, float, int]:
    smallest = math.inf if found.smallest_class is None else found.smallest_class
    return -found.uniques, smallest, len(found.columns)


# 1. Codes


@dataclass(frozen=True)
class SubsetClasses:
    """The classes by one subset."""

    classes: int = 0
    smallest: int | None = None  # members of the smallest; None without rows
    uniques: int = 0  # rows alone in their class; or distinct people alone in theirs, and classes that name nobody
    # all rows; if people are counted, classes whose rows name nobody; each counts as one person
    all_members: int = 0
    too_small: int = 0  # classes of fewer than ``k`` members
    in_too_small: int = 0  # their members; a person counts in each of their classes


@dataclass(frozen=True)
class CodedTuples:
    """The combinations of quasi-identifiers with codes for their values."""

    tuples: Tuples
    # The temporary table: ``value_0``, ... are codes, then ``person`` if people are counted, and ``n``.
    relation: exp.Table
    persons_repeat: bool  # True if some person has several combinations, so that a class may have them several times

    def drop(self) -> None:
        self.tuples.engine.run(sql.drop(self.relation), "drop the codes of the combinations")

    # 2. The classes by every subset

    def classes(self, subsets: Sequence[Places], k: int = 1) -> Iterator[tuple[Places, SubsetClasses]]:
        """Count the classes by each subset; classes of fewer than ``k`` members are too small."""
        for begin in range(0, len(subsets), TOGETHER):
            chosen = subsets[begin : begin + TOGETHER]
            title = f"classes by {'; '.join(map(self._named, chosen))}"
            rows = self.tuples.engine.rows(self._classes_query(chosen, k), title)
            found = {number: SubsetClasses(*(int(each or 0) for each in figures)) for number, *figures in rows}
            yield from ((own, found.get(number, SubsetClasses())) for number, own in enumerate(chosen))

    def _named(self, places: Places) -> str:
        return ", ".join(self.tuples.columns[place].name for place in places)

    def _classes_query(self, subsets: Sequence[Places], k: int) -> exp.Select:
        of_each: list[exp.Query] = []
        for number, places in enumerate(subsets):
            values: dict[str, Any] = {"values": values_of(places), "subset": number}
            if not self.tuples.counts_people:
                query = sql.select("risks/subsets", part="classes", values=values, tables={"coded": self.relation})
            else:
                people = {"each_person": self._people_of(places)}
                query = sql.select("risks/subsets_of_people", part="classes", values=values, relations=people)
            of_each.append(query)
        steps = {"classes": [("classes", sql.union_all(of_each))]}
        if self.tuples.counts_people:
            return sql.select("risks/subsets_of_people", values={"k": k}, steps=steps)
        return sql.select("risks/subsets", values={"k": k}, steps=steps)

    def _people_of(self, places: Places) -> exp.Expr:
        """Return the people of the classes by a subset, each of them once in a class."""
        if not self.persons_repeat:
            return self.relation
        each = exp.select(*values_of(places), sql.column(PERSON), copy=False).from_(self.relation.copy(), copy=False)
        return each.distinct(copy=False).subquery("each_person", copy=False)

    # 3. The rows in a class that is too small

    def in_too_small(self, subsets: Sequence[Sequence[Places]], k: int) -> list[int]:
        """Return how many rows, or distinct people, are in a class of fewer than ``k`` by any of several subsets.

        Rows that name nobody count as one person for each combination of all columns that names nobody.

        Args:
            subsets: for each number of columns, the smallest first, the subsets that have such a class. People who are
                found by fewer columns are also found by more of them.
            k: the required number of members of a class.
        """
        import numpy as np

        from kanon_sql.classes.known_classes import combined_codes

        counts_people = self.tuples.counts_people
        columns = [*values_of(range(len(self.tuples.columns))), sql.column(N)]
        if counts_people:
            columns.append(exp.Coalesce(this=sql.column(PERSON), expressions=[sql.literal(0)]))
        rows = self.tuples.engine.rows(exp.select(*columns).from_(self.relation.copy()), "the combinations as arrays")
        found = np.array(rows, dtype=np.int64).reshape(-1, len(columns)).T
        codes, n, person = found[: len(self.tuples.columns)], found[len(self.tuples.columns)], found[-1]
        sizes = [int(code.max(initial=0)) + 1 for code in codes]
        people, is_in, counts = int(person.max(initial=0)) + 1, np.zeros(len(n), dtype=np.bool_), []
        for of_size in subsets:
            for chosen in of_size:
                own = [codes[place] for place in chosen], [sizes[place] for place in chosen], len(n)
                key, size = combined_codes(*own)
                some = np.arange(len(n))
                if size > _SPARSE * len(n):  # only the classes of people who were not found yet
                    rest = np.unique(key[~is_in])
                    place = np.searchsorted(rest, key)
                    some = np.flatnonzero(rest.take(place, mode="clip") == key) if len(rest) else some[:0]
                    key, size = place[some], len(rest)
                if counts_people:
                    named = np.unique((key * people + person[some])[person[some] > 0]) // people
                    members = np.maximum(np.bincount(named, minlength=size), 1)
                else:
                    members = np.bincount(key, n[some], size)
                is_in[some] |= (members < k)[key]
            counts.append(int(n[is_in].sum()) if not counts_people else _people_in(codes[:, is_in], person[is_in]))
        return counts

    def members(self) -> int:
        """Return all rows of the table; or distinct people, with rows that name nobody as in ``in_too_small``."""
        if self.tuples.counts_people:
            return sum(self.people())
        rows = exp.select(sql.sum_of(sql.column(N))).from_(self.relation.copy())
        return int(self.tuples.engine.row(rows, "rows of the table")[0] or 0)

    def people(self) -> tuple[int, int]:
        """Return the number of people named by the table, and of combinations whose rows name nobody."""
        values = {"values": values_of(range(len(self.tuples.columns)))}
        query = sql.query("risks/people_by_codes", values=values, tables={"coded": self.relation})
        named, nameless = self.tuples.engine.row(query, "people who are named, and combinations without a person")
        return int(named), int(nameless)


def _people_in(codes: NDArray[np.int64], person: NDArray[np.int64]) -> int:
    """Return the distinct people of some rows (0 names none), and combinations of codes all of whose rows name none."""
    import numpy as np

    _, place = np.unique(codes, axis=1, return_inverse=True)
    named = np.bincount(place.reshape(-1), person > 0)
    return len(np.unique(person[person > 0])) + int((named == 0).sum())


def code(tuples: Tuples) -> CodedTuples:
    """Return the combinations with codes for their values."""
    steps: list[tuple[str, exp.Query]] = []
    joins: list[tuple[exp.Expr, exp.Expr]] = []
    selected: list[exp.Expr] = []
    names = [value_name(place) for place in range(len(tuples.columns))]
    for name in [*names, PERSON] if tuples.counts_people else names:
        own = f"{name}_codes"
        of_column = sql.select(
            "risks/codes",
            part="own_values",
            values={"value": sql.column(name)},
            tables={_TUPLES: tuples.relation},
        )
        steps.append((own, of_column))
        original, value = sql.column("original", own), sql.column(name, _TUPLES)
        # Rows that name nobody have no code.
        is_value = original.eq(value) if name == PERSON else sql.same(original, value, sql.SAME_TYPE)
        joins.append((sql.relation(own), is_value))
        selected.append(sql.named(sql.column("code", own), name))
    query = sql.select(
        "risks/codes",
        values={"codes": selected},
        tables={_TUPLES: tuples.relation},
        steps={"own_values": steps},
        joins={"own_values": joins},
    )
    relation = make_table(tuples.engine, "kanon_coded", query, "codes of the combinations")
    repeat = False
    if tuples.counts_people:
        counts = [exp.Count(this=sql.column(PERSON)), sql.count_distinct(sql.column(PERSON))]
        rows, people = tuples.engine.row(exp.select(*counts).from_(relation.copy()), "do people have several?")
        repeat = rows > people
    return CodedTuples(tuples, relation, repeat)


def values_of(places: Iterable[int]) -> list[exp.Expr]:
    """Return the columns of the codes of some quasi-identifiers."""
    return [sql.column(value_name(place)) for place in places]
