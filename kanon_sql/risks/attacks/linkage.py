"""Linkage: in how few rows of the release can a person be, and how few people do these rows belong to?"""

from __future__ import annotations

import shlex
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.errors import counted
from kanon_sql.models.base import N
from kanon_sql.risks.attacks.candidates import CLASSES, FEWEST, SIZE
from kanon_sql.risks.attacks.verdicts import CLASSES_UNKNOWN, Attack, people_of, share
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.attacks.released import ClassPeople

_UP_TO = (1, 2, 4, 9, 19, 49, 99, 999)
"""The upper ends of the ranges of sizes that are counted together."""


@dataclass(frozen=True)
class LinkedPeople:
    """The number of people behind the rows that people of the original find.

    If the labels do not settle who was published in which class, there are two figures: at least, and ``at_most``.

    Attributes:
        smallest_class: people of the class with the fewest; None for a release without rows.
        smallest: the fewest people whose rows a person finds; None if no person finds a row.
        rows_below_k: rows of the original that find rows of some, but fewer than k people.
        rows_open: further rows for which this is possible but not certain.
        people_below_k, people_open: distinct people of these.
    """

    entity: str
    smallest_class: int | None
    smallest_class_at_most: int | None
    smallest: int | None
    smallest_at_most: int | None
    rows_below_k: int
    rows_open: int
    people_below_k: int
    people_open: int

    def sentences(self, k: int, rows: int) -> list[str]:
        parts = [f"{people_of(self.people_below_k)}, {share(self.rows_below_k, rows)}, are among fewer than {k} people"]
        if self.smallest is not None and self.smallest_at_most is not None:
            fewest = people_of(self.smallest)
            if self.smallest != self.smallest_at_most:
                fewest = f"at least {self.smallest:,} and at most {people_of(self.smallest_at_most)}"
            parts.append(f"the fewest are {fewest} ({self.entity})")
        if self.rows_open:
            more = f"{people_of(self.people_open)}, {share(self.rows_open, rows)}, may be too"
            parts.append(f"{more}: labels do not show which rows were published")
        return parts


@dataclass(frozen=True)
class Linkage(Attack):
    """The result of looking people up by their quasi-identifiers."""

    k: int  # with fewer candidate rows than this, a person is found
    rows: int
    rows_without_class: int  # rows that no class covers: suppressed rows, or rows of another table
    rows_with_one_class: int
    share_with_one_class: float
    smallest_single_class: int | None  # rows of the smallest class that is the only one found
    smallest: int | None  # the fewest candidate rows that a row of the original finds; None if no row finds any
    rows_below_k: int  # rows that find some, but fewer than k candidates
    rows_open: int  # rows for which this is possible but not certain: some of their classes may still be ruled out
    # the fewest rows (people, if they are counted) of the original that a row of the release can be; None for a release
    # without rows, and if the original cannot have its rows
    fewest_fitting: int | None
    rows_fitting_few: int  # rows of the release that fewer than k can be
    # whether there may be more of them: in classes of fewer than k, from which some may be ruled out
    fitting_open: bool
    sizes: dict[str, int]  # for ranges of sizes, such as ``5-9``, how many rows find that many candidates
    people: LinkedPeople | None = None  # the same in people; None if the original does not name the people of its rows
    # people whose rows are linked by the pseudonyms of a release, in a combination of classes that fewer than k people
    # have
    people_tied: int = 0
    fewest_tied: int | None = None  # the fewest people who have rows in the same classes; None if no column links rows
    of_some: bool = False  # whether the policy requires k only for some of the columns
    name = "linkage"
    doubted = frozenset({"finds nothing"})

    @property
    def succeeded(self) -> bool:
        """True if some row is linked to fewer than k rows, or some row of the release to fewer than k of the original.

        If people are counted, also to fewer than k people.
        """
        of_people = self.people is not None and self.people.rows_below_k > 0
        return self.rows_below_k > 0 or of_people or self.rows_fitting_few > 0 or self.people_tied > 0

    @property
    def leaves_open(self) -> bool:
        """True if the labels do not settle whether it succeeded."""
        people_open = 0 if self.people is None else self.people.rows_open
        return self.rows_open > 0 or people_open > 0 or self.fitting_open

    def sentence(self) -> str:
        parts = [] if self.people is None else self.people.sentences(self.k, self.rows)
        parts.append(f"{share(self.rows_below_k, self.rows)} have fewer than {self.k} candidate rows")
        if self.rows_open:
            parts.append(f"{share(self.rows_open, self.rows)} may have: {CLASSES_UNKNOWN}")
        if self.smallest is not None:
            parts.append(f"the fewest are {self.smallest:,}")
        single = f"{share(self.rows_with_one_class, self.rows)} find exactly one class"
        if self.smallest_single_class is not None:
            single += f", the smallest of {counted(self.smallest_single_class, 'row')}"
        parts.append(single)
        if self.rows_without_class:
            parts.append(f"{share(self.rows_without_class, self.rows)} find none, and are known to be left out")
        if tied := self.people_tied:
            few = f"that fewer than {self.k} people have"
            parts.append(f"the pseudonyms of {people_of(tied)} tie rows of classes together {few}")
        if self.rows_fitting_few and self.fewest_fitting is not None:
            few = f"{counted(self.rows_fitting_few, 'row')} of the release can be of fewer than {self.k}"
            who = "rows" if self.people is None else "people"
            parts.append(f"{few} {who}, of {self.fewest_fitting:,} at least")
        if self.fitting_open:
            parts.append(f"rows of classes of fewer than {self.k} may be of fewer: {CLASSES_UNKNOWN}")
        return "; ".join(parts)

    def remedy(self, _sensitive: int) -> str:
        entity = "--entity, where one person has many rows"
        if self.people is not None:
            entity = f"--entity {shlex.quote(self.people.entity)}, so that k counts people"
        return (
            f"k-anonymity over all columns that the attacker knows: kanon anonymize with -k {self.k} or more and every "
            f"such column in --qi{', and no --known' if self.of_some else ''}; {entity} (in kanon.toml: "
            f"k = {self.k} under [privacy], and the columns in quasi_identifiers under [columns])"
        )

    def figures(self) -> dict[str, Any]:
        found = vars(self) | {"people": None if self.people is None else vars(self.people)}
        del found["of_some"]
        return found


