"""The result of a search: how cells are recoded. Publishing, measuring and printing know only this.

For Mondrian also how a table is cut, from the settings.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from kanon_sql.classes.lattice import Node
    from kanon_sql.hierarchy.lookup_relation import Hierarchy


class Recoding:
    """How the cells of a release are recoded."""

    # whether the classes of a release are those of one node, without those that are too small
    leaves_out_classes: ClassVar[bool] = False
    is_partition: ClassVar[bool] = False  # whether the table is cut into parts that are all published

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes at which rows are published, in their order; none if the table is cut into parts."""
        return ()

    def levels(self, hierarchies: Sequence[Hierarchy]) -> dict[str, int] | None:  # noqa: ARG002 - of one node only
        """Return the level of each column, by name; None if a column has several."""
        return None

    def levels_of(self, column: int) -> tuple[int, ...]:
        """Return the levels that cells of a quasi-identifier may have, the lowest first."""
        return tuple(sorted({node[column] for node in self.nodes}))

    def label_type(self, column: int) -> str | None:
        """Return the type that a quasi-identifier is published with; None for its own."""
        return "VARCHAR" if any(self.levels_of(column)) else None

    def described_steps(
        self,
        hierarchies: Sequence[Hierarchy],  # noqa: ARG002 - of steps only
        published: Sequence[int],  # noqa: ARG002 - part of what every recoding answers
    ) -> list[dict[str, Any]] | None:
        """Return the levels and the published rows of each step; None if there are no steps."""
        return None

    @property
    def tables(self) -> tuple[exp.Table, ...]:
        """The tables that hold the recoding; a view must keep them."""
        return ()

    def of_view(self, own: Callable[[str], exp.Table]) -> Recoding:  # noqa: ARG002 - of tables only
        """Return the recoding with the tables of a view, which have these names."""
        return self

    def described_cutting(self, hierarchies: Sequence[Hierarchy]) -> dict[str, Any] | None:  # noqa: ARG002 - for parts
        """Return how the table was cut, in how many rounds, and how parts are written; None if it was not cut."""
        return None


@dataclass(frozen=True)
class FullDomain(Recoding):
    """Every value of a column is generalized to the same level; rows in classes that fail a model are suppressed."""

    node: Node
    leaves_out_classes: ClassVar[bool] = True

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.node,)

    def levels(self, hierarchies: Sequence[Hierarchy]) -> dict[str, int]:
        return by_name(hierarchies, self.node)


@dataclass(frozen=True)
class Local(Recoding):
    """Rows are generalized as far as their own class needs: step by step, each at the node of its step.

    A step publishes the rows whose class, among the remaining rows, satisfies the models. The rows that remain after
    the last step are suppressed.
    """

    steps: tuple[Node, ...]

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.steps

    def described_steps(self, hierarchies: Sequence[Hierarchy], published: Sequence[int]) -> list[dict[str, Any]]:
        return [
            {"levels": by_name(hierarchies, node), "rows": rows}
            for node, rows in zip(self.steps, published, strict=True)
        ]


@dataclass(frozen=True)
class Multidimensional(Recoding):
    """The table is cut into parts, and all rows of a part are published with the same labels.

    State lives in the database (see ``kanon_sql.search.mondrian.boxes``): the cuts, which lead each row to its box,
    and the published labels of each box.
    """

    cutting: Cutting
    boxes: int
    cuts: int  # they have the numbers from 1 on, boxes those after them
    rounds: int
    cuts_table: exp.Table
    boxes_table: exp.Table
    orders: tuple[exp.Table | None, ...]  # for each column of texts, the temporary table of its order; else None
    types: tuple[str | None, ...]  # for each column, the type of its labels; None if every box has one value of it
    nulls: tuple[bool, ...]  # for each column, whether boxes show that they have NULLs
    # columns of texts without a cut: their values are not needed to find the box of a row
    unread: frozenset[int] = field(default=frozenset(), kw_only=True)
    is_partition: ClassVar[bool] = True

    def label_type(self, column: int) -> str | None:
        return self.types[column]

    @property
    def tables(self) -> tuple[exp.Table, ...]:
        return (*(order for order in self.orders if order is not None), self.cuts_table, self.boxes_table)

    def of_view(self, own: Callable[[str], exp.Table]) -> Multidimensional:
        named = enumerate(self.orders, start=1)
        orders = tuple(None if order is None else own(f"order_{number}") for number, order in named)
        return replace(self, cuts_table=own("cuts"), boxes_table=own("boxes"), orders=orders)

    def described_cutting(self, hierarchies: Sequence[Hierarchy]) -> dict[str, Any]:
        how = self.cutting
        written = {
            hierarchy.column.name: "value" if kind is None else how.labels if order is not None else how.numbers
            for hierarchy, kind, order in zip(hierarchies, self.types, self.orders, strict=True)
        }
        return {"choose": how.choose, "cut": how.cut, "pairs": how.pairs, "rounds": self.rounds, "written": written}


