"""The budget of a table: its limits and charges, kept in schema ``kanon`` beside the table.

A charge is written and committed before any data of the table affects an answer. So an answer that is lost in a crash
keeps its full cost, and no charge is ever returned. A charge first locks the row of the budget: of two concurrent
charges, one waits, or fails and retries after reading the other's write.

If nothing can be kept beside the table (a data file, Spark), a DuckDB file given by the user keeps the budget. A budget
belongs to one table under one name, whose column types were declared by its owner.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.dp.account import ZERO, Budget, Charge, Spent, composed, without_zeros
from kanon_sql.engine.duckdb.connection import waited
from kanon_sql.engine.duckdb.engine import DuckDBEngine
from kanon_sql.engine.sources.addresses import ObjectAddress
from kanon_sql.engine.sources.open_source import is_database
from kanon_sql.errors import BudgetError, NoRightError, NoRoomError, SourceError, UsageError, command_line
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.hierarchy.vocabulary import is_of_person
from kanon_sql.policy.profile.people import numbers_people
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from kanon_sql.dp.account import Limits
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.warehouse.warehouse import Warehouse
    from kanon_sql.sql.build import Value


def require_table(source: Source) -> None:
    """Raise unless a source is a table, or a file that declares its column types.

    A view would have a budget of its own, and types inferred from values could change with one row.
    """
    if source.file is not None or isinstance(source.address, ObjectAddress):
        _require_types(source)
        return
    if source.frame_kind is not None or source.address is not None:
        return
    if not source.in_warehouse:
        _require_current(source)
        _require_lasting(source)
    if source.engine.kind_of(source.relation) != "TABLE":
        raise UsageError(
            f"{source.name} is no table: answers about a view, or about files read in a query, would be paid for apart "
            "from its table. Name the table, and say with --where which of its rows are meant."
        )


def _require_types(source: Source) -> None:
    """Raise unless files declare their column types: otherwise one more value could turn numbers into texts."""
    called = {
        (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).upper()
        for statement in source.setup
        for node in statement.find_all(exp.Func)
    }
    if "READ_PARQUET" not in called:
        raise UsageError(
            f"The types of the columns of {source.name} are guessed from its values, so that one row could change how "
            "all others are read: write it to a Parquet file, or to a table, with the types that you know."
        )


def _require_current(source: Source) -> None:
    """Raise unless a table is in the connection's current database: a second name would have a second budget."""
    if not source.relation.catalog:
        return
    query = exp.select(exp.Anonymous(this="current_database"))
    (current,) = source.engine.row(query, "the database we are in")
    if folded(str(current)) != folded(source.relation.catalog):
        raise UsageError(f"{source.name} is in another database, which keeps its budget: USE that one first.")


def _require_lasting(source: Source) -> None:
    """Raise if a temporary table or view hides the table of its name, which would pay for other rows."""
    if source.relation.db:
        return
    listed = source.engine.rows(sql.statement("catalog/tables"), "find the table")
    name = folded(source.relation.name)
    if any(catalog == "temp" and folded(str(listed_name)) == name for catalog, _, listed_name, *_ in listed):
        raise UsageError(f"{source.name} is temporary, and its budget would not be: write it to a table first.")


_KEY = ("place", "source_schema", "source_name")
_PAUSE = 0.05
_ATTEMPTS = 40  # attempts to write while another process writes


