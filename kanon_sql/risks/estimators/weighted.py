"""Individual risk in a weighted sample: a weight is the number of members of the population that a record stands for.

Benedetti & Franconi 1998; Franconi & Polettini 2004. A class of f members whose weights have the sum W is a sample of F
in the population, drawn with probability p = f/W each. Given f, F is negative binomial, and the risk of a member is

    r = E[1/F] = (p^f / f) 2F1(f, f; f + 1; 1 - p) = int_0^1 p^f t^(f - 1) / (1 - (1 - p) t)^f dt

The risk is computed exactly, to about twelve digits, and not by the approximation for f >= 3. With q = 1 - p,
Y = q/p and ``y = q t / (1 - q t)`` the integral is ``Y^-f int_0^Y y^(f - 1) / (1 + y) dy``, so that

    r_1 = ln(1 + Y) / Y,    r_f = (1/(f - 1) - r_(f - 1)) / Y

where an error shrinks from step to step if Y is at least 1. For other classes, and for large ones, Euler's
transformation of 2F1 gives positive terms that fall fast: ``r = p/f sum_k q^k / C(f + k, k)``.

A class of one is unique in the population with probability P(F = 1) = p = 1/W.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.equality import written
from kanon_sql.errors import UsageError, counted
from kanon_sql.risks.estimators.tuples import value_name
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.risks.estimators.tuples import Tuples

_LARGE_CLASS = 50  # from here on the sum has at most 20 terms
_NEGLIGIBLE = 1e-17


@dataclass(frozen=True)
class Weights:
    """The column of record weights, and its table.

    ``entity`` is its column of people; None if each row is another member.
    """

    column: Column
    relation: exp.Table
    table: str
    entity: Column | None = None

    @property
    def person(self) -> exp.Expr:
        """The person of a row as text: the people of a release may have separate names."""
        return exp.null() if self.entity is None else _text(self.entity)


@dataclass(frozen=True)
class WeightedRisk:
    """Estimates from record weights about the members of a table: rows, or records of people.

    Attributes:
        column: the column of weights.
        population: the sum of the weights of the members, an estimate of the members of the population.
        highest: the highest individual risk; None for a table without rows.
        average: the global risk, the mean of all members; None for a table without rows.
        expected: expected number of re-identifications if all members are looked for: the sum of their risks.
        above_threshold: members whose individual risk is above the threshold.
        uniques: expected number of population uniques among the members that are unique in the table.
    """

    column: str
    population: float
    highest: float | None
    average: float | None
    expected: float
    above_threshold: int
    uniques: float


def individual_risk(members: int, weight: float) -> float:
    """Return the mean of 1/F for a class of ``members`` members, whose weights have the sum ``weight``.

    >>> round(individual_risk(1, 10), 6), round(individual_risk(2, 20), 6), round(individual_risk(5, 20), 6)
    (0.255843, 0.082684, 0.058174)
    """
    odds = max(0.0, weight / members - 1)  # Y
    if odds < 1 or members >= _LARGE_CLASS:
        place, term, total = 0, 1.0, 1.0
        while term > _NEGLIGIBLE:
            place += 1
            term *= place / (members + place) * odds / (1 + odds)
            total += term
        return total / members / (1 + odds)
    risk = math.log1p(odds) / odds
    for fewer in range(1, members):
        risk = (1 / fewer - risk) / odds
    return risk


def weighted_risk(tuples: Tuples, members: int, weights: Weights, threshold: float) -> WeightedRisk | None:
    """Return the risks of the ``members`` of a table; count those above a ``threshold``.

    None if the table of the weights does not have all of them: it lacks people, or knows them by other names.
    """
    number = exp.TryCast(this=_text(weights.column), to=exp.DataType.build("DOUBLE", dialect="duckdb"))
    _require_fit(tuples, weights, number)
    given: dict[str, Any] = {"weight": number}
    if weights.entity is None:
        of_columns = [written(sql.column(column.name, "source"), column) for column in tuples.columns]
        named = [sql.named(value, value_name(place)) for place, value in enumerate(of_columns)]
        query = sql.query("risks/weights", values=given | {"written": named}, tables={"source": weights.relation})
    else:
        given |= {"values": tuples.by_class["values"], "person": weights.person}
        tables = {"source": weights.relation, "tuples": tuples.relation}
        query = sql.query("risks/weights_of_people", values=given, tables=tables)
    rows = tuples.engine.rows(query, "classes by their members and weights")
    classes = [(int(f), float(weight), int(n)) for f, weight, n in rows]
    complete = members == sum(f * n for f, _, n in classes)
    return of_classes(weights.column.name, classes, threshold) if complete else None


def of_classes(column: str, classes: Sequence[tuple[int, float, int]], threshold: float) -> WeightedRisk:
    """Return the risks of classes: members, sum of their weights, and how many classes have these."""
    found = [(members, weight, n, individual_risk(members, weight)) for members, weight, n in classes]
    members = sum(f * n for f, _, n, _ in found)
    expected = math.fsum(f * n * risk for f, _, n, risk in found)
    return WeightedRisk(
        column,
        math.fsum(weight * n for _, weight, n, _ in found),
        max((risk for *_, risk in found), default=None),
        expected / members if members else None,
        expected,
        sum(f * n for f, _, n, risk in found if risk > threshold),
        math.fsum(n / weight for f, weight, n, _ in found if f == 1),
    )


def _text(column: Column) -> exp.Expr:
    return sql.cast(sql.column(column.name, "source"), "VARCHAR")


def _require_fit(tuples: Tuples, weights: Weights, number: exp.Expr) -> None:
    """Raise unless every row has a weight that is a number of at least 1, and every person has one weight."""
    values = {"person": weights.person, "written": _text(weights.column), "weight": number}
    query = sql.query("risks/unfit_weights", values=values, tables={"source": weights.relation})
    missing, wrong, nameless, several = map(int, tuples.engine.row(query, "weights that cannot be used"))
    found = [f"{counted(missing, 'row')} without a weight"] if missing else []
    found += [f"{counted(wrong, 'row')} with another value"] if wrong else []
    if found:
        raise UsageError(
            f"Record weights must be numbers of at least 1. Column {weights.column.name!r} of "
            f"{weights.table} has {' and '.join(found)}."
        )
    if weights.entity is not None and (nameless or several):
        found = [f"{counted(nameless, 'row')} without a person"] if nameless else []
        found += [f"{counted(several, 'person', 'people')} with several weights"] if several else []
        raise UsageError(
            f"If people are counted, every row needs a person, and every person one weight. Columns "
            f"{weights.entity.name!r} and {weights.column.name!r} of {weights.table} have {' and '.join(found)}."
        )
