"""The parts that Mondrian has cut a table into so far, as temporary tables.

    kanon_tuples(part, place_1, place_2, ..., n, [persons, entity], [start])   tuples of parts that may be cut again
    kanon_finished                                                             the same of parts that cannot
    kanon_tried(part, tried_1, tried_2, ...)                                   failed attempts in each column
    kanon_sides(part, column_number, at_null, allowed, from_place, to_place, position, inside, outside)
                                                                               the cuts of a round
    kanon_cuts_made(part, column_number, from_place, to_place, position, inside, outside)
                                                                               all cuts that were made
    kanon_placed, kanon_part_of(tuple_row, part), kanon_best                   all tuples, and results of array cuts

A cut sends the rows of a part with a place from from_place to to_place in the column into the part ``inside``, and all
others into the part ``outside``. The table is part 1. Every part is cut at most once.

With relaxed cuts the rows of the table are ordered by all their places, and a tuple has the rows from start + 1 to
start + n. Rows at to_place itself go inside only up to ``position``.

The statements of a round are the same in every round: they are built once and their text is kept.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.measures.labels import PART, placed_query
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kanon_sql.classes.recoding import Cutting
    from kanon_sql.measures.labels import Places
    from kanon_sql.search.problem import Problem

NULLS, ALL = 1, 2
"""Cuts that were tried without success in a column: of its NULLs, or all cuts; 0 is none."""
START = "start"
"""Column of tuples whose rows may be separated: how many rows of the table precede them."""
_KEPT = ("kanon_finished", "kanon_cuts_made")
_OF_A_ROUND = ("tuples", "tried", "ends", "chosen", "binned", "bins", "histogram", "children", "round", "sides", "next")
_OF_ARRAYS = ("placed", "part_of", "best")
_OF_CHOICE = ("values", "fills", "judged", "open", "failing")
_NAMES = (*_KEPT, *(f"kanon_{name}" for name in (*_OF_A_ROUND, *_OF_ARRAYS, *_OF_CHOICE)))


class Parts:
    def __init__(self, problem: Problem, cutting: Cutting) -> None:
        self.problem, self.cutting, self.places = problem, cutting, problem.places
        self.engine = problem.frequency.engine
        self.tables = {name: self.engine.temporary_name(name) for name in _NAMES}
        self._made: set[str] = set()
        self.numbers = 1  # part numbers in use
        self.rounds = 0
        self.all_finished = False  # True if no tuple is in a part that can be cut
        self.whole = True  # True while tuples and cuts are consistent
        self.cuttable = 1  # parts that may be cut in this round, as far as is known
        self._statements: dict[str, exp.Expr] = {}
        self._counted = list(problem.frequency.counted)
        query: exp.Query = placed_query(problem.frequency, self.places)
        if cutting.cut == "relaxed":
            self._counted.append(START)
            query = _numbered(query, self.places)
        whole = "kanon_placed" if cutting.choose == "loss" else "kanon_tuples"
        self._create(whole, query, "the whole table is one part")
        nothing = exp.select("*").from_(self[whole].copy()).limit(0)
        self._create("kanon_finished", nothing, "no part is finished")
        self._create("kanon_cuts_made", sql.query("mondrian/no_cuts"), "no cut was made")
        if whole == "kanon_tuples":
            zero = [sql.named(_tiny(0), tried_name(column)) for column in self.places]
            untried = exp.select(PART, *zero).distinct().from_(self[whole].copy())
            self._create("kanon_tried", untried, "nothing was tried")

    def __getitem__(self, name: str) -> exp.Table:
        return self.tables[name]

    def query(self, file: str, **values: sql.Value) -> exp.Query:
        """Return the query of a file over these tables, with its other placeholders unbound."""
        left = {name: exp.Placeholder(this=name) for name in ("next", "bins", "wanted")}
        places = [sql.column(column.place) for column in self.places]
        columns = [sql.column(name) for name in self.tuple_names()]
        given = {**left, "place": self.place("tuples"), "places": places, "columns": columns, **values}
        named = set(re.findall(r"\$(\w+)", sql.text_of(file)))  # an empty list would also take the comments along
        return sql.query(file, values={name: given[name] for name in named}, tables=self.tables)

    def make(self, name: str, title: str, query: Callable[[], exp.Query], **parameters: int) -> None:
        """Create one of the tables from others."""
        self._run(f"drop {name}", lambda: sql.drop(self[name]))
        self._made.add(name)
        self._run(title, lambda: sql.create_table(self[name].copy(), query(), temporary=True), **parameters)

    def make_once(self, name: str, title: str, query: Callable[[], exp.Query]) -> None:
        if name not in self._made:
            self.make(name, title, query)

    def replace(self, name: str, title: str, query: Callable[[], exp.Query]) -> None:
        """Replace one of the tables by a query of itself."""
        self._made.add("kanon_next")
        self._run(title, lambda: sql.create_table(self["kanon_next"].copy(), query(), temporary=True))
        self._run(f"drop {name}", lambda: sql.drop(self[name]))
        renamed = exp.AlterRename(this=self[name].copy())
        self._run(
            f"{name} is what it is now",
            lambda: exp.Alter(this=self["kanon_next"].copy(), kind="TABLE", actions=[renamed]),
        )

    def give_up(self, title: str, failing: str) -> None:
        """Mark all columns as tried without success for the parts in one of the tables."""

        def update() -> exp.Update:
            everything: dict[str, object] = {tried_name(column): _tiny(ALL) for column in self.places}
            own = exp.In(this=sql.column(PART), query=exp.select(PART).from_(self[failing].copy()).subquery())
            return exp.update(self["kanon_tried"].copy(), everything, where=own)

        self._run(title, update)

    def insert(self, name: str, title: str, query: Callable[[], exp.Query]) -> None:
        self._run(title, lambda: exp.insert(query(), self[name].copy()))

    def load(self, name: str, columns: Mapping[str, Sequence[int]], title: str) -> None:
        """Create one of the tables from columns of integers."""
        self._run(f"drop {name}", lambda: sql.drop(self[name]))
        self._made.add(name)
        self.engine.load(self[name], columns, title, "INTEGER")

    @contextmanager
    def together(self) -> Iterator[None]:
        """Change tuples and cuts together, or neither if the search is stopped in between.

        Inside a transaction of the caller this cannot be rolled back. Then ``whole`` is False and the parts are
        unusable.
        """
        self.whole = False
        if self.engine.in_transaction():
            yield
        else:
            try:
                with self.engine.transaction():
                    yield
            finally:
                self.whole = True
        self.whole = True

    def count(self, title: str, query: Callable[[], exp.Query]) -> int:
        ((found,),) = self.rows(title, query)
        return int(found)

    def rows(self, title: str, query: Callable[[], exp.Query], **parameters: int) -> list[tuple[int, ...]]:
        return self._run(title, query, **parameters)

    def rows_of(self, name: str) -> int:
        return self.count(f"rows of {name}", lambda: sql.select_count(self[name]))

    def close(self) -> None:
        for name in _NAMES:
            if name in self._made and name not in _KEPT:
                self.engine.run(sql.drop(self[name]), f"drop {name}")

    # Pieces of the statements of a round

    def of_tuple(self, name: str) -> exp.Expr:
        return sql.column(name, self["kanon_tuples"].name)

    def tuple_names(self) -> list[str]:
        """Return the names of the columns of the tuples, except the part."""
        return [*(column.place for column in self.places), *self._counted]

    def others(self) -> list[exp.Expr]:
        """Return the columns of the tuples, except the part."""
        return [self.of_tuple(name) for name in self.tuple_names()]

    def place(self, relation: str | None = None) -> exp.Expr:
        """Return the place of a tuple in the column with number ``column_number``."""
        own = relation or self["kanon_tuples"].name
        return of_column({column.number: sql.column(column.place, own) for column in self.places})

    def is_inside(self, name: str) -> exp.Expr:
        """Return the condition that a tuple lies between the places of a cut in one of the tables."""
        ends = [sql.column(end, self[name].name) for end in ("from_place", "to_place")]
        return exp.Between(this=self.place(), low=ends[0], high=ends[1])

    # The end of every round

    def finish_others(self) -> None:
        """Put aside the tuples of parts for which no column could be chosen."""

        def query() -> exp.Select:
            chosen = self["kanon_chosen"]
            same = sql.column(PART, chosen.name).eq(self.of_tuple(PART))
            others = exp.Exists(this=exp.select("1").from_(chosen.copy()).where(same)).not_()
            return exp.select(self.of_tuple(PART), *self.others()).from_(self["kanon_tuples"].copy()).where(others)

        if self.rows_of("kanon_chosen") < self.rows_of("kanon_tried"):  # otherwise there are none
            self.insert("kanon_finished", "parts that cannot be cut are finished", query)

    def number_sides(self) -> int:
        """Number the sides of all allowed cuts. Return the number of parts that were tried."""
        self.rounds += 1
        title = "numbers of the new parts"
        self.make("kanon_sides", title, lambda: self.query("mondrian/sides"), next=self.numbers + 1)
        tried = self.rows_of("kanon_sides")
        self.cuttable = max(1, 2 * tried)
        return tried

    def take_note(self) -> None:
        """Record the cuts of the round, and the columns that were tried without success."""
        self.replace("kanon_tried", "cuts that failed", self._tried_query)
        self.insert("kanon_cuts_made", "cuts that were made", lambda: self.query("mondrian/cuts_made"))
        highest = exp.Max(this=sql.column("outside"))  # the higher number of the two
        found = exp.Coalesce(this=highest, expressions=[sql.literal(0)])
        given = self.count("numbers in use", lambda: exp.select(found).from_(self["kanon_sides"].copy()))
        self.numbers = max(self.numbers, given)

    def _tried_query(self) -> exp.Query:
        sides, tried = self["kanon_sides"], self["kanon_tried"]
        names = [tried_name(column) for column in self.places]
        failed = exp.select(sql.column(PART, sides.name)).from_(sides.copy())
        for column, name in zip(self.places, names, strict=True):
            is_it = sql.column("column_number", sides.name).eq(column.number + 1)
            what = exp.Case().when(sql.column("at_null", sides.name), _tiny(NULLS)).else_(_tiny(ALL))
            before = sql.column(name, tried.name)  # all of it, if a cut failed that no other may follow
            now = exp.Case().when(is_it, sql.greatest([what, before])).else_(before.copy())
            failed = failed.select(sql.named(now, name))
        same = sql.column(PART, sides.name).eq(sql.column(PART, tried.name))
        failed = failed.join(tried.copy(), on=same).where(exp.Not(this=sql.column("allowed", sides.name)))
        zero = [sql.named(_tiny(0), name) for name in names]
        new = [
            exp.select(sql.named(sql.column(side), PART), *(item.copy() for item in zero)).distinct()
            for side in ("inside", "rest")
        ]
        allowed = sql.column("allowed")
        return sql.union_all([failed.distinct(), *(side.from_(sides.copy()).where(allowed.copy()) for side in new)])

    def _create(self, name: str, query: exp.Query, title: str) -> None:
        self._made.add(name)
        self.engine.run(sql.create_table(self[name].copy(), query, temporary=True), title)

    def _run(self, title: str, statement: Callable[[], exp.Expr], **parameters: int) -> list[tuple[int, ...]]:
        if title not in self._statements:
            self._statements[title] = statement()
        return self.engine.rows(self._statements[title], title, parameters)


def tried_name(column: Places) -> str:
    return f"tried_{column.number + 1}"


def of_column(values: Mapping[int, exp.Expr]) -> exp.Expr:
    """Return the value of the column with number ``column_number``, by number of the quasi-identifier; else NULL."""
    if not values:
        return exp.null()
    case = exp.Case(this=sql.column("column_number"))
    for number, value in values.items():
        case = case.when(sql.literal(number + 1), value, copy=False)
    return case


def _tiny(number: int) -> exp.Cast:
    return sql.cast(sql.literal(number), "TINYINT")


def _numbered(query: exp.Query, places: Sequence[Places]) -> exp.Select:
    """Add to tuples how many rows of the table precede theirs, in the order of all places."""
    up_to = sql.over(exp.Sum(this=sql.column(N)), order=[column.place for column in places], running=True)
    before = sql.cast(up_to, "BIGINT") - sql.column(N)
    return exp.select("*", sql.named(before, START)).from_(query.subquery("placed"))
