"""From a report to a document.

Its headings follow ISO/IEC 20889 and the opinion of the Article 29 Working Party on anonymisation techniques (WP216):
singling out, linkability, inference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.evidence.report.compose_asked import asked_section
from kanon_sql.evidence.report.compose_attributes import attributes_section
from kanon_sql.evidence.report.compose_measured import curve_section, measured_section
from kanon_sql.evidence.report.compose_origin import limits_section, origin_section, sql_section
from kanon_sql.evidence.report.compose_risk import risk_section
from kanon_sql.evidence.report.compose_summary import summary_section
from kanon_sql.evidence.report.document import Badge, Document, Name
from kanon_sql.evidence.report.words import verb
from kanon_sql.risks.attacks.verdicts import counted

if TYPE_CHECKING:
    from kanon_sql.evidence.report.figures import Report


def document_of(report: Report) -> Document:
    """Return a report as a document."""
    about = (
        (Name(report.source),)
        if report.published is None
        else (Name(report.source), " \N{RIGHTWARDS ARROW} ", Name(report.published))
    )
    return Document(
        title="De-identification report",
        about=about,
        verdict=_verdict(report),
        made=f"Made on {report.made_at} by kanon-sql {report.versions['kanon-sql']}",
        sections=(
            summary_section(report),
            asked_section(report),
            measured_section(report),
            attributes_section(report),
            risk_section(report),
            *curve_section(report),
            sql_section(report),
            origin_section(report),
            limits_section(report),
        ),
    )


def _verdict(report: Report) -> Badge:
    """Return what a reader must know first: what holds, and what speaks against the release although it does."""
    if not report.holds:
        return Badge("bad", "Not all requirements hold")
    but = []
    if succeeded := len(report.succeeded):
        but.append(f"{counted(succeeded, 'attack')} {verb(succeeded, 'succeeds')}")
    if excluded := len(report.endangering) - succeeded:
        but.append(f"{counted(excluded, 'attack')} {verb(excluded, 'is', 'are')} not excluded")
    if all(attack.outcome == "not tested" for attack in report.attacks):
        but.append("no attack could be tested")
    if proposed := len(report.proposed):
        but.append(
            f"no person has confirmed the {'role' if proposed == 1 else 'roles'} of {counted(proposed, 'column')}"
        )
    if but:
        return Badge("warn", "; ".join(["Requirements hold", *but]))
    return Badge("good", "All requirements hold")
