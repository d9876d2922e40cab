"""What was measured on the output: rows, classes, quality; and what another k would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.evidence.report.document import (
    Bar,
    Curve,
    Curves,
    Facts,
    Folded,
    Heading,
    Paragraph,
    Point,
    Section,
    Table,
)
from kanon_sql.evidence.report.words import NOTHING, decimals, percent
from kanon_sql.risks.attacks.verdicts import counted

if TYPE_CHECKING:
    from kanon_sql.evidence.report.document import Block, Inline
    from kanon_sql.evidence.report.figures import Report
    from kanon_sql.risks.estimators.assessment import Risk

_RECORDS = (
    " Classes are counted in people. A record is what one person has in one class: who has rows in several classes has "
    "several records."
)

_FIRST = {"loss": "Information lost: how many other values a cell could have had; 0 is the original, 1 says nothing"}
_FURTHER = {
    "precision": "Precision: how few steps values were generalized; 1 is the original, 0 says nothing",
    "gcp": "Global certainty penalty: the loss, of all columns together; 0 is the original, 1 says nothing",
    "nonuniform_entropy": "Non-uniform entropy: how hard it is to guess the value; 0 is the original, 1 says nothing",
    "discernibility": "Discernibility: with how many rows each row is alike, summed up; less is better",
    "average_class_size": "Average class size: how many times k, on average; 1 is the best there can be",
}


def measured_section(report: Report) -> Section:
    """Return what was measured on the output."""
    share = f" ({percent(report.rows_suppressed / report.rows_in)})" if report.rows_in else ""
    smallest = "none" if report.smallest_class is None else counted(report.smallest_class, "row")
    if report.counts_people and report.smallest is not None:
        smallest = f"{counted(report.smallest, 'person', 'people')}; {smallest} in the one with the fewest rows"
    blocks: list[Block] = [
        Facts(
            (
                ("Rows of the original", (_rows(report.rows_in, report.risk_before),)),
                ("Rows of the output", (_rows(report.rows_out, report.risk_after),)),
                ("Rows left out (suppressed)", (f"{report.rows_suppressed:,}{share}",)),
                ("Equivalence classes", (f"{report.classes:,}",)),
                ("Smallest class", (smallest,)),
            )
        ),
        Heading(("Sizes of the equivalence classes",)),
        Paragraph(
            (
                (
                    "Rows that are alike in all quasi-identifiers form a class. Who is alone in a class can be "
                    "singled out. The filled bar is the release, the outline the original."
                ),
                *((_RECORDS,) if report.counts_people else ()),
            )
        ),
        _sizes(report),
    ]
    if report.measures is not None:
        caption = "What the output keeps of the original, measured from its labels"
        blocks += [
            Heading(("Data utility",)),
            _utility(caption, _FIRST, report.measures),
            Folded(
                "More measures of data utility",
                _utility("Other measures from the literature", _FURTHER, report.measures),
            ),
        ]
    return Section("measured", "What was measured on the output", tuple(blocks))


def _rows(rows: int, risk: Risk) -> str:
    return f"{rows:,}" if risk.people is None else f"{rows:,}, about {counted(risk.people, 'person', 'people')}"


def _utility(caption: str, measures: dict[str, str], found: dict[str, float | None]) -> Table:
    rows = [((text,), (decimals(found[name]),)) for name, text in measures.items() if name in found]
    return Table((caption,), ("Measure", "Value"), tuple(rows), frozenset({1}))


def _sizes(report: Report) -> Table:
    before, after = report.risk_before.histogram, report.risk_after.histogram
    widest = max((found.members for found in (*before, *after)), default=0) or 1
    rows: list[tuple[Inline, ...]] = [
        (
            (own.name.replace("-", "\N{EN DASH}"),),
            (f"{was.classes:,}",),
            (f"{own.classes:,}",),
            (f"{was.members:,}",),
            (f"{own.members:,}",),
            (Bar(own.members / widest, was.members / widest),),
        )
        for was, own in zip(before, after, strict=True)
    ]
    members = "Records" if report.counts_people else "Rows"
    return Table(
        ("Classes by size, in the original and in the output",),
        (
            "People in the class" if report.counts_people else "Rows in the class",
            "Classes before",
            "Classes after",
            f"{members} before",
            f"{members} after",
            "",
        ),
        tuple(rows),
        frozenset({1, 2, 3, 4}),
    )


def curve_section(report: Report) -> tuple[Section, ...]:
    """Return what another k would cost; nothing where there is nothing to compare."""
    if not report.curve:
        return ()
    losses = tuple(Point(str(found.k), found.loss, decimals(found.loss), found.chosen) for found in report.curve)
    shares = tuple(
        Point(
            str(found.k),
            found.share_suppressed,
            NOTHING if found.share_suppressed is None else percent(found.share_suppressed),
            found.chosen,
        )
        for found in report.curve
    )
    rows: list[tuple[Inline, ...]] = [
        (
            (f"{found.k}{' (this release)' if found.chosen else ''}",),
            ("no release" if found.loss is None else decimals(found.loss),),
            (NOTHING if found.rows_suppressed is None else f"{found.rows_suppressed:,}",),
            (NOTHING if found.share_suppressed is None else percent(found.share_suppressed),),
            (NOTHING if found.classes is None else f"{found.classes:,}",),
        )
        for found in report.curve
    ]
    return (
        Section(
            "trade-off",
            "Trade-off between privacy and utility",
            (
                Paragraph(
                    (
                        (
                            "What other k would cost, all else being asked the same. Each of these releases was made "
                            "and verified, and dropped. The ring marks the k of this release."
                        ),
                    )
                ),
                Curves((Curve("Loss", "k", losses), Curve("Rows left out", "k", shares, shares=True))),
                Table(
                    ("Releases of the original with another k",),
                    ("k", "Loss", "Rows left out", "Share left out", "Classes"),
                    tuple(rows),
                    frozenset({1, 2, 3, 4}),
                ),
            ),
        ),
    )
