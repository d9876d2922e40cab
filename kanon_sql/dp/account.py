"""The budget of a table as it is: what may be spent, for whom, and what was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kanon_sql.dp.spending import ZERO, Spent, composed

if TYPE_CHECKING:
    from decimal import Decimal


@dataclass(frozen=True)
class Limits:
    """What a person says of a budget.

    Attributes:
        epsilon: what all answers may cost together.
        delta: with which probability their bounds may fail together; None for what it was, 0 at first.
        entity: the column that names the people whom all answers protect; None for what it was, each row at first.
    """

    epsilon: Decimal
    delta: Decimal | None = None
    entity: str | None = None


@dataclass(frozen=True)
class Budget:
    """The budget of a table as it is.

    Attributes:
        table: as messages call it.
        epsilon: what may be spent in all.
        delta: with which probability the bounds of all answers may fail together.
        entity: the column that names the people whom all answers protect; None where each row is a person.
        spent: the charges, in their order.
    """

    table: str
    epsilon: Decimal
    delta: Decimal
    entity: str | None = None
    spent: tuple[Spent, ...] = ()

    @property
    def composed(self) -> tuple[Decimal, Decimal]:
        """What was spent in all: epsilon and delta."""
        return composed(each.charge for each in self.spent)

    def summary(self) -> dict[str, object]:
        """Return it as plain values: what ``--format json`` prints."""
        epsilon, delta = self.composed
        return {
            "table": self.table,
            "entity": self.entity,
            "epsilon": float(self.epsilon),
            "epsilon_spent": float(epsilon),
            "epsilon_left": float(max(ZERO, self.epsilon - epsilon)),
            "delta": float(self.delta),
            "delta_spent": float(delta),
            "delta_left": float(max(ZERO, self.delta - delta)),
            "spent": [
                {
                    "number": each.number,
                    "at": f"{each.at.isoformat(timespec='seconds')}Z",
                    "question": each.charge.question,
                    "epsilon": float(each.charge.epsilon),
                    "delta": float(each.charge.delta),
                    "group": None if each.charge.group is None else "=".join(each.charge.group),
                }
                for each in self.spent
            ],
        }
