"""The quasi-identifiers one by one: how far each was generalized, and its rows by label, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.evidence.report.document import Bar, Heading, Name, Paragraph, Section, Table
from kanon_sql.evidence.report.words import NOTHING, decimals, verb
from kanon_sql.risks.attacks.verdicts import counted

if TYPE_CHECKING:
    from kanon_sql.evidence.report.document import Block, Inline
    from kanon_sql.evidence.report.figures import Attribute, LabelCount, Report


def attributes_section(report: Report) -> Section:
    """Return the quasi-identifiers one by one."""
    blocks: list[Block] = [
        _levels(report),
        Paragraph(
            (
                (
                    "Below are the rows by label: in the original (at the level of the release) and in the release. "
                    "Only labels that the release has are shown. How many rows of a label were left out is told only "
                    f"where they are {report.k} or more, and where no smaller number could be found by subtraction. "
                    "Of columns that are not quasi-identifiers no value is shown."
                ),
            )
        ),
    ]
    for attribute in report.quasi_identifiers:
        blocks += [Heading((Name(attribute.name),)), *_distribution(attribute, report)]
    return Section("attributes", "Quasi-identifiers one by one", tuple(blocks))


def _levels(report: Report) -> Table:
    rows: list[tuple[Inline, ...]] = [
        (
            (Name(attribute.name),),
            (_level(attribute),),
            (NOTHING if attribute.labels is None else f"{attribute.labels:,}",),
            (decimals(attribute.loss),),
            (NOTHING if attribute.loss is None else Bar(attribute.loss),),
        )
        for attribute in report.quasi_identifiers
    ]
    return Table(
        ("How far each quasi-identifier was generalized, measured on the output",),
        ("Column", "Level", "Labels", "Information lost", ""),
        tuple(rows),
        frozenset({2, 3}),
    )


def _level(attribute: Attribute) -> str:
    if attribute.level is None:
        return "several"
    if attribute.level == 0:
        return f"0 of {attribute.height}: as it was"
    return f"{attribute.level} of {attribute.height}" + (": all alike" if attribute.level == attribute.height else "")


def _distribution(attribute: Attribute, report: Report) -> list[Block]:
    counts = attribute.distribution
    if not counts:
        return [Paragraph(("The release has no rows.",))]
    widest = max(max(count.rows_out, count.rows_in or 0) for count in counts) or 1
    rows: list[tuple[Inline, ...]] = [
        (
            _label(count),
            ("not told" if count.rows_in is None else f"{count.rows_in:,}",),
            (f"{count.rows_out:,}",),
            (Bar(count.rows_out / widest, None if count.rows_in is None else count.rows_in / widest),),
        )
        for count in counts
    ]
    caption: Inline = ("Rows by label of ", Name(attribute.name), ", before and after")
    blocks: list[Block] = [Table(caption, ("Label", "Rows before", "Rows after", ""), tuple(rows), frozenset({1, 2}))]
    if attribute.hidden and all(count.rows_in is None for count in counts) and report.search.is_of_parts:
        was = verb(report.rows_suppressed, "was", "were")
        text = "Labels are of several levels here, so that it cannot be said which a row that was left out would have."
        blocks.append(Paragraph((f"{text} {counted(report.rows_suppressed, 'row')} {was} left out.",), small=True))
    elif attribute.hidden:
        between = f"between its number after and {report.rows_suppressed:,} more"
        blocks.append(Paragraph((f"A number before that is not told is {between}.",), small=True))
    return blocks


def _label(count: LabelCount) -> Inline:
    if count.kind == "others":
        return ("other labels, together",)
    if count.kind == "left out":
        return ("other labels, left out",)
    return ("NULL (no value)",) if count.label is None else (Name(count.label),)
