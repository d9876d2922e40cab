"""Differential privacy where the table is: the same exact numbers on DuckDB, PostgreSQL and Spark; their budgets."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from engines import BESIDE_DUCKDB, PLACES, Place
from foreign_engines import Transpiled, counted
from needs import needs

needs("opendp")


from sqlglot import exp

from kanon_sql import dp
from kanon_sql.dp import asking
from kanon_sql.dp.questions.base import queried_rows
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.errors import BudgetError, UsageError
from kanon_sql.sql.dialects import rendered

pglast = needs("pglast")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conftest import Ended

TYPES = {"id": "INTEGER", "person": "VARCHAR", "age": "INTEGER", "cost": "DOUBLE", "paid": "DECIMAL(9,2)",
         "sex": "VARCHAR", "seen": "DATE", "Well": "BOOLEAN"}  # fmt: skip
QUESTIONS: dict[str, dp.Question] = {
    "count": dp.Count(epsilon=1),
    "count where": dp.Count(epsilon=1, where="age BETWEEN 30 AND 50 AND sex NOT LIKE 'M%' OR \"Well\" AND cost > -1.5"),
    "count at dates": dp.Count(epsilon=1, where="seen >= DATE '2024-02-01' AND sex IS NOT DISTINCT FROM 'F'"),
    "count of people": dp.Count(epsilon=1, entity="person"),
    "count of rows of people": dp.Count(epsilon=1, entity="person", max_rows=2, where="sex IN ('F', 'M')"),
    "count of a group": dp.Count(epsilon=1, group=("sex", "F")),
    "count of a whole number": dp.Count(epsilon=1, group=("age", "34")),
    "sum": dp.Sum(column="age", bounds=(0, 60), epsilon=1),
    "sum of parts": dp.Sum(column="cost", bounds=("-2.5", 40), epsilon=1),
    "sum of decimals": dp.Sum(column="paid", bounds=(0, "99.99"), epsilon=1),
    "sum of people": dp.Sum(column="cost", bounds=(-5, 40), epsilon=1, entity="person", max_rows=2),
    "mean": dp.Mean(column="age", bounds=(20, 60), epsilon=1),
    "mean of people": dp.Mean(column="cost", bounds=(-5, 40), epsilon=1, entity="person"),
    "median": dp.Quantile(column="age", bounds=(0, 100), epsilon=1),
    "quantile of people": dp.Quantile(column="cost", bounds=(-5, 40), share="0.9", epsilon=1, entity="person"),
    "histogram": dp.Histogram(column="sex", keys=["F", "M"], epsilon=1),
    "histogram of bins": dp.Histogram(column="cost", bins=[-5, 0, 7.5, 30], epsilon=1),
    "histogram of dates": dp.Histogram(column="seen", keys=["2024-01-03"], epsilon=1),
    "histogram of truth": dp.Histogram(column="Well", keys=["true", "false"], epsilon=1),
    "histogram of people": dp.Histogram(column="sex", keys=["F", "M"], epsilon=1, entity="person", max_rows=2),
    "frequent keys": dp.Histogram(column="sex", delta="1e-6", epsilon=1, entity="person"),
    "most frequent": dp.MostFrequent(column="sex", keys=["F", "M", "x"], epsilon=1),
}  # fmt: skip


def rows_of_people() -> list[tuple[Any, ...]]:
    """300 rows of 90 people and of nobody; every column has NULLs."""

    def maybe(row: int, every: int, value: Any) -> Any:
        return None if row % every == 0 else value

    return [
        (
            row,
            maybe(row, 29, f"p{(row * 7) % 90}"),
            maybe(row, 11, 18 + (row * 13) % 60),
            maybe(row, 13, ((row * 31) % 97) / 7 - 3),
            maybe(row, 17, Decimal((row * 977) % 12000) / 100),
            maybe(row, 19, "F" if row % 3 else "M" if row % 2 else "née"),
            maybe(row, 23, f"2024-0{1 + row % 3}-0{1 + row % 7}"),
            maybe(row, 7, row % 5 > 1),
        )
        for row in range(1, 301)
    ]


def typed_rows() -> list[tuple[Any, ...]]:
    return [(*row[:6], None if row[6] is None else dt.date.fromisoformat(row[6]), row[7]) for row in rows_of_people()]


@pytest.fixture(scope="module", params=BESIDE_DUCKDB)
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Place]]:
    """An engine, and DuckDB beside it, with the same table."""
    rows = typed_rows()
    here = tmp_path_factory.mktemp("here")
    there = tmp_path_factory.mktemp("there")
    with PLACES[request.param](request, here) as one, PLACES["duckdb"](request, there) as other:
        for place in (one, other):
            place.load("patients", TYPES, rows)
        one.load("others", TYPES, rows)
        yield one, other


def exact(place: Place, question: dp.Question) -> list[tuple[Any, ...]]:
    opened = open_source(place.source, "patients")
    with opened.engine:
        found = asking._exact(opened, question.query(queried_rows(opened, question)))  # noqa: SLF001 - the exact numbers, which nobody is told
    return sorted((tuple(value if value is None else str(value) for value in row) for row in found), key=repr)


OF_SPARK = (
    "count where",
    "count at dates",
    "sum of parts",
    "quantile of people",
    "histogram of dates",
    "frequent keys",
)
"""What is computed by functions of an engine; a test of their own has the statements of all."""


def test_exact_numbers_are_the_same_everywhere(places: tuple[Place, Place]) -> None:
    one, other = places
    for name in OF_SPARK if one.name == "spark" else QUESTIONS:
        question = QUESTIONS[name]
        found = exact(one, question)
        assert found == exact(other, question), name
        assert found not in ([], [("0",)]), name


@pytest.mark.parametrize("dialect", ["as postgres", "as spark"])
def test_what_is_asked_of_others_means_the_same(request: pytest.FixtureRequest, tmp_path: Path, dialect: str) -> None:
    engine = Transpiled(dialect.removeprefix("as "))
    with PLACES["duckdb"](request, tmp_path) as place:
        place.load("patients", TYPES, typed_rows())
        engine.load("patients", [*TYPES.items()], typed_rows())
        opened = open_source(place.source, "patients")
        with opened.engine:
            for name, question in QUESTIONS.items():
                query = question.query(queried_rows(opened, question))
                expected = opened.engine.rows(query, "exact numbers")
                *_, text = rendered(without_catalog(query), engine.dialect)
                assert counted(engine.run(text)) == counted(expected), name


def without_catalog(query: exp.Expr) -> exp.Expr:
    """Return a query of a table that is in another database."""
    changed = query.copy()
    for table in changed.find_all(exp.Table):
        table.set("db", None)
        table.set("catalog", None)
    return changed


def test_an_answer_is_asked_and_paid_for(places: tuple[Place, Place], tmp_path: Path) -> None:
    place, _ = places
    where: dict[str, Any] = {"budget": tmp_path / "budgets.duckdb"} if place.name == "spark" else {}
    if place.name == "spark":
        with pytest.raises(UsageError, match="budget"):
            dp.set_budget(place.source, "patients", epsilon=1)
    with pytest.raises(BudgetError if place.name != "spark" else Exception, match="budget"):
        dp.ask(place.source, "patients", dp.Count(epsilon=1), **where)
    dp.set_budget(place.source, "patients", epsilon=1, delta="1e-6", count="rows", **where)
    answer = dp.ask(place.source, "patients", dp.Count(epsilon="0.5"), **where)
    assert abs(answer.value - 300) <= 60  # type: ignore[operator]  # off by more with a probability of e^-30
    assert "COUNT(*)" in answer.sql()
    dp.ask(place.source, "patients", dp.Histogram(column="sex", delta="1e-6", epsilon="0.5"), **where)
    with pytest.raises(BudgetError):
        dp.ask(place.source, "patients", dp.Count(epsilon="0.01"), **where)
    budget = dp.read_budget(place.source, "patients", **where)
    assert budget.composed == (Decimal(1), Decimal("0.000001"))
    assert place.rows("patients"), "the table is as it was"


@pytest.mark.parametrize("places", ["postgres"], indirect=True)
def test_the_command_asks_there(places: tuple[Place, Place], kanon: Callable[..., Ended]) -> None:
    place, _ = places
    table = [place.typed, "others"]
    assert kanon("dp", "budget", *table, "--epsilon", 5, "--count", "rows").code == 0
    ended = kanon("dp", "mean", *table, "--column", "age", "--bounds", "0,100", "--epsilon", 1, "--format", "json")
    assert ended.code == 0, ended.err
    low, high = ended.json["interval"]
    assert low <= ended.json["answer"] <= high
    ended = kanon("dp", "sum", *table, "--column", "age", "--bounds", "0,100", "--epsilon", 1, "--sql")
    assert ended.code == 0, ended.err
    if place.name == "postgres":
        pglast.parse_sql(ended.out)
        assert "DOUBLE PRECISION" in ended.out
