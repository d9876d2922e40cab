"""Joint release: which rows are alike in both of two releases of one table, and which values they have.

Rows that are in the same class of one release and in the same class of the other are alike in both; so are rows of one
class that the other release left out. Such a group is what both releases leave of a person's classes: the intersection
of two classes, or the rest of a class after the published classes of the other release are subtracted from it. Each row
of a group could belong to any other person in it: exchanging two of them changes no release. So a group of k people
hides each of them among k, regardless of what else is computed from both releases; a smaller group may not.

1. The class of each tuple in each release (see ``candidates``). If several are possible, only people whose classes are
   certain count as alike.
2. The groups, and the number of people in each (``joint_groups``, ``joint_sizes``).
3. The values of a sensitive column that each group can have: bounds for the frequency of each value, from the values of
   its classes minus those of the other groups in them, until nothing changes (``joint_bounds_next``).
4. For a sensitive column of only one release, the values that a group can have if rows of both releases are joined by
   the other columns that both show, as a cost: the values of the rows of its class there that equal some row of its
   class in the other release (``joint_linked``).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.errors import counted
from kanon_sql.risks.attacks.released import Shared, class_values, make_released, shared_name, truth
from kanon_sql.risks.attacks.verdicts import ANOTHER_TABLE, Attack, people_of, share
from kanon_sql.risks.temporary import TemporaryTables
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.risks.attacks.candidates import Candidates
    from kanon_sql.risks.temporary import Values

_ROUNDS = 30  # of subtraction; each tightens a bound of some group by at least one row, and few are ever needed


@dataclass(frozen=True)
class JointClasses:
    """The sizes of groups that are alike in two releases."""

    groups: int
    smallest: int | None  # people in the smallest group; rows if no column names people; None if there are no groups
    alone: int  # people (or rows) in groups of one
    groups_below_k: int
    rows_below_k: int  # rows of the original in groups of fewer than k
    people_below_k: int | None  # people in them, each counted once; None if no column names people

    @property
    def below_k(self) -> int:
        """People in groups of fewer than k; rows if no column names people, or they name no person."""
        return self.people_below_k or self.rows_below_k


@dataclass(frozen=True)
class Known:
    """What two releases together reveal about a sensitive column."""

    column: str
    least: int  # required number of different values in a group: the l of l-diversity, or 2
    rows_certain: int  # rows with only one possible value
    rows_certain_right: int  # those for which this value is the true one
    rows_certain_together: int  # those for which it is not certain from one of the releases alone
    rows_alike: int  # rows in groups of k or more with fewer than ``least`` values, though their classes have as many
    joined_by: tuple[str, ...] = ()  # the columns by which rows were joined, if only one release has the column

    def sentence(self, rows: int) -> str:
        said = f"the value of {self.column} is certain for {share(self.rows_certain, rows)}"
        if self.joined_by:
            said += f", joined by {', '.join(self.joined_by)}"
        if self.rows_certain:
            together = f"from both together for {self.rows_certain_together:,}"
            said += f" and right for {self.rows_certain_right:,}, {together}"
        if self.rows_alike:
            left = f"{counted(self.rows_alike, 'row')} are left in groups of enough people"
            said += f"; {left} with {self.too_few} of it"
        return said

    @property
    def too_few(self) -> str:
        return f"fewer than {self.least} values" if self.least > 2 else "one value"  # noqa: PLR2004 - of two


@dataclass(frozen=True)
class Joint(Attack):
    """The additional risk of a second release of the same table."""

    other: str
    k: int  # a smaller group is a success of the attack
    rows: int  # rows of the original that are in at least one of the releases
    classes: JointClasses
    known: tuple[Known, ...]
    # Whether one of the releases has rows that the original cannot have. Then no attack is known to fail.
    contradicted: bool = False
    name = "joint release"

    @property
    def about(self) -> str:
        return self.other

    @property
    def leaves_open(self) -> bool:
        return self.contradicted

    @property
    def succeeded(self) -> bool:
        """True if someone is left with fewer than k people, or with too few sensitive values."""
        return self.adds or any(known.rows_certain for known in self.known)

    @property
    def adds(self) -> bool:
        """True if both releases together reveal something that neither reveals alone."""
        return self.classes.rows_below_k > 0 or any(
            known.rows_certain_together or known.rows_alike for known in self.known
        )

    def sentence(self) -> str:
        classes, parts = self.classes, ["no row is in either"]
        if classes.smallest is not None:
            who = "rows" if classes.people_below_k is None else "people"
            left = f"{share(classes.rows_below_k, self.rows)} are left with fewer than {self.k} {who}"
            if classes.people_below_k is not None:
                left += f" ({people_of(classes.people_below_k)})"
            groups = f"{classes.groups_below_k:,} of {counted(classes.groups, 'group')} are that small"
            parts = [f"{left}, {classes.alone:,} alone", f"{groups}, the smallest of {classes.smallest:,}"]
            parts += [known.sentence(self.rows) for known in self.known]
        return "; ".join([*parts, *([ANOTHER_TABLE] if self.outcome == "not excluded" else [])])

    def remedy(self, _sensitive: int) -> str:
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
class InBoth:
    """A column that is not a quasi-identifier, in two releases; None for a release without it.

    ``least`` is the required number of different values of a sensitive column in a group.
    """

    first: Shared | None
    second: Shared | None
    least: int = 2

    @property
    def sides(self) -> tuple[Shared | None, Shared | None]:
        return self.first, self.second

    @property
    def original(self) -> Column:
        return next(shown.original for shown in self.sides if shown is not None)


class Side:
    """One of two releases, with tables that depend on it alone: made for the first join, and kept for others."""

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        known = {"tuples": candidates.people.tuples, "classes": candidates.classes, "pairs": candidates.pairs}
        self._tables = TemporaryTables(candidates.engine, **known)
        self._values: dict[Shared, tuple[exp.Table, exp.Table]] = {}

    @cached_property
    def found(self) -> exp.Table:
        """The class number that each tuple finds, or a number below 0 that stands for several classes."""
        return self._tables.make("attacks/joint/found", "what tuples find in one release")

    @cached_property
    def choices(self) -> exp.Table:
        """The classes behind the numbers that tuples find."""
        return self._tables.make("attacks/joint/choices", "the classes behind it", found=self.found)

    @cached_property
    def is_certain(self) -> bool:
        """True if no tuple finds several classes."""
        if self.candidates.certain:
            return True
        several = exp.LT(this=sql.column("found"), expression=sql.literal(0))
        (number,) = self.candidates.engine.row(sql.select_count(self.found).where(several), "how many are left")
        return not number

    @cached_property
    def shape(self) -> tuple[Any, ...]:
        """A hash of the tuples and rows of each class, without its number: equal classes have equal hashes."""
        return self._tables.row("attacks/joint/shape", "which tuples classes have")

    def values(self, shown: Shared) -> tuple[exp.Table, exp.Table]:
        """Return the values of a column in each class, and the values that remain for tuples that find the same."""
        if shown not in self._values:
            query, title = class_values(self.candidates, shown), f"{shown.original.name} in classes"
            in_classes = self._tables.keep("class_values", query, f"{title} of the release")
            possible = self._tables.make("attacks/joint/possible", title, choices=self.choices)
            self._values[shown] = in_classes, possible
        return self._values[shown]

    def linked(self, by: Sequence[Shared], sensitive: Shared | None = None) -> exp.Table:
        """Return the classes, from 1, with the values by which rows are joined and those of a sensitive column."""
        shown = [*by, *([] if sensitive is None else [sensitive])]
        released = make_released(self.candidates, shown).relation
        parts: list[exp.Expr] = []
        for number in range(len(by)):  # with its length, so that different values cannot be equal when concatenated
            name = sql.column(shared_name(number))
            length = sql.cast(exp.Length(this=name), "VARCHAR")
            parts += [length, sql.literal(":"), name.copy()]
        value = sql.literal("") if sensitive is None else sql.column(shared_name(len(by)))
        values: Values = {"link": sql.concatenated(*parts), "value": value}
        links = self._tables.make(
            "attacks/joint/links", "what rows of a class are joined by", values, released=released
        )
        self.candidates.engine.run(sql.drop(released), "drop the class of each row of the release")
        return links

    def drop(self) -> None:
        self._tables.drop()


def least_values(models: Iterable[tuple[str, Any, str | None]]) -> dict[str, int]:
    """Return how many different values of each sensitive column models require in a class.

    ``models`` has the name of each, its requirement, and its sensitive column. The number is known only for l-diversity
    (distinct, entropy and recursive); other models require a distribution.
    """
    least: dict[str, int] = {}
    for name, required, column in models:
        found = re.fullmatch(r"(?:distinct|entropy) l-diversity|recursive \(c,(\d+)\)-diversity", name)
        if found is not None and column is not None:
            number = math.ceil(float(required)) if found[1] is None else int(found[1])
            least[column] = max(least.get(column, 2), number)
    return least


def join(
    sides: tuple[Side, Side],
    sensitive: Sequence[InBoth],
    other: str,
    k: int,
    person: Column | None = None,
    by: Sequence[InBoth] = (),
) -> Joint:
    """Return the additional risk of a second release, called ``other``; a group of fewer than ``k`` is a success.

    Sensitive columns and ``person`` are among the columns by which people are known. Without ``person``, each row is
    about another person. Sensitive columns that only one release shows are joined ``by`` columns that both show.
    """
    joined = _Joined(sides, k, person)
    try:
        rows, classes = joined.classes()
        known = [joined.known(column) for column in sensitive if None not in column.sides]
        known += [joined.linked(column, by) for column in sensitive if by and None in column.sides]
        contradicted = any(side.candidates.contradicted for side in sides)
        return Joint(other, k, rows, classes, tuple(known), contradicted)
    finally:
        joined.tables.drop()


class _Joined:
    """Two releases side by side, in temporary tables that are dropped at the end."""

    def __init__(self, sides: tuple[Side, Side], k: int, person: Column | None) -> None:
        self._people = people = sides[0].candidates.people
        self._sides, self._k = dict(zip(("first", "second"), sides, strict=True)), k
        self._person = None if person is None else people.value(person, "original")
        known = {"people": people.relation, "original": people.copy, "tuples": people.tuples}
        for name, side in self._sides.items():
            known |= {f"{name}_found": side.found, f"{name}_choices": side.choices}
        self.tables = TemporaryTables(sides[0].candidates.engine, **known)
        self._are_certain = all(side.is_certain for side in sides)
        self.tables.make("attacks/joint/alike", "tuples that are alike in both releases")
        query = self.tables.query("attacks/joint/groups")
        if self._person is not None:
            query = self.tables.query("attacks/joint/groups_of_people", {"person": self._person})
        self.tables.keep("groups", query, "groups of rows that are alike in both releases")

    def classes(self) -> tuple[int, JointClasses]:
        first, second = self._sides.values()
        if not self._are_certain and first.shape == second.shape:
            # The second one adds nothing: the classes of the first one count.
            query = self.tables.query("attacks/joint/sizes_same", classes=first.candidates.classes)
            self.tables.keep("sizes", query, "sizes of the classes of both")
        else:
            self._keep_sizes("sizes", self.tables.known["groups"], apart=self._person is None)
        found = self.tables.row("attacks/joint/small", "how small groups get", {"k": self._k})
        number, smallest, alone, groups_below, rows_below, rows = found
        people_below = None
        if self._person is not None:
            values: Values = {"k": self._k, "person": self._person}
            alone, people_below = self.tables.row("attacks/joint/small_people", "people in small groups", values)
        return rows, JointClasses(number, smallest, alone, groups_below, rows_below, people_below)

    def known(self, column: InBoth) -> Known:
        """Return the inferences about a column that both releases show."""
        tables, name = self.tables, column.original.name
        own = truth(self._people.value(column.original, "original"), column.original)
        tables.make("attacks/joint/own_values", f"{name} among rows that are alike in both releases", {"value": own})
        counted = tables.make("attacks/joint/different", f"different values of {name}")
        different = self._keep_sizes("different", counted, apart=False)
        few = exp.LT(this=sql.column("size"), expression=sql.literal(column.least))
        few_query = sql.select_count(different).where(few)
        if not tables.engine.row(few_query, f"groups with few values of {name}")[0]:
            # Exchanging people of a group changes nothing, so no value is certain.
            return Known(name, column.least, 0, 0, 0, 0)
        valued = ["own_values"]
        for (side_name, side), shown in zip(self._sides.items(), column.sides, strict=True):
            if shown is not None:
                names = [f"{side_name}_values", f"{side_name}_possible"]
                tables.known |= dict(zip(names, side.values(shown), strict=True))
                valued += names
        tables.make("attacks/joint/codes", f"values of {name}")
        for one in valued:
            query = tables.query("attacks/joint/coded", valued=tables.known[one])
            tables.keep(one, query, f"numbers for values of {name}")
        self._keep_bounds(name)
        title = f"how often both releases together tell {name}"
        found = tables.row("attacks/joint/known", title, {"least": column.least, "k": self._k})
        return Known(name, column.least, *found)

    def linked(self, column: InBoth, by: Sequence[InBoth]) -> Known:
        """Return the inferences about a column of one release from joining the rows of both."""
        name, places = column.original.name, ("first_choices", "second_choices")
        tables = []
        for place, (side, shown) in enumerate(zip(self._sides.values(), column.sides, strict=True)):
            tables.append(side.linked([own for both in by if (own := both.sides[place]) is not None], shown))
        if column.first is None:
            places, tables = (places[1], places[0]), tables[::-1]
        values: Values = {
            "least": column.least,
            "own_class": sql.column("class", places[0]),
            "other_class": sql.column("class", places[1]),
        }
        title = f"how often {name} follows from rows that are joined"
        certain, few = self.tables.row("attacks/joint/linked", title, values, valued=tables[0], linked=tables[1])
        names = tuple(both.original.name for both in by)
        return Known(name, column.least, certain, certain, certain, few, names)

    def _keep_bounds(self, name: str) -> None:
        """Make the bounds of how often each group has each value; subtract until nothing changes."""
        self.tables.make("attacks/joint/bounds", f"how often {name} can be in groups")
        width = self._width()
        for _ in range(_ROUNDS):
            title = f"how often {name} can be in groups, less what others have"
            self.tables.replace("bounds", self.tables.query("attacks/joint/bounds_next"), title)
            before, width = width, self._width()
            if width in {0, before}:
                break

    def _width(self) -> int:
        width = exp.Sub(this=sql.column("high"), expression=sql.column("low"))
        query = exp.select(sql.sum_of(width)).from_(self.tables.known["bounds"].copy())
        (found,) = self.tables.engine.row(query, "how wide the bounds are")
        return found or 0

    def _keep_sizes(self, name: str, groups: exp.Table, *, apart: bool) -> exp.Table:
        """Make a table of the certain sizes of groups."""
        if self._are_certain:
            self.tables.known[name] = groups
            return groups
        query = self.tables.query("attacks/joint/sizes", {"apart": apart}, groups=groups, sure=groups)
        return self.tables.keep(name, query, "what groups have for certain")
