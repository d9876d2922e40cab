"""``kanon anonymize --report``: the evidence for a release, written as it is published."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kanon_sql.errors import KanonError, UsageError

if TYPE_CHECKING:
    from kanon_sql.cli.output.diagnostics import Talk
    from kanon_sql.evidence.report.figures import Report
    from kanon_sql.policy.destination import Destination
    from kanon_sql.release.published import Published
    from kanon_sql.release.release import Release

AskedByOption = Annotated[
    str | None,
    typer.Option("--asked-by", metavar="TEXT", help="Who asked for the release; printed in the report."),
]


@dataclass(frozen=True)
class ReportAsked:
    """What the command line says about a report.

    Attributes:
        file: where it is written; None if none was asked for.
        asked_by: who asked for the release.
        replace: whether a file may be replaced.
    """

    file: Path | None
    asked_by: str | None
    replace: bool

    def check(self, others: list[str | Path | None]) -> None:
        """Refuse a report before any work is done for it.

        Raises:
            UsageError: its file is one of the others, or it cannot be written.
        """
        if self.file is None:
            if self.asked_by is not None:
                raise UsageError("--asked-by is printed in a report: give --report FILE too, or leave it out.")
            return
        from kanon_sql.evidence.report.figures import check_report

        require_own_file(self.file, others)
        check_report(self.file, replace=self.replace)

    def before(self, release: Release, destination: Destination, talk: Talk) -> Report | None:
        """Return what must be measured before a release is published: all, where it takes the place of its table."""
        if self.file is None or not destination.in_place:
            return None
        from kanon_sql.evidence.report.gather import report_of

        return report_of(release, asked_by=self.asked_by, progress=talk)

    def after(
        self,
        release: Release,
        source: str,
        destination: Destination,
        published: Published,
        draft: Report | None,
        talk: Talk,
    ) -> None:
        """Write the report of a release that was published.

        Raises:
            KanonError: it cannot be made or written; the release is there.
        """
        if self.file is None:
            return
        from kanon_sql.evidence.report.reporter import report_in_place, report_published

        try:
            if draft is not None and published.in_place is not None:
                found = report_in_place(draft, release, destination, published.in_place.file)
            else:
                found = report_published(release, source, destination, asked_by=self.asked_by, progress=talk)
            found.write(self.file, replace=self.replace)
        except KanonError as error:
            raise type(error)(f"The release is there; the report is not: {error}") from None


def require_own_file(out: Path, others: list[str | Path | None]) -> None:
    """Refuse a file for a report that is one of those that it is made from.

    Raises:
        UsageError: it is.
    """
    for other in others:
        if other is not None and Path(other).resolve() == out.resolve():
            raise UsageError(f"{out} cannot be the report too: give it another name.")
