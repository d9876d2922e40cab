"""A release that was made and verified, and what watches over it: the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from sqlglot import exp

    from kanon_sql.class_check import Verification


@dataclass(frozen=True)
class Published:
    """A release that was made and verified.

    Attributes:
        destination: name of the table or view, or path of the file.
        verification: what was found in it.
        seconds: of ``publish`` and ``verify``, and of ``ledger`` where there are earlier releases.
        not_remembered: why it could not be written into the ledger of its database; None if it was, or there is none.
    """

    destination: str
    verification: Verification
    seconds: dict[str, float]
    not_remembered: str | None = None


class Watch(Protocol):
    """What looks at a release before it takes its name, and remembers it: the ledger."""

    unwritable: str | None

    def check(self, output: exp.Expr, seconds: dict[str, float]) -> None:
        """Raise unless a verified release may be published."""

    def remember(
        self,
        kind: Literal["table", "view", "file"],
        target: exp.Table | Path,
        rows_out: int,
        *,
        written: Path | None = None,
    ) -> None:
        """Write a release into the ledger."""
