"""Where a release goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["table", "view", "materialized-view"]


@dataclass(frozen=True)
class Destination:
    """Where a release goes: at most one of ``into``, ``out`` and ``in_place``.

    Attributes:
        into: name of a table or view in the database.
        kind: which of the two.
        out: a file, its format by its suffix.
        replace: whether something of that name may be replaced.
        in_place: whether it takes the place of its table.
        backup: where the file of that table is copied to first.
        dry_run: whether everything is made and checked, but nothing is written.
        spreadsheet_safe: whether a CSV file has an apostrophe before each text that a spreadsheet would run.
    """

    into: str | None = None
    kind: Kind = "table"
    out: Path | None = None
    replace: bool = False
    in_place: bool = False
    backup: Path | None = None
    dry_run: bool = False
    spreadsheet_safe: bool = False

    def __post_init__(self) -> None:
        if (self.into is not None) + (self.out is not None) + self.in_place > 1:
            raise UsageError("A release goes to one place: give one of --into, --out and --in-place.")
        if self.spreadsheet_safe and (self.out is None or self.out.suffix.lower() != ".csv"):
            raise UsageError("--spreadsheet-safe is for a CSV file: give --out FILE.csv, or leave it out.")
        if self.backup is not None and not self.in_place:
            raise UsageError("A backup is of the file that is anonymized in place: give --in-place too.")
        if self.dry_run and not self.is_somewhere:
            raise UsageError("Say where the release would go: --into NAME, --out FILE or --in-place, beside --dry-run.")

    @property
    def is_somewhere(self) -> bool:
        """Whether it is said where the release goes."""
        return self.into is not None or self.out is not None or self.in_place
