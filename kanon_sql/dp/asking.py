"""``ask``: from a table and a question to an answer with noise.

1. Open the table, for writing where its database keeps the budget.
2. Say all that can be said against the question; find the noise.
3. Spend: written and committed, before anything of the table decides an answer.
4. Compute the exact numbers in SQL, where the table is.
5. Add the noise, here; the exact numbers are forgotten.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.dialect import script
from kanon_sql.dp.asked import asked_of
from kanon_sql.dp.budget import Budget, budget_statements, closing, open_budgets, waited
from kanon_sql.dp.mechanisms import opendp
from kanon_sql.dp.spending import delta_of, epsilon_of
from kanon_sql.engine.sources import Source, is_database, open_source
from kanon_sql.engine.warehouses import is_warehouse
from kanon_sql.engine.workbench import Workbench
from kanon_sql.errors import BudgetError, SourceError, UsageError
from kanon_sql.names import folded
from kanon_sql.targets import kind_of

if TYPE_CHECKING:
    import os
    from decimal import Decimal

    from kanon_sql.dp.answer import Answer
    from kanon_sql.dp.questions.base import Question
    from kanon_sql.engine.resources import Resources

_TITLE = "exact numbers, to which noise is added"


def ask(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None,
    question: Question,
    *,
    budget: str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
) -> Answer:
    """Return the answer to a question about a table, with noise; the budget of the table pays for it.

    Args:
        source: path of a DuckDB or data file, a DuckDB connection, or a warehouse, as for ``anonymize``.
        table: the table in a database; None where there is one only.
        question: a ``Count``, ``Sum``, ``Mean``, ``Histogram``, ``Quantile`` or ``MostFrequent``.
        budget: the DuckDB file that keeps the budget, where the database of the table cannot.
        resources: what may be taken of the machine.

    Raises:
        BudgetError: the table has no budget, or not so much left; nothing was asked of it.
        UsageError: a column or a setting is wrong.
        SourceError: the table cannot be read, the budget cannot be written, or OpenDP is not installed.
    """
    opened = open_asked(source, table, budget, resources)
    with opened.engine:
        return answered(opened, question, None if budget is None else Path(budget))


def ask_sql(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None,
    question: Question,
    *,
    dialect: str | None = None,
) -> str:
    """Return the SQL that ``ask`` would run on the table for the exact numbers; nothing is asked and nothing is spent.

    Args:
        source: as for ``ask``.
        table: the table in a database.
        question: what would be asked.
        dialect: of the SQL; by default, that of where the table is.

    Raises:
        UsageError: a column or a setting is wrong.
        SourceError: the table cannot be read.
    """
    opened = open_source(source, table)
    with opened.engine:
        require_table(opened)
        return script([question.query(asked_of(opened, question))], dialect or opened.dialect)


def set_budget(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None = None,
    *,
    epsilon: Decimal | float | str,
    delta: Decimal | float | str = 0,
    budget: str | os.PathLike[str] | None = None,
) -> Budget:
    """Set what all answers about a table may cost together; what was spent stays spent.

    Args:
        source: as for ``ask``.
        table: the table in a database.
        epsilon: what all answers may cost.
        delta: with which probability the bound may fail, for all answers together.
        budget: as for ``ask``.

    Raises:
        UsageError: they are no limits, or no budget can be kept.
        SourceError: it cannot be written.
    """
    limits = epsilon_of(epsilon), delta_of(delta)
    opened = open_asked(source, table, budget)
    with opened.engine:
        return set_in(opened, limits, None if budget is None else Path(budget))


def read_budget(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None = None,
    *,
    budget: str | os.PathLike[str] | None = None,
) -> Budget:
    """Return the budget of a table, with what was spent.

    Args:
        source: as for ``ask``.
        table: the table in a database.
        budget: as for ``ask``.

    Raises:
        BudgetError: none was set.
        SourceError: it cannot be read.
    """
    opened = waited(lambda: open_source(source, table))
    with opened.engine:
        return read_in(opened, None if budget is None else Path(budget))


def budget_sql(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None = None,
    *,
    limits: tuple[Decimal | float | str, Decimal | float | str] | None = None,
    budget: str | os.PathLike[str] | None = None,
    dialect: str = "duckdb",
) -> str:
    """Return the SQL that ``set_budget`` would run, or without limits, ``read_budget``; nothing is changed.

    Args:
        source: as for ``ask``.
        table: the table in a database.
        budget: as for ``ask``.
        limits: epsilon and delta.
        dialect: of the SQL.
    """
    exact = None if limits is None else (epsilon_of(limits[0]), delta_of(limits[1]))
    opened = open_source(source, table)
    with opened.engine:
        require_table(opened)
        require_there(None if budget is None else Path(budget))
        with closing(open_budgets(opened, None if budget is None else Path(budget))) as budgets:
            return script(budget_statements(budgets.key, exact, is_set=budgets.read() is not None), dialect)


def set_in(opened: Source, limits: tuple[Decimal, Decimal], kept_in: Path | None) -> Budget:
    """Set the budget of an open table (see ``set_budget``)."""
    require_table(opened)
    with closing(open_budgets(opened, kept_in)) as budgets:
        return budgets.set(*limits)


def read_in(opened: Source, kept_in: Path | None) -> Budget:
    """Return the budget of an open table (see ``read_budget``).

    Raises:
        BudgetError: none was set.
    """
    require_table(opened)
    require_there(kept_in)
    with closing(open_budgets(opened, kept_in)) as budgets:
        found = budgets.read()
    if found is None:
        raise BudgetError(f"{opened.name} has no budget. Set one: {budgets.command} --epsilon 1")
    return found


def require_there(kept_in: Path | None) -> None:
    """Raise where a file that should keep budgets is not there: to read one does not make it.

    Raises:
        SourceError: it is not there.
    """
    if kept_in is not None and not kept_in.exists():
        raise SourceError(f"{kept_in} does not exist: it is made when a budget is set (--epsilon).")


def open_asked(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None,
    budget: str | os.PathLike[str] | None,
    resources: Resources | None = None,
) -> Source:
    """Return a table, open for writing where its database keeps the budget; others may have the file for a while."""
    is_file = isinstance(source, str | Path) and not is_warehouse(source) and Path(source).is_file()
    writable = budget is None and is_file and is_database(Path(source))
    return waited(lambda: open_source(source, table, writable=writable, resources=resources))


def answered(opened: Source, question: Question, kept_in: Path | None) -> Answer:
    """Return the answer to a question about an open table."""
    # 2. Say all that can be said against the question; find the noise.
    require_table(opened)
    opendp()
    asked = asked_of(opened, question)
    query = question.query(asked)
    question.prepare(asked)
    # 3. Spend.
    require_there(kept_in)
    with closing(open_budgets(opened, kept_in)) as budgets:
        left = budgets.charge(question.charge(asked))
    # 4. Compute the exact numbers. 5. Add the noise.
    answer = question.answer(_exact(opened, query), asked).paid(left, script([query], opened.dialect))
    if opened.file is None or opened.file.suffix.lower() == ".parquet":
        return answer
    # One value makes a column of whole numbers one of others, or of texts: steps and messages would tell.
    known = "The types of the columns, which this file does not say, were known without looking at it."
    return replace(answer, assumes=(*answer.assumes, known))


def require_table(opened: Source) -> None:
    """Raise unless a source is a table or a data file: a view would have a budget of its own.

    Raises:
        UsageError: it is a view.
    """
    in_database = opened.file is None and opened.frame_kind is None and opened.address is None
    if opened.warehouse is None and in_database and opened.relation.catalog:
        _require_current(opened)
    if opened.warehouse is None and in_database and not opened.relation.db:
        _require_lasting(opened)
    if in_database and kind_of(opened.engine, opened.relation) != "TABLE":
        raise UsageError(
            f"{opened.name} is no table: the rows of a view would be paid for apart from those of its table. Name the "
            "table, and say with --where which of its rows are meant."
        )


def _require_current(opened: Source) -> None:
    """Raise unless a table is in the database that the connection uses: one of two names would have another budget.

    Raises:
        UsageError: it is in another one.
    """
    query = exp.select(exp.Anonymous(this="current_database"))
    (current,) = opened.engine.row(query, "the database we are in")
    if folded(str(current)) != folded(opened.relation.catalog):
        raise UsageError(f"{opened.name} is in another database, which keeps its budget: USE that one first.")


def _require_lasting(opened: Source) -> None:
    """Raise where a temporary table or view stands before the table of its name, which would pay for other rows.

    Raises:
        UsageError: there is one.
    """
    listed = opened.engine.rows(sql.statement("tables"), "find the table")
    name = folded(opened.relation.name)
    if any(catalog == "temp" and folded(str(listed_name)) == name for catalog, _, listed_name, _ in listed):
        raise UsageError(f"{opened.name} is temporary, and its budget would not be: write it to a table first.")


def _exact(opened: Source, query: exp.Query) -> list[tuple[Any, ...]]:
    if isinstance(opened.engine, Workbench) and opened.warehouse is not None:
        return opened.warehouse.rows(query, _TITLE)
    return opened.engine.rows(query, _TITLE)
