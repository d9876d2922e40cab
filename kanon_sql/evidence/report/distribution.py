"""Rows by label, in the output and before, so that no small number of the original's rows can be found.

What the output has is in the output, and is no secret. What the original has more are rows that were left out: few
people who stand out. How many of them have a label is told if in every column every label has none of them, or k or
more; else of no label of any column. All or nothing: numbers that are hidden one by one can be computed from those that
are told, from other columns that follow from this one, and from the rule by which they were chosen.

Rows left out whose label is not in the output are counted together, without their label. Labels of fewer than k rows of
the output, and those beyond the first 20, are counted together too. Where people are counted, k is people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from kanon_sql.evidence.report.figures import LabelCount
from kanon_sql.measures.part_labels import text_of
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column, Engine

Kind = Literal["label", "others", "left out"]

MOST = 20
"""Labels of a column that are shown one by one."""
_LABEL, _PUBLISHED = "label", "is_published"
PEOPLE = "kanon_people"
"""The column of people in a table of rows that were left out."""


@dataclass(frozen=True)
class Cell:
    """Rows that were left out and have something in common.

    Attributes:
        rows: how many.
        people: of how many people; of several groups, at least.
    """

    rows: int = 0
    people: int = 0

    def __add__(self, other: Cell) -> Cell:
        return Cell(self.rows + other.rows, max(self.people, other.people))


def has_few(cells: Sequence[Cell], k: int, *, by_people: bool = False) -> bool:
    """Tell whether some rows that were left out and have a label in common are few.

    Args:
        cells: all rows that were left out, by label.
        k: fewer than this are few; none is not.
        by_people: whether people are counted.
    """
    return any(0 < (cell.people if by_people else cell.rows) < k for cell in cells)


def distribution_of(
    engine: Engine,
    released: exp.Table,
    left_out: exp.Table | None,
    column: Column,
    k: int,
    *,
    by_people: bool,
    complete: bool,
) -> tuple[tuple[LabelCount, ...], int, bool]:
    """Return rows by label of a published quasi-identifier, how many labels it has, and whether some were few before.

    Args:
        engine: holds the tables.
        released: the output.
        left_out: the rows that were left out, with the labels that they would have; None where they have none.
        column: the column as it is published.
        k: below which numbers are not told.
        by_people: whether the rows left out are counted by people.
        complete: whether no row was left out.
    """
    label = text_of(sql.column(column.name, "released"), column)
    counted = exp.select(sql.named(label, _LABEL), sql.count_rows()).from_(sql.aliased(released, "released"))
    counted = counted.group_by(label.copy())
    found: list[tuple[str | None, int]] = engine.rows(counted, f"rows by label of {column.name}")
    large = sorted((row for row in found if row[1] >= k), key=lambda row: -row[1])
    shown = large if len(large) == len(found) and len(large) <= MOST else large[: MOST - 1]
    shown.sort(key=lambda row: _natural(row[0]))
    others = sum(rows for _, rows in found) - sum(rows for _, rows in shown)
    if left_out is None:
        counts = [LabelCount("label", label, rows, rows if complete else None) for label, rows in shown]
        if len(shown) < len(found):
            counts.append(LabelCount("others", None, others, others if complete else None))
        return tuple(counts), len(found), False
    cells = _left_out_cells(engine, released, left_out, column, [label for label, _ in shown], by_people=by_people)
    outs = [*(rows for _, rows in shown), others, 0]
    labels = [*(label for label, _ in shown), None, None]
    kinds: list[Kind] = ["label" for _ in shown]
    kinds += ["others", "left out"]
    # Where no label is counted with others, everybody knows that none was left out there.
    told = [place for place, kind in enumerate(kinds) if kind != "others" or len(shown) < len(found)]
    counts = [LabelCount(kinds[place], labels[place], outs[place], outs[place] + cells[place].rows) for place in told]
    few = has_few([cells[place] for place in told], k, by_people=by_people)
    return tuple(counts if any(cell.rows for cell in cells) else counts[:-1]), len(found), few


def original_rows_query(
    generalized: exp.Query,
    released: exp.Table,
    quasi_identifiers: Sequence[str],
    person: exp.Expr | None,
    *,
    published: bool,
) -> exp.Select:
    """Return the query of rows of the original, with their labels, whose class is in the output, or is not.

    Args:
        generalized: the query of all rows, generalized.
        released: the output.
        quasi_identifiers: their names.
        person: the column of people in ``generalized``, to be selected too; None where nobody is named.
        published: whether the rows are wanted whose class is in the output, or the others.
    """
    labels = [sql.column(name, "generalized") for name in quasi_identifiers]
    same = [sql.same(sql.column(name, "released"), sql.column(name, "generalized")) for name in quasi_identifiers]
    in_output = exp.Exists(this=exp.select("1").from_(sql.aliased(released, "released")).where(*same))
    wanted = in_output if published else in_output.not_()
    query = exp.select(*labels).from_("generalized").where(wanted).with_("generalized", as_=generalized)
    return query if person is None else query.select(person)


def _left_out_cells(
    engine: Engine,
    released: exp.Table,
    left_out: exp.Table,
    column: Column,
    shown: Sequence[str | None],
    *,
    by_people: bool,
) -> list[Cell]:
    """Return the rows left out of each label that is shown, of other labels of the output, and of none of them."""
    same = sql.same(sql.column(column.name, "released"), sql.column(column.name, "left_out"))
    in_output = exp.Exists(this=exp.select("1").from_(sql.aliased(released, "released")).where(same))
    each = exp.select(
        sql.named(text_of(sql.column(column.name, "left_out"), column), _LABEL), sql.named(in_output, _PUBLISHED)
    )
    if by_people:
        each = each.select(sql.column(PEOPLE, "left_out"))
    people = sql.count_distinct(sql.column(PEOPLE)) if by_people else sql.count_rows()
    query = exp.select(_LABEL, _PUBLISHED, sql.count_rows(), people)
    query = query.from_(each.from_(sql.aliased(left_out, "left_out")).subquery("each_row"))
    places = {label: place for place, label in enumerate(shown)}
    cells = [Cell()] * (len(shown) + 2)
    title = f"rows left out by label of {column.name}"
    for label, is_published, rows, people_of in engine.rows(query.group_by(_LABEL, _PUBLISHED), title):
        place = places.get(label, len(shown)) if is_published else len(shown) + 1
        cells[place] += Cell(rows, people_of)
    return cells


def _natural(label: str | None) -> tuple[bool, list[tuple[bool, float, str]]]:
    """Return by what labels are sorted: numbers in them as numbers, NULL last."""
    parts = re.split(r"(\d+)", label or "")
    return label is None, [(not part.isdecimal(), float(part) if part.isdecimal() else 0.0, part) for part in parts]