@dataclass
class Budgets:
    """The storage of the budget of one table."""

    keeper: DuckDBEngine | Warehouse
    # the location, schema and name of the table; the location is "" in its own database
    key: tuple[str, str, str]
    table: str
    named: tuple[str, ...]  # the table as named on the command line
    kept_in: tuple[str, ...] = ()  # the options that name the file with the budget
    person: str | None = None  # a column that identifies people by its name, if any
    owned: bool = False  # whether the keeper was opened for this, and must be closed with it

    @property
    def setting(self) -> str:
        """The command that sets a first budget, for messages; it protects people if a column identifies them."""
        protected = () if self.person is None else ("--entity", self.person)
        return command_line("dp budget", self.named, *self.kept_in, "--epsilon", "1", *protected)

    def read(self) -> Budget | None:
        """Return the current budget; None if none was set."""
        if self.keeper.kind_of(sql.relation("dp_budgets", SCHEMA)) is None:
            return None
        try:
            found = [
                (_finite(epsilon), _finite(delta), entity)
                for *key, entity, epsilon, delta in self.keeper.rows(sql.statement("dp/budgets"), "budgets")
                if tuple(key) == self.key
            ]
            if not found:
                return None
            (limits,) = found
            rows = self.keeper.rows(sql.statement("dp/spent", values=self._values()), "budget spent")
            return Budget(self.table, *limits, tuple(_spent_of(row) for row in rows))
        except NoRightError:
            raise
        except (SourceError, ArithmeticError, ValueError, TypeError):
            raise SourceError(
                f"Tables {SCHEMA}.dp_budgets and {SCHEMA}.dp_spent cannot be read as budgets: rename them if they are "
                "yours."
            ) from None

    def set(self, limits: Limits) -> Budget:
        """Set the limits of the table and return the budget. Earlier charges still count."""

        def write() -> None:
            before = self.read()
            if limits.entity is not None and before is not None and before.spent and limits.entity != before.entity:
                raise UsageError(
                    f"What was told of {self.table} protects {_protected(before.entity)}, so that its budget cannot be "
                    f"one of {_protected(limits.entity)}. Leave --entity out."
                )
            for statement in budget_statements(self.key, limits, before):
                self.keeper.run(statement, "set the budget")

        self._written(write)
        return self._require()

    def charge(self, charge: Charge) -> Budget:
        """Spend a charge before the table is queried, and return the new budget.

        If this fails, nothing was spent.
        """

        def write() -> None:
            self._require()
            self.keeper.run(sql.statement("dp/budget_take", values=self._values()), "take hold of the budget")
            budget = self._require()
            if budget.entity is not None and charge.entity != budget.entity:
                raise UsageError(
                    f"The budget of {self.table} protects {_protected(budget.entity)}, and this would protect "
                    f"{_protected(charge.entity)}: they cannot be added up."
                )
            epsilon, delta = composed([*(each.charge for each in budget.spent), charge])
            if epsilon > budget.epsilon or delta > budget.delta:
                raise BudgetError(self._too_much(budget, charge))
            column, value = charge.group or (None, None)
            values: dict[str, Value] = {
                **self._values(),
                "spent_at": datetime.now(UTC).replace(tzinfo=None).isoformat(" ", timespec="microseconds"),
                "question": charge.question,
                "epsilon": f"{charge.epsilon:f}",
                "delta": f"{charge.delta:f}",
                "group_column": column,
                "group_value": value,
            }
            self.keeper.run(sql.statement("dp/spend", values=values), "record the budget spent")

        self._written(write)
        return self._require()

    def close(self) -> None:
        if self.owned and isinstance(self.keeper, DuckDBEngine):
            self.keeper.close()

    def _require(self) -> Budget:
        budget = self.read()
        if budget is None:
            raise BudgetError(
                f"{self.table} has no budget, and each answer tells a little about the people in it. Say first how "
                f"much all answers together may tell:\n  {self.setting}"
            )
        return budget

    def _too_much(self, budget: Budget, charge: Charge) -> str:
        epsilon, delta = budget.composed
        costs = f"epsilon {without_zeros(charge.epsilon)}" + (
            f" and delta {without_zeros(charge.delta)}" if charge.delta else ""
        )
        spent = f"epsilon {without_zeros(epsilon)} of {without_zeros(budget.epsilon)}"
        if charge.delta or budget.delta:
            spent += f" and delta {without_zeros(delta)} of {without_zeros(budget.delta)}"
        return (
            f"This answer costs {costs}, and {self.table} has spent {spent}: it is not given. Ask for less, or let the "
            "owner of the table decide on more (--epsilon beside the command that shows the budget):\n"
            f"  {command_line('dp budget', self.named, *self.kept_in)}"
        )

    def _written(self, write: Callable[[], None]) -> None:
        """Run in a separate transaction; retry if another process wrote at the same time."""
        for attempt in range(_ATTEMPTS):
            try:
                with self.keeper.transaction():
                    write()
            except (NoRightError, NoRoomError):
                raise
            except SourceError:
                if attempt + 1 == _ATTEMPTS:
                    raise
                time.sleep(_PAUSE)
            else:
                return

    def _values(self) -> dict[str, Value]:
        return dict(zip(_KEY, self.key, strict=True))


