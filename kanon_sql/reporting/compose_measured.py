"""What was measured on the output: rows, classes, quality; and what another k would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.reporting.document import Bar, Curve, Curves, Facts, Heading, Paragraph, Point, Section, Table
from kanon_sql.reporting.words import NOTHING, counted, decimals, percent

if TYPE_CHECKING:
    from kanon_sql.reporting.document import Block, Inline
    from kanon_sql.reporting.figures import Report

_MEASURES = {
    "loss": "loss (LM): share of other values that a cell could have; 0 is the original, 1 says nothing",
    "precision": "precision: 1 is the original, 0 says nothing",
    "gcp": "global certainty penalty: 0 is the original, 1 says nothing",
    "nonuniform_entropy": "non-uniform entropy: 0 is the original, 1 says nothing",
    "discernibility": "discernibility: the sum of squares of class sizes; lower is better",
    "average_class_size": "average class size in units of k: 1 is the best there can be",
}


def measured_section(report: Report) -> Section:
    """Return what was measured on the output."""
    share = f" ({percent(report.rows_suppressed / report.rows_in)})" if report.rows_in else ""
    smallest = "none" if report.smallest_class is None else counted(report.smallest_class, "row")
    blocks: list[Block] = [
        Facts(
            (
                ("Rows of the original", (f"{report.rows_in:,}",)),
                ("Rows of the output", (f"{report.rows_out:,}",)),
                ("Rows left out (suppressed)", (f"{report.rows_suppressed:,}{share}",)),
                ("Equivalence classes", (f"{report.classes:,}",)),
                ("Smallest class", (smallest,)),
            )
        ),
        Heading(("Sizes of the equivalence classes",)),
        Paragraph(
            (
                (
                    "Rows that are alike in all quasi-identifiers form a class. A row in a class of one can be "
                    "singled out. The filled bar is the release, the outline the original."
                ),
            )
        ),
        _sizes(report),
    ]
    if report.measures is not None:
        rows = [
            ((text,), (decimals(report.measures[name]),)) for name, text in _MEASURES.items() if name in report.measures
        ]
        blocks += [
            Heading(("Data utility",)),
            Table(
                ("What the output keeps of the original, measured from its labels",),
                ("Measure", "Value"),
                tuple(rows),
                frozenset({1}),
            ),
        ]
    return Section("measured", "What was measured on the output", tuple(blocks))


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
    counted_before, counted_after = report.risk_before.counted, report.risk_after.counted
    return Table(
        ("Classes by size, in the original and in the output",),
        (
            "Size",
            "Classes before",
            "Classes after",
            f"{counted_before.capitalize()} before",
            f"{counted_after.capitalize()} after",
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
