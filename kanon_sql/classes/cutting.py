"""How Mondrian cuts a table, and how the values of a part are written.

A part of a table is cut in one column into two sides, or several. What may be asked:

choose    which column: "range" (the part's range of values is widest), "distinct" (it has most of the column's values),
          "loss" (its cut saves most) or "random"
cut       where: "strict" (at the median; equal values stay together), "relaxed" (in half; rows that have the median
          value go to either side) or "node" (columns with a tree: each child of a label is a side)
labels    how texts of a part are written: "tree" (the lowest label over all of them), "set" or "range"
numbers   how numbers and dates of a part are written: "range", "mean" or "median"
pairs     of mondrian-plus: how often pairs of parts are gone through at the end, to cut them again together
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast, get_args

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

Choose = Literal["range", "distinct", "loss", "random"]
Cut = Literal["strict", "relaxed", "node"]
Texts = Literal["tree", "set", "range"]
Numbers = Literal["range", "mean", "median"]

MONDRIAN = ("mondrian", "mondrian-plus")
"""The algorithms that cut a table into parts."""
COMPARED = ("loss", "gcp")
"""Measures by which cuts can be compared."""
OPTIONS = ("choose", "cut", "labels", "numbers", "pairs")
"""Settings of these algorithms."""


@dataclass(frozen=True)
class Cutting:
    """How a table is cut into parts.

    Attributes:
        choose: by what the column of a cut is chosen; "loss" of mondrian-plus compares all cuts of all columns.
        cut: where a column is cut.
        labels: how texts of a part are written.
        numbers: how numbers and dates of a part are written.
        every_cut: whether all places are compared, or only the median of each column.
        pairs: passes over pairs of parts.
        seed: of random choices.
    """

    choose: Choose = "range"
    cut: Cut = "strict"
    labels: Texts = "tree"
    numbers: Numbers = "range"
    every_cut: bool = False
    pairs: int = 0
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
    """Return how an algorithm cuts, with what was not said filled in; None for one that does not cut.

    Raises:
        UsageError: a setting is not known, or is not for this algorithm.
    """
    given = {"choose": choose, "cut": cut, "labels": labels, "numbers": numbers, "pairs": pairs}
    _require_known(given)
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
    if choose == "loss":
        _require_comparable(measure, cut, every_cut=every_cut)
    return Cutting(
        choose=cast("Choose", choose),  # the names were checked above
        cut=cast("Cut", cut),
        labels=cast("Texts", labels or "tree"),
        numbers=cast("Numbers", numbers or "range"),
        every_cut=every_cut,
        pairs=pairs or 0,
        seed=seed or 0,
    )


def _require_known(given: Mapping[str, str | int | None]) -> None:
    """Raise unless every setting that is given has one of its values.

    Raises:
        UsageError: one has not.
    """
    known = {"choose": get_args(Choose), "cut": get_args(Cut), "labels": get_args(Texts), "numbers": get_args(Numbers)}
    for name, values in known.items():
        if given[name] is not None and given[name] not in values:
            raise UsageError(f"{name} is one of {', '.join(values)}, not {given[name]!r}.")
    pairs = given["pairs"]
    if pairs is not None and (isinstance(pairs, bool | str) or pairs < 0):
        raise UsageError(f"pairs is a number of passes, 0 or more, not {pairs!r}.")


def _require_comparable(measure: str, cut: str, *, every_cut: bool) -> None:
    """Raise unless it is known what a cut saves.

    Raises:
        UsageError: it is not, by this measure or of these cuts.
    """
    if measure not in COMPARED:
        raise UsageError(f"Cuts are compared by loss or gcp, not by {measure}: use measure loss, or choose range.")
    if cut == "relaxed" or (cut == "node" and not every_cut):
        raise UsageError(
            f"What a cut saves is known of strict cuts, and of nodes in mondrian-plus, not of cut {cut}: leave choose "
            "loss out."
        )
