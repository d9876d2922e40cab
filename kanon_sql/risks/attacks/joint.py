"""Joint release: which rows are alike in both of two releases of one table, and which values they have.

Rows that are in the same class of the one release and in the same class of the other are alike in both; so are rows of
one class that the other release left out. Such a group is what both releases leave of a person's classes: the
intersection of two classes, or what remains of a class when the published classes of the other release are subtracted
from it. Each row of a group could be that of each other person in it: to exchange two of them changes no release. So a
group of k people hides each of them among k, whatever else is computed from both releases; one of fewer may not.

1. The class of each tuple in each release (see ``candidates``). Where several are possible, only people whose classes
   are certain count as alike.
2. The groups, and how many people are in each (``joint_groups``, ``joint_sizes``).
3. The values of a sensitive column that each group can have: bounds for how often it has each value, from the values of
   its classes less those of the other groups in them, until nothing changes (``joint_bounds_next``).
4. Of a sensitive column that one release has alone, the values that a group can have where rows of both releases are
   joined by the other columns that both show, as a cost: those of the rows of its class there that are like some row of
   its class in the other release (``joint_linked``).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from kanon_sql.engine.base import make_table
from kanon_sql.risks.attacks.released import Shared, class_values, make_released, shared_name, truth
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Column, Engine
    from kanon_sql.risks.attacks.candidates import Candidates, OriginalRows

_ROUNDS = 30  # of subtraction; each tightens a bound of some group by a row at least, and few are ever needed


@dataclass(frozen=True)
class JointClasses:
    """How small groups get that are alike in two releases."""

    groups: int
    smallest: int | None  # people in the smallest group; rows if no column names people; None if there are no groups
    alone: int  # people (or rows) in groups of one
    groups_below_k: int
    rows_below_k: int  # rows of the original in groups of fewer than k
    people_below_k: int | None  # people in them, each counted once; None if no column names people

    @property
    def below_k(self) -> int:
        """People in groups of fewer than k; rows where no column names people, or they name no person."""
        return self.people_below_k or self.rows_below_k


@dataclass(frozen=True)
class Known:
    """What two releases together say of a sensitive column."""

    column: str
    least: int  # how many different values a group must have: the l of l-diversity, or 2
    rows_certain: int  # rows for which one value is possible
    rows_certain_right: int  # those for which it is the true one
    rows_certain_together: int  # those for which it is not certain from one of the releases alone
    rows_alike: int  # rows in groups of k or more with fewer than ``least`` values, though their classes have as many
    joined_by: tuple[str, ...] = ()  # the columns by which rows were joined, where one release alone has the column

    @property
    def too_few(self) -> str:
        return f"fewer than {self.least} values" if self.least > 2 else "one value"  # noqa: PLR2004 - of two


@dataclass(frozen=True)
class Joint:
    """What a second release of the same table adds."""

    other: str
    k: int  # a smaller group than this is a success of the attack
    rows: int  # rows of the original that are in one of the releases, or in both
    classes: JointClasses
    known: tuple[Known, ...]
    # Whether one of the releases has rows that the original cannot have. Then nothing is known to fail.
    contradicted: bool = False
    name: ClassVar[str] = "joint release"

    @property
    def succeeded(self) -> bool:
        """Whether someone is left with fewer than k people, or with too few sensitive values."""
        return self.adds or any(known.rows_certain for known in self.known)

    @property
    def adds(self) -> bool:
        """Whether both releases together say what neither says alone."""
        return self.classes.rows_below_k > 0 or any(
            known.rows_certain_together or known.rows_alike for known in self.known
        )

    @property
    def stopped_by(self) -> str:
        return (
            "publishing one of the two only; or two releases that leave out no row, the second one made by "
            "generalizing the first one further"
        )

    def figures(self) -> dict[str, Any]:
        return {
            "other": self.other,
            "k": self.k,
            "rows": self.rows,
            "contradicted": self.contradicted,
            **vars(self.classes),
            "columns": [dict(vars(known)) for known in self.known],
        }


@dataclass(frozen=True)
class SensitiveInBoth:
    original: Column
    first: Column
    second: Column
    least: int = 2


@dataclass(frozen=True)
class SensitiveInOne:
    """A sensitive column that one of two releases shows alone: the first one, or the second."""

    shown: Shared
    in_first: bool
    least: int = 2


@dataclass(frozen=True)
class InBoth:
    """A column that is no quasi-identifier and that both releases show as it is: rows can be joined by it."""

    first: Shared
    second: Shared


@dataclass(frozen=True)
class Joinable:
    """Columns by which rows of two releases can be joined, and sensitive columns that one of them shows alone."""

    by: Sequence[InBoth] = ()
    in_one: Sequence[SensitiveInOne] = ()


class _Tables:
    """Temporary tables made by statements in ``sql/``, each ``known`` by the name that other statements have for it."""

    def __init__(self, engine: Engine, known: dict[str, exp.Table]) -> None:
        self._engine, self.known = engine, known
        self._made: list[exp.Table] = []

    def create(
        self, statement: str, title: str, values: Mapping[str, Any] | None = None, **tables: exp.Table
    ) -> exp.Table:
        query = self.query(statement, values, **tables)
        return self.keep(make_table(self._engine, f"kanon_{PurePosixPath(statement).name}", query, title))

    def query(self, statement: str, values: Mapping[str, Any] | None = None, **tables: exp.Table) -> exp.Query:
        return sql.query(statement, values=values or {}, tables=self.known | tables)

    def keep(self, table: exp.Table) -> exp.Table:
        self._made.append(table)
        return table

    def drop(self) -> None:
        while self._made:
            self._engine.run(sql.drop(self._made.pop()), "drop what two releases have in common")


class Side:
    """One of two releases, and what depends on it alone: made when it is first joined, and kept for other joins.

    ``columns`` are its quasi-identifiers in the order of the labels of the candidates.
    """

    def __init__(
        self,
        engine: Engine,
        people: OriginalRows,
        candidates: Candidates,
        relation: exp.Table,
        columns: Sequence[Column],
    ) -> None:
        self.candidates = candidates
        self._engine, self._relation, self._columns = engine, relation, columns
        self._tables = _Tables(engine, {"tuples": people.tuples, "classes": candidates.classes})
        self._values: dict[tuple[Column, Column], tuple[exp.Table, exp.Table]] = {}

    @cached_property
    def found(self) -> exp.Table:
        """What each tuple finds: the number of a class, or one below 0 that stands for several."""
        pairs = self.candidates.pairs
        found = self._tables.create("attacks/joint/found", "what tuples find in one release", pairs=pairs)
        title = "the classes behind it"
        self._tables.known["choices"] = self._tables.create("attacks/joint/choices", title, pairs=pairs, found=found)
        return found

    @property
    def choices(self) -> exp.Table:
        _ = self.found
        return self._tables.known["choices"]

    @cached_property
    def is_certain(self) -> bool:
        """Whether no tuple finds several classes."""
        if self.candidates.full_domain:
            return True
        several = exp.LT(this=sql.column("found"), expression=sql.literal(0))
        (number,) = self._engine.row(sql.select_count(self.found).where(several), "how many are left")
        return not number

    @cached_property
    def shape(self) -> tuple[Any, ...]:
        """A hash of the tuples and rows of each class, whatever its number is: like classes have the same."""
        query = self._tables.query("attacks/joint/shape", pairs=self.candidates.pairs)
        return self._engine.row(query, "which tuples classes have")

    def values(self, released: Column, original: Column) -> tuple[exp.Table, exp.Table]:
        """Return the values of a column in each class, and those that are left to who finds the same."""
        key = released, original
        if key not in self._values:
            in_classes = class_values(self._engine, self._relation, self._columns, released, original, self.candidates)
            self._tables.keep(in_classes)
            possible = self._tables.create(
                "attacks/joint/possible", f"{original.name} in classes", class_values=in_classes, choices=self.choices
            )
            self._values[key] = in_classes, possible
        return self._values[key]

    def linked(self, by: Sequence[Shared], sensitive: Shared | None = None) -> exp.Table:
        """Return the classes, from 1, with what rows are joined by, and the values of a sensitive column."""
        shown = [*by, *([] if sensitive is None else [sensitive])]
        released = make_released(self._engine, self._relation, self._columns, shown, self.candidates)
        self._tables.keep(released.relation)
        parts: list[exp.Expr] = []
        for number in range(len(by)):  # with its length, so that no values are like others when put together
            name = sql.column(shared_name(number))
            length = sql.cast(exp.Length(this=name), "VARCHAR")
            parts += [length, sql.literal(":"), name.copy()]
        value = sql.literal("") if sensitive is None else sql.column(shared_name(len(by)))
        title = "what rows of a class are joined by"
        return self._tables.create(
            "attacks/joint/links", title, {"link": sql.concatenated(*parts), "value": value}, released=released.relation
        )

    def drop(self) -> None:
        self._tables.drop()


def least_values(models: Iterable[tuple[str, Any, str | None]]) -> dict[str, int]:
    """Return how many different values of each sensitive column models require of a class.

    ``models`` has the name of each, what it requires, and its sensitive column. Only of l-diversity (distinct, entropy
    and recursive) that number is known; other models require a distribution.
    """
    least: dict[str, int] = {}
    for name, required, column in models:
        found = re.fullmatch(r"(?:distinct|entropy) l-diversity|recursive \(c,(\d+)\)-diversity", name)
        if found is not None and column is not None:
            number = math.ceil(float(required)) if found[1] is None else int(found[1])
            least[column] = max(least.get(column, 2), number)
    return least


def join(
    engine: Engine,
    people: OriginalRows,
    sides: tuple[Side, Side],
    sensitive: Sequence[SensitiveInBoth],
    other: str,
    k: int,
    person: Column | None = None,
    joinable: Joinable | None = None,
) -> Joint:
    """Return what a second release, called ``other``, adds; a group of fewer than ``k`` is a success.

    The sensitive columns and ``person`` are among the columns of ``people``; without ``person``, each row is about
    another person.
    """
    joined = _Joined(engine, people, sides, k, person)
    try:
        rows, classes = joined.classes()
        contradicted = any(side.candidates.contradicted for side in sides)
        known = [joined.known(column) for column in sensitive]
        if joinable is not None and joinable.by:
            known += [joined.linked(column, joinable.by) for column in joinable.in_one]
        return Joint(other, k, rows, classes, tuple(known), contradicted)
    finally:
        joined.tables.drop()


class _Joined:
    """Two releases side by side, in temporary tables that are dropped at the end."""

    def __init__(
        self, engine: Engine, people: OriginalRows, sides: tuple[Side, Side], k: int, person: Column | None
    ) -> None:
        self._engine, self._people, self._sides, self._k = engine, people, sides, k
        self._person = None if person is None else people.value(person, "original")
        known = {"people": people.relation, "original": people.copy, "tuples": people.tuples}
        for name, side in self._named_sides():
            known |= {f"{name}_found": side.found, f"{name}_choices": side.choices}
        self.tables = _Tables(engine, known)
        self.tables.known["alike"] = self.tables.create("attacks/joint/alike", "tuples that are alike in both releases")
        of_people = None if self._person is None else {"person": self._person}
        statement = "attacks/joint/groups" if of_people is None else "attacks/joint/groups_of_people"
        title = "groups of rows that are alike in both releases"
        self.tables.known["groups"] = self.tables.create(statement, title, of_people)

    def classes(self) -> tuple[int, JointClasses]:
        if self._are_the_same():  # the second one adds nothing: the classes of the first one count
            title, classes = "sizes of the classes of both", self._sides[0].candidates.classes
            sizes = self.tables.create("attacks/joint/sizes_same", title, classes=classes)
        else:
            sizes = self._sizes(self.tables.known["groups"], apart=self._person is None)
        self.tables.known["sizes"] = sizes
        small = self.tables.query("attacks/joint/small", {"k": self._k})
        number, smallest, alone, groups_below, rows_below, rows = self._engine.row(small, "how small groups get")
        people_below = None
        if self._person is not None:
            statement = self.tables.query("attacks/joint/small_people", {"k": self._k, "person": self._person})
            alone, people_below = self._engine.row(statement, "people in small groups")
        return rows, JointClasses(number, smallest, alone, groups_below, rows_below, people_below)

    def known(self, column: SensitiveInBoth) -> Known:
        name, own = column.original.name, truth(self._people.value(column.original, "original"), column.original)
        title = f"{name} among rows that are alike in both releases"
        values = self.tables.create("attacks/joint/values", title, {"value": own})
        counted = self.tables.create("attacks/joint/different", f"different values of {name}", own_values=values)
        different = self._sizes(counted, apart=False)
        few = exp.LT(this=sql.column("size"), expression=sql.literal(column.least))
        (found_few,) = self._engine.row(sql.select_count(different).where(few), f"groups with few values of {name}")
        if not found_few:  # to exchange people of a group changes nothing, so that no value of it is certain
            return Known(name, column.least, 0, 0, 0, 0)
        possible: dict[str, exp.Table] = {}
        for (side_name, side), released in zip(self._named_sides(), (column.first, column.second), strict=True):
            in_classes, left = side.values(released, column.original)
            possible |= {f"{side_name}_values": in_classes, f"{side_name}_possible": left}
        coded = self._coded(name, {"own_values": values, **possible})
        tables = {"bounds": self._bounds(name, coded), "different": different, **coded}
        statement = self.tables.query("attacks/joint/known", {"least": column.least, "k": self._k}, **tables)
        found = self._engine.row(statement, f"how often both releases together tell {name}")
        return Known(name, column.least, *found)

    def linked(self, column: SensitiveInOne, by: Sequence[InBoth]) -> Known:
        """Return what is known of a column of one release by who joins its rows with those of the other."""
        name, (first, second) = column.shown.original.name, self._sides
        of_first, of_second = [both.first for both in by], [both.second for both in by]
        if column.in_first:
            valued, linked = first.linked(of_first, column.shown), second.linked(of_second)
        else:
            valued, linked = second.linked(of_second, column.shown), first.linked(of_first)
        places = ("first_choices", "second_choices") if column.in_first else ("second_choices", "first_choices")
        values = {
            "least": column.least,
            "own_class": sql.column("class", places[0]),
            "other_class": sql.column("class", places[1]),
        }
        query = self.tables.query("attacks/joint/linked", values, valued=valued, linked=linked)
        certain, few = self._engine.row(query, f"how often {name} follows from rows that are joined")
        names = tuple(both.first.original.name for both in by)
        return Known(name, column.least, certain, certain, certain, few, names)

    def _coded(self, name: str, valued: dict[str, exp.Table]) -> dict[str, exp.Table]:
        """Return tables that have values of a column with numbers for these."""
        codes = self.tables.create("attacks/joint/codes", f"values of {name}", None, **valued)
        title = f"numbers for values of {name}"
        return {
            own: self.tables.create("attacks/joint/coded", title, None, valued=table, codes=codes)
            for own, table in valued.items()
        }

    def _bounds(self, name: str, possible: dict[str, exp.Table]) -> exp.Table:
        """Return the bounds of how often each group has each value, when subtraction changes nothing any more."""
        bounds = self.tables.create("attacks/joint/bounds", f"how often {name} can be in groups", None, **possible)
        width = self._width(bounds)
        for _ in range(_ROUNDS):
            title = f"how often {name} can be in groups, less what others have"
            bounds = self.tables.create("attacks/joint/bounds_next", title, None, bounds=bounds, **possible)
            before, width = width, self._width(bounds)
            if width in {0, before}:
                break
        return bounds

    def _width(self, bounds: exp.Table) -> int:
        width = exp.Sub(this=sql.column("high"), expression=sql.column("low"))
        (found,) = self._engine.row(exp.select(sql.sum_of(width)).from_(bounds.copy()), "how wide the bounds are")
        return found or 0

    def _are_the_same(self) -> bool:
        """Tell whether both releases have the same classes, where that matters: some people can be in several."""
        first, second = self._sides
        return not self._are_certain() and first.shape == second.shape

    def _are_certain(self) -> bool:
        return all(side.is_certain for side in self._sides)

    def _sizes(self, groups: exp.Table, *, apart: bool) -> exp.Table:
        if self._are_certain():
            return groups
        title = "what groups have for certain"
        return self.tables.create("attacks/joint/sizes", title, {"apart": apart}, groups=groups, sure=groups)

    def _named_sides(self) -> Iterator[tuple[str, Side]]:
        return zip(("first", "second"), self._sides, strict=True)
