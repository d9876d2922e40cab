"""``ask``: answer a question about a table with noise.

1. Open the table, for writing if its database keeps the budget.
2. Reject a wrong question; find the noise.
3. Spend: write and commit the charge before any data of the table affects an answer.
4. Compute the exact numbers in SQL, in the database of the table.
5. Add the noise in Python; the exact numbers are discarded.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.dp.account import Limits, delta_of, epsilon_of
from kanon_sql.dp.budget import budget_statements, keeps_budget, open_budgets, require_table
from kanon_sql.dp.mechanisms import opendp
from kanon_sql.dp.questions.base import queried_rows
from kanon_sql.engine.base import resolve_columns
from kanon_sql.engine.duckdb.connection import waited
from kanon_sql.engine.sources.addresses import is_warehouse
from kanon_sql.engine.sources.open_source import Source, is_database, open_source
from kanon_sql.errors import BudgetError, UsageError
from kanon_sql.policy.gate import people_are_counted, refused_of
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.sql.dialects import script

if TYPE_CHECKING:
    import os

    from sqlglot import exp

    from kanon_sql.dp.account import Budget, Number
    from kanon_sql.dp.questions.base import Answer, Question
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.policy.policy import Count


def ask(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None,
    question: Question,
    *,
    budget: str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
) -> Answer:
    """Answer a question about a table with noise, and charge it to the budget of the table.

    Args:
        source: path of a DuckDB or data file, a DuckDB connection, or a warehouse, as for ``anonymize``.
        table: the table in a database; None if it has only one.
        question: a ``Count``, ``Sum``, ``Mean``, ``Histogram``, ``Quantile`` or ``MostFrequent``.
        budget: the DuckDB file that keeps the budget, if the database of the table cannot.
        resources: the resource limits.

    Raises:
        BudgetError: the table has no budget, or too little of it remains; the table was not read.
        UsageError: a column or a setting is wrong.
        SourceError: the table cannot be read, the budget cannot be written, or OpenDP is not installed.
    """
    opened = open_budgeted(source, table, budget, resources)
    with opened.engine:
        return answered(opened, question, budget)


def ask_sql(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None,
    question: Question,
    *,
    budget: str | os.PathLike[str] | None = None,
    dialect: str | None = None,
) -> str:
    """Return the SQL that ``ask`` would run for the exact numbers. It runs no query and spends nothing.

    Args:
        source: as for ``ask``.
        table: the table in a database.
        question: the question.
        budget: as for ``ask``; it names the protected people if the question does not.
        dialect: of the SQL; by default, the dialect of the table's database.

    Raises:
        UsageError: a column or a setting is wrong.
        SourceError: the table cannot be read.
    """
    opened = open_source(source, table)
    with opened.engine:
        require_table(opened)
        question = question.protecting(_entity_of(opened, budget))
        return script([question.query(queried_rows(opened, question))], dialect or opened.holder.dialect)


def set_budget(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None = None,
    *,
    epsilon: Number,
    delta: Number | None = None,
    entity: str | None = None,
    count: Count = "people",
    budget: str | os.PathLike[str] | None = None,
) -> Budget:
    """Set the limits for all answers about a table. Earlier charges still count.

    Args:
        source: as for ``ask``.
        table: the table in a database.
        epsilon: the most that all answers together may cost.
        delta: the probability that the bound may fail, for all answers together; by default the earlier value, or 0.
        entity: the column of the people that all answers protect; by default the earlier one, or each row.
        count: what is protected: "people", which needs an entity if a person has several rows in the table; or "rows",
            even if a person has several.
        budget: as for ``ask``.

    Raises:
        UsageError: a limit is invalid, no budget can be kept, or a person has several rows.
        SourceError: the budget cannot be written.
    """
    limits = limits_of(epsilon, delta, entity)
    opened = open_budgeted(source, table, budget)
    with opened.engine:
        return set_in(opened, limits, budget, count=count)


def read_budget(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None = None,
    *,
    budget: str | os.PathLike[str] | None = None,
) -> Budget:
    """Return the budget of a table, with its charges.

    Args:
        source: as for ``ask``.
        table: the table in a database.
        budget: as for ``ask``.

    Raises:
        BudgetError: the table has no budget.
        SourceError: the budget cannot be read.
    """
    opened = waited(lambda: open_source(source, table))
    with opened.engine:
        return read_in(opened, budget)


def budget_sql(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None = None,
    *,
    limits: Limits | None = None,
    budget: str | os.PathLike[str] | None = None,
    dialect: str = "duckdb",
) -> str:
    """Return the SQL that ``set_budget`` (or, without limits, ``read_budget``) would run. It changes nothing."""
    opened = open_source(source, table)
    with opened.engine, closing(open_budgets(opened, budget)) as budgets:
        named = None if limits is None else _resolved(opened, limits)
        return script(budget_statements(budgets.key, named, budgets.read()), dialect)


def limits_of(epsilon: Number, delta: Number | None, entity: str | None) -> Limits:
    return Limits(epsilon_of(epsilon), None if delta is None else delta_of(delta), entity)


def set_in(
    opened: Source, limits: Limits, kept_in: str | os.PathLike[str] | None, *, count: Count = "people"
) -> Budget:
    limits = _resolved(opened, limits)
    if count == "rows" and limits.entity is not None:
        raise UsageError("An entity names people, and rows are to be counted: leave one of the two out.")
    with closing(open_budgets(opened, kept_in, make=True)) as budgets:
        before = budgets.read()
        if count == "people" and (limits.entity is not None or before is None or before.entity is None):
            _require_one_row_each(opened, limits.entity)
        return budgets.set(limits)


def _require_one_row_each(opened: Source, entity: str | None) -> None:
    """Raise if a budget of rows would protect single rows of a person instead of the person."""
    found = people_are_counted(opened, Policy(columns=NamedColumns(entity=entity)))
    if people := refused_of(found):
        raise UsageError(
            f"{opened.name}: {people.text}. A budget of rows hides whether one row is in the table, not whether a "
            f"person is. {people.ways_on}"
        )


def _resolved(opened: Source, limits: Limits) -> Limits:
    if limits.entity is None:
        return limits
    (column,) = resolve_columns([limits.entity], opened.columns, opened.name)
    return replace(limits, entity=column.name)


def read_in(opened: Source, kept_in: str | os.PathLike[str] | None) -> Budget:
    with closing(open_budgets(opened, kept_in)) as budgets:
        found = budgets.read()
    if found is None:
        raise BudgetError(f"{opened.name} has no budget. Set one:\n  {budgets.setting}")
    return found


def open_budgeted(
    source: Any,  # noqa: ANN401 - as for open_source
    table: str | None,
    budget: str | os.PathLike[str] | None,
    resources: Resources | None = None,
) -> Source:
    """Open a table, for writing if its database keeps the budget; wait if another process has the file."""
    is_file = isinstance(source, str | Path) and not is_warehouse(source) and Path(source).is_file()
    writable = budget is None and is_file and is_database(Path(source))
    return waited(lambda: open_source(source, table, writable=writable, resources=resources))


def answered(opened: Source, question: Question, kept_in: str | os.PathLike[str] | None) -> Answer:
    opendp()
    with closing(open_budgets(opened, kept_in)) as budgets:
        budget = budgets.read()
        # 2. Reject a wrong question; find the noise.
        question = question.protecting(None if budget is None else budget.entity)
        queried = queried_rows(opened, question)
        query = question.query(queried)
        question.prepare(queried)
        # 3. Spend.
        left = budgets.charge(question.charge(queried))
    # 4. Compute the exact numbers. 5. Add the noise.
    answer = question.answer(_exact(opened, query), queried)
    return replace(answer, budget=left, text=script([query], opened.holder.dialect))


def _entity_of(opened: Source, kept_in: str | os.PathLike[str] | None) -> str | None:
    """Return the column of the people that the budget of a table protects, or None."""
    if kept_in is None and not keeps_budget(opened):
        return None
    with closing(open_budgets(opened, kept_in)) as budgets:
        budget = budgets.read()
    return None if budget is None else budget.entity


def _exact(opened: Source, query: exp.Query) -> list[tuple[Any, ...]]:
    return opened.holder.rows(query, "exact numbers, to which noise is added")