def open_budgets(source: Source, kept_in: str | os.PathLike[str] | None, *, make: bool = False) -> Budgets:
    """Return the storage of a table's budget: a DuckDB file (``kept_in``), or the database of the table itself.

    In the second case, a DuckDB file must be open for writing. ``make`` creates the file that keeps the budget.
    """
    require_table(source)
    schema, name = folded(source.relation.db or source.engine.current_schema()), folded(source.relation.name)
    own, named = _own_keeper(source), _named(source)
    person = next(
        (column.name for column in source.columns if is_of_person(column.name) and numbers_people(column)), None
    )
    if kept_in is None:
        if own is None:
            raise UsageError(
                f"A budget cannot be kept beside {source.name}: name a DuckDB file that keeps it (--budget FILE); "
                "kanon dp budget makes it."
            )
        return Budgets(own, ("", schema, name), source.name, named, (), person)
    kept_in = Path(kept_in)
    if own is not None and Budgets(own, ("", schema, name), source.name, named).read() is not None:
        raise UsageError(f"{source.name} has a budget in its own database: leave --budget out.")
    if not make and not kept_in.exists():
        raise SourceError(f"{kept_in} does not exist: it is made when a budget is set (--epsilon).")
    if not is_database(kept_in):  # DuckDB opens a data file as an in-memory database, and would lose the charges
        raise UsageError(f"{kept_in} is no DuckDB file: a budget is kept in one, such as budget.duckdb.")
    keeper = waited(lambda: DuckDBEngine.from_file(kept_in, writable=True))
    key = (_place(source), schema if source.in_warehouse or source.database is not None else "", name)
    if source.file is not None:
        key = (_place(source), "", "")
    return Budgets(keeper, key, source.name, named, ("--budget", str(kept_in)), person, owned=True)


def budget_statements(key: tuple[str, str, str], limits: Limits | None, before: Budget | None) -> list[exp.Expr]:
    values: dict[str, Value] = dict(zip(_KEY, key, strict=True))
    if limits is None:
        return [sql.statement("dp/budgets"), sql.statement("dp/spent", values=values)]
    delta, entity = (ZERO, None) if before is None else (before.delta, before.entity)
    values["epsilon"] = f"{limits.epsilon:f}"
    values["delta"] = f"{delta if limits.delta is None else limits.delta:f}"
    values["entity"] = entity if limits.entity is None else limits.entity
    names = ("ledger/schema", "dp/budgets_create", "dp/spent_create")
    write = "dp/budget_insert" if before is None else "dp/budget_update"
    return [*(sql.statement(each) for each in names), sql.statement(write, values=values)]


def keeps_budget(source: Source) -> bool:
    return _own_keeper(source) is not None


def _own_keeper(source: Source) -> DuckDBEngine | Warehouse | None:
    """Return the database of a table if it can keep a budget, which needs atomic writes."""
    if source.in_warehouse:
        return source.holder if source.engine.all_or_nothing else None
    if source.file is not None or source.frame_kind is not None or source.address is not None:
        return None
    return source.engine


def _named(source: Source) -> tuple[str, ...]:
    """Return a table as named on the command line."""
    if source.file is not None:
        return (str(source.file),)
    schema = f"{source.relation.db}." if source.relation.db else ""
    return source.place, f"{schema}{source.relation.name}"


def _place(source: Source) -> str:
    """Return the database or file of a table, which is the key of its budget."""
    if source.warehouse is not None:
        return source.warehouse.place
    if source.address is not None:
        return source.address.shown
    found = source.file or source.database
    if found is None:
        raise UsageError(
            f"{source.name} has no name by which its budget could be found again: write it to a file or a table first."
        )
    return str(found.resolve())


def _spent_of(row: tuple[object, ...]) -> Spent:
    number, at, question, epsilon, delta, column, value = row
    group = None if column is None or value is None else (str(column), str(value))
    if not isinstance(at, datetime):
        at = datetime.fromisoformat(str(at))
    return Spent(int(str(number)), at, Charge(str(question), Decimal(str(epsilon)), Decimal(str(delta)), group))


def _finite(value: object) -> Decimal:
    found = Decimal(str(value))
    if not found.is_finite():
        raise ArithmeticError(str(value))
    return found


def _protected(entity: str | None) -> str:
    return "single rows" if entity is None else f"people, by column {entity}"
