"""A release that was made and verified, and what watches over it: the ledger."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from sqlglot import exp

    from kanon_sql.release.verify.classes import Verification


@dataclass(frozen=True)
class InPlace:
    """What became of a table that was anonymized in place, and of the file that it is in.

    Attributes:
        done: whether it was done; False where it was only tried.
        file: the file.
        bytes_before: its size.
        bytes_after: its size now, or the size that it would have.
        kept: constraints and indexes that stay.
        removed: constraints, defaults, indexes, columns and types that went.
        hierarchies: hierarchies in the database that were left out, since they list values of the table.
        views: views over the table that read labels now.
        siblings: other tables with columns of the names and kinds of types of raw columns, and these columns.
        copies: other tables with the values of raw columns under other names or types, and these columns.
        backup: the copy of the file as it was; None if none was asked for.
    """

    done: bool
    file: Path
    bytes_before: int
    bytes_after: int
    kept: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    hierarchies: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    siblings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    copies: dict[str, tuple[str, ...]] = field(default_factory=dict)
    backup: Path | None = None

    def summary(self) -> dict[str, Any]:
        """Return it as plain values: what ``--format json`` prints."""
        return {
            **asdict(self),
            "file": str(self.file),
            "backup": None if self.backup is None else str(self.backup),
        }


@dataclass(frozen=True)
class LedgerOutcome:
    """What became of a release in the ledger.

    Attributes:
        remembered: whether it is there.
        not_remembered: why it could not be written there; None if it was.
        warnings: what it says beside the earlier releases that it replaces, in words.
        beside_replaced: the figures of that, with the number of each replaced release.
    """

    remembered: bool
    not_remembered: str | None
    warnings: tuple[str, ...]
    beside_replaced: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Published:
    """A release that was made and verified.

    Attributes:
        destination: name of the table or view, or path of the file.
        verification: what was found in it.
        seconds: of ``publish`` and ``verify``, and of ``ledger`` where there are earlier releases.
        ledger: what became of it in the ledger of its database; None where there is none.
        in_place: what became of the table and its file, where the release took their place.
        dry_run: whether it was made and verified only, and is nowhere.
    """

    destination: str
    verification: Verification
    seconds: dict[str, float]
    ledger: LedgerOutcome | None = None
    in_place: InPlace | None = None
    dry_run: bool = False

    @property
    def not_remembered(self) -> str | None:
        """Why it could not be written into the ledger; None if it was, or there is none."""
        return None if self.ledger is None else self.ledger.not_remembered


class Watch(Protocol):
    """What looks at a release before it takes its name, and remembers it: the ledger."""

    unwritable: str | None

    @property
    def outcome(self) -> LedgerOutcome:
        """What became of the release."""

    def check(self, output: exp.Expr, target: exp.Table | Path | None, seconds: dict[str, float]) -> None:
        """Raise unless a verified release may be published under a name, or in the place of its table."""

    def remember(
        self,
        kind: Literal["table", "view", "file"],
        target: exp.Table | Path,
        rows_out: int,
        *,
        written: Path | None = None,
    ) -> None:
        """Write a release into the ledger."""