@dataclass(frozen=True)
class LabelledCombinations(Multidimensional):
    """A multidimensional recoding with a table of the labels of each combination of values. It needs no cuts."""

    labels_table: exp.Table  # each combination of quasi-identifiers, under their own names, with its labels
    # for each quasi-identifier, the column with its labels; None if it keeps its values
    labels: tuple[str | None, ...]
    # if equal rows are separated, the columns with the first and the last of them, counted from 1
    ranks: tuple[str, str] | None


def by_name(hierarchies: Sequence[Hierarchy], node: Node) -> dict[str, int]:
    """Return the level of each column at a node, by name."""
    return {hierarchy.column.name: level for hierarchy, level in zip(hierarchies, node, strict=True)}


Choose = Literal["range", "distinct", "loss", "random"]
Cut = Literal["strict", "relaxed", "node"]
Texts = Literal["tree", "set", "range"]
Numbers = Literal["range", "mean", "median", "tree"]

MONDRIAN = ("mondrian", "mondrian-plus")
"""The algorithms that cut a table into parts."""
COMPARED = ("loss", "gcp")
"""Measures by which cuts can be compared."""
OPTIONS = ("choose", "cut", "labels", "numbers", "pairs")
"""Settings of these algorithms."""


@dataclass(frozen=True)
class Cutting:
    """How Mondrian cuts a table, and how the values of a part are written."""

    # which column: "range" (the part's range of values is widest), "distinct" (the part has most of the column's
    # values), "loss" (its cut saves most; mondrian-plus compares all cuts of all columns) or "random"
    choose: Choose = "range"
    # where: "strict" (at the median; equal values stay together), "relaxed" (in half; rows that have the median go to
    # either side) or "node" (columns with a tree: each child of a label is a side)
    cut: Cut = "strict"
    # how texts of a part are written: "tree" (the lowest label over all of them), "set" or "range"
    labels: Texts = "tree"
    # how numbers and dates of a part are written: "range", "mean" or "median"; or, like texts, as the lowest label of
    # their "tree" over all of them: then they are cut by the tree
    numbers: Numbers = "range"
    every_cut: bool = False  # whether all places are compared, or only the median of each column
    pairs: int = 0  # mondrian-plus: number of final passes over pairs of parts, to cut them again together
    seed: int = 0


def cutting_of(
    algorithm: str,
    measure: str,
    *,
    choose: str | None,
    cut: str | None,
    labels: str | None,
    numbers: str | None,
    pairs: int | None,
    seed: int | None,
) -> Cutting | None:
    """Return how an algorithm cuts, with defaults filled in; None for one that does not cut."""
    given = {"choose": choose, "cut": cut, "labels": labels, "numbers": numbers, "pairs": pairs}
    if algorithm not in MONDRIAN:
        if said := [name for name, value in given.items() if value is not None]:
            raise UsageError(f"{said[0]} is for {' and '.join(MONDRIAN)}; {algorithm} does not cut a table into parts.")
        return None
    if pairs and algorithm != "mondrian-plus":
        raise UsageError(f"pairs is for mondrian-plus; {algorithm} does not compare what cuts save.")
    every_cut = algorithm == "mondrian-plus"
    if every_cut and choose is not None:
        raise UsageError("mondrian-plus compares the cuts of all columns and chooses none first: leave choose out.")
    if choose is None:
        choose = "loss" if every_cut else "range"
    if cut is None:
        cut = "node" if every_cut and labels in {None, "tree"} else "strict"
    if numbers == "tree" and labels not in {None, "tree"}:
        raise UsageError(f"Numbers are written by their tree where texts are: with labels tree, not {labels}.")
    if numbers == "tree" and choose == "loss" and measure == "gcp":
        raise UsageError("Cuts of numbers that are written by their tree are compared by loss: use measure loss.")
    if choose == "loss":
        _require_comparable(measure, cut, every_cut=every_cut)
    return Cutting(
        choose=cast("Choose", choose),  # the names were checked above
        cut=cast("Cut", cut),
        labels=cast("Texts", labels or "tree"),
        numbers=cast("Numbers", numbers or "range"),
        every_cut=every_cut,
        pairs=int(every_cut) if pairs is None else pairs,
        seed=seed or 0,
    )


def _require_comparable(measure: str, cut: str, *, every_cut: bool) -> None:
    """Raise unless the saving of a cut can be computed."""
    if measure not in COMPARED:
        raise UsageError(f"Cuts are compared by loss or gcp, not by {measure}: use measure loss, or choose range.")
    if cut == "relaxed" or (cut == "node" and not every_cut):
        raise UsageError(
            f"What a cut saves is known of strict cuts, and of nodes in mondrian-plus, not of cut {cut}: leave choose "
            "loss out."
        )