def link(candidates: Candidates, k: int, found_people: tuple[exp.Table, ClassPeople] | None = None) -> Linkage:
    """Look people up; with fewer than ``k`` candidates, a person is found.

    ``found_people`` has the rows of each person with each tuple, and the people of each class; if None, rows are
    counted.
    """
    by = (SIZE, CLASSES, FEWEST)
    query = exp.select(*by, sql.sum_of(sql.column(N))).from_(candidates.found.copy()).group_by(*by)
    found = candidates.engine.rows(query.order_by(*by), "how many candidates people have")
    fewest, fitting_few, fitting_open = _fitting(candidates, k, found_people)
    sizes: Counter[str] = Counter()
    for size, _, _, rows in found:
        if size:
            sizes[_range(size)] += rows
    rows = sum(rows for *_, rows in found)
    with_one_class = sum(rows for _, classes, _, rows in found if classes == 1)
    return Linkage(
        k=k,
        rows=rows,
        rows_without_class=sum(rows for size, *_, rows in found if not size),
        rows_with_one_class=with_one_class,
        share_with_one_class=with_one_class / rows if rows else 0.0,
        smallest_single_class=min((size for size, classes, *_ in found if classes == 1), default=None),
        smallest=min((size for size, *_ in found if size), default=None),
        rows_below_k=sum(rows for size, *_, rows in found if 0 < size < k),
        rows_open=sum(rows for size, _, fewest, rows in found if 0 < fewest < k <= size),
        fewest_fitting=fewest,
        rows_fitting_few=fitting_few,
        fitting_open=fitting_open,
        sizes=dict(sizes),
        people=None if found_people is None else _link_people(candidates, k, *found_people),
    )


def _fitting(
    candidates: Candidates, k: int, found_people: tuple[exp.Table, ClassPeople] | None
) -> tuple[int | None, int, bool]:
    """Return the fewest of the original that a row of the release can be, and how many rows fewer than k can be.

    Also whether there may be more such rows. A class of k rows has k that fit, whatever is ruled out.
    """
    if candidates.contradicted:
        return None, 0, False
    who, fitting = candidates.people.tuples, sql.sum_of(sql.column(N, "who"))
    if found_people is not None:  # a row without a name belongs to no person
        who, fitting = found_people[0], sql.count_distinct(sql.column("person", "who"))
    query = sql.query(
        "attacks/candidates/fitting",
        values={"fitting": fitting, "k": k},
        tables={"pairs": candidates.pairs, "classes": candidates.classes, "who": who},
    )
    fewest, few, smallest = candidates.engine.row(query, "how many can be each row of the release")
    if found_people is not None:
        smallest = found_people[1].smallest
    return fewest, int(few), not candidates.exact and smallest is not None and smallest < k


def _link_people(candidates: Candidates, k: int, persons: exp.Table, people: ClassPeople) -> LinkedPeople:
    query = sql.query(
        "attacks/people/found",
        values={
            "k": k,
            "exact": candidates.exact,
            "settled": people.settled,
            "one_row_each": people.one_row_each,
        },
        tables={
            "sets": candidates.sets,
            "found": candidates.found,
            "in_classes": people.sizes,
            "members": people.members,
            "persons": persons,
        },
    )
    found = candidates.engine.row(query, "of how many people the candidates are")
    return LinkedPeople(people.entity, people.smallest, people.smallest_at_most, *found)


def _range(size: int) -> str:
    place = bisect_left(_UP_TO, size)
    low = _UP_TO[place - 1] + 1 if place else 1
    if place == len(_UP_TO):
        return f"{low} and more"
    return str(low) if low == _UP_TO[place] else f"{low}-{_UP_TO[place]}"
