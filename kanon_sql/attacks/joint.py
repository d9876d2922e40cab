"""Joint release: two releases of one table leave a person the rows that are in both of their classes.

Who is in one class of 5 in the one release and in one class of 5 in the other is among those who are in both, and
they may be fewer; likewise with the sensitive values of the two classes. The groups are counted among the people of
the original. Of two full-domain releases they are the pairs of classes (``joint_classes``); where labels overlap, a
person is left with everyone who shares a candidate class with her in each of the releases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.attacks.candidates import FOUND
from kanon_sql.attacks.guesses import TOLD
from kanon_sql.attacks.joint_overlap import overlapping_groups
from kanon_sql.attacks.people import POSITION, TUPLE, position
from kanon_sql.attacks.released import truth
from kanon_sql.frequency import N

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.attacks.candidates import Candidates
    from kanon_sql.attacks.people import People
    from kanon_sql.engine.base import Column, Engine

_FIRST, _SECOND = "first_found", "second_found"


@dataclass(frozen=True)
class JointClasses:
    """How small groups of people get who are alike in two releases.

    Attributes:
        groups: different pairs of what is found in the two releases.
        smallest: people in the smallest group; None if nobody is in both releases.
        groups_below_k: groups of fewer than k.
        rows_below_k: rows of the original in them.
    """

    groups: int
    smallest: int | None
    groups_below_k: int
    rows_below_k: int


@dataclass(frozen=True)
class Known:
    """What two releases together say of a sensitive column.

    Attributes:
        column: its name.
        rows_certain: rows for which one value is possible in both releases.
        rows_certain_right: those for which it is the true one.
    """

    column: str
    rows_certain: int
    rows_certain_right: int


@dataclass(frozen=True)
class Joint:
    """What a second release of the same table adds.

    Attributes:
        other: name of the other release.
        k: a smaller group than this is a success of the attack.
        rows: rows of the original that are found in both releases.
        classes: the groups that are left.
        known: what is certain of each sensitive column that both have.
    """

    other: str
    k: int
    rows: int
    classes: JointClasses
    known: tuple[Known, ...]
    name: str = "joint release"

    @property
    def succeeded(self) -> bool:
        """Whether somebody is left with fewer than k people, or with one sensitive value."""
        return self.classes.rows_below_k > 0 or any(known.rows_certain for known in self.known)

    @property
    def stopped_by(self) -> str:
        """What stops it."""
        return (
            "publishing one of the two only; or making the second one by generalizing the first one further, never by "
            "another choice of levels"
        )

    def figures(self) -> dict[str, Any]:
        """Return what was found, as plain values."""
        return {
            "other": self.other,
            "k": self.k,
            "rows": self.rows,
            "groups": self.classes.groups,
            "smallest": self.classes.smallest,
            "groups_below_k": self.classes.groups_below_k,
            "rows_below_k": self.classes.rows_below_k,
            "columns": [
                {
                    "column": known.column,
                    "rows_certain": known.rows_certain,
                    "rows_certain_right": known.rows_certain_right,
                }
                for known in self.known
            ],
        }


def joint_groups_query(people: exp.Query, first: Sequence[str], second: Sequence[str], n: str | None) -> exp.Select:
    """Return the query of the groups of people who are alike in two releases: their sizes, as ``n``.

    Args:
        people: rows (or tuples) of the original that both releases have, with the labels, codes or numbers of their
            classes in each; a NULL among them is a value like any other.
        first: names of the columns that make up the class in the first release.
        second: ... in the second release.
        n: name of the column that says for how many rows of the original each row stands; None if it is one.
    """
    names = list(dict.fromkeys([*first, *second]))
    size = sql.count_rows() if n is None else sql.sum_of(sql.column(n))
    query = exp.select(sql.named(size, N)).from_(people.subquery("people"))
    return query.group_by(*(sql.column(name) for name in names))


def joint_classes(
    engine: Engine, people: exp.Query, first: Sequence[str], second: Sequence[str], k: int, *, n: str | None = None
) -> JointClasses:
    """Return how small the groups are that two full-domain releases of one table leave.

    Args:
        engine: holds the people.
        people: as for ``joint_groups_query``.
        first: as there.
        second: as there.
        k: the smallest group that is allowed.
        n: as there.
    """
    size = sql.column(N)
    below = exp.LT(this=size, expression=sql.literal(k))
    rows = exp.Coalesce(this=sql.where(exp.Sum(this=size.copy()), below), expressions=[sql.literal(0)])
    query = exp.select(
        sql.count_rows(), exp.Min(this=size.copy()), sql.where(sql.count_rows(), below.copy()), sql.cast(rows, "BIGINT")
    ).from_(joint_groups_query(people, first, second, n).subquery("joint_groups"))
    groups, smallest, groups_below, rows_below = engine.row(query, "people who are alike in both releases")
    return JointClasses(groups, smallest, groups_below, rows_below)


def join(
    engine: Engine,
    people: People,
    first: Candidates,
    second: Candidates,
    values: Sequence[tuple[Column, exp.Table, exp.Table]],
    other: str,
    k: int,
) -> Joint:
    """Return what a second release adds.

    Args:
        engine: holds everything.
        people: the rows of the original.
        first: what they find in the first release.
        second: what they find in the second one.
        values: for each sensitive column that both releases have, the values among candidates in each of them.
        other: name of the second release.
        k: the smallest group that is allowed.
    """
    both = _both_query(first, second)
    (rows,) = engine.row(
        exp.select(exp.Coalesce(this=sql.sum_of(sql.column(N)), expressions=[sql.literal(0)])).from_(
            both.subquery("both")
        ),
        "people who are in both releases",
    )
    if first.full_domain and second.full_domain:
        classes = joint_classes(engine, both, [_FIRST], [_SECOND], k, n=N)
    else:
        classes = JointClasses(*overlapping_groups(engine, both, (_FIRST, first.sets), (_SECOND, second.sets), k))
    known = tuple(_known(engine, people, first, second, *own) for own in values)
    return Joint(other, k, rows, classes, known)


def _both_query(first: Candidates, second: Candidates) -> exp.Select:
    """Return the query of the tuples that both releases have, and what they find in each."""
    same = exp.EQ(this=sql.column(TUPLE, "first"), expression=sql.column(TUPLE, "second"))
    finds = [sql.column(FOUND, alias).is_(exp.null()).not_() for alias in ("first", "second")]
    query = exp.select(
        sql.column(TUPLE, "first"),
        sql.named(sql.column(FOUND, "first"), _FIRST),
        sql.named(sql.column(FOUND, "second"), _SECOND),
        sql.column(N, "first"),
    )
    query = query.from_(sql.aliased(first.found, "first")).join(sql.aliased(second.found, "second"), on=same)
    return query.where(*finds)


def _known(
    engine: Engine,
    people: People,
    first: Candidates,
    second: Candidates,
    column: Column,
    in_first: exp.Table,
    in_second: exp.Table,
) -> Known:
    """Return for how many people one value of a column is possible in both releases."""
    # 1. The values that are left for each pair of what is found.
    pairs = exp.select(_FIRST, _SECOND).distinct().from_(_both_query(first, second).subquery("both"))
    possible = exp.select(
        sql.column(_FIRST, "pairs"),
        sql.column(_SECOND, "pairs"),
        sql.named(exp.Min(this=sql.column(TOLD, "in_first")), TOLD),
    ).from_(pairs.subquery("pairs"))
    same_found = exp.EQ(this=sql.column(FOUND, "in_first"), expression=sql.column(_FIRST, "pairs"))
    possible = possible.join(sql.aliased(in_first, "in_first"), on=same_found)
    same_found = exp.EQ(this=sql.column(FOUND, "in_second"), expression=sql.column(_SECOND, "pairs"))
    same_value = exp.EQ(this=sql.column(TOLD, "in_second"), expression=sql.column(TOLD, "in_first"))
    possible = possible.join(sql.aliased(in_second, "in_second"), on=exp.and_(same_found, same_value))
    one = exp.EQ(this=sql.count_rows(), expression=sql.literal(1))
    possible = possible.group_by(sql.column(_FIRST, "pairs"), sql.column(_SECOND, "pairs")).having(one)
    # 2. The people whose they are.
    right = exp.EQ(this=truth(people.value(column, "original"), column), expression=sql.column(TOLD, "possible"))
    query = exp.select(sql.count_rows(), sql.where(sql.count_rows(), right))
    query = query.from_(sql.aliased(people.copy, "original"))
    for relation, conditions in (
        (sql.aliased(people.relation, "people"), [(sql.column(POSITION, "people"), position("original"))]),
        (_both_query(first, second).subquery("both"), [(sql.column(TUPLE, "both"), sql.column(TUPLE, "people"))]),
        (
            possible.subquery("possible"),
            [(sql.column(name, "possible"), sql.column(name, "both")) for name in (_FIRST, _SECOND)],
        ),
    ):
        same = sql.all_of(exp.EQ(this=here, expression=there) for here, there in conditions)
        query = query.join(relation, on=same)
    certain, certain_right = engine.row(query, f"how often both releases together tell {column.name}")
    return Known(column.name, certain, certain_right)
