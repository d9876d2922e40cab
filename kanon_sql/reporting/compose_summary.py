"""The first page: in plain words, for who has to sign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.reporting.document import Badge, Facts, Figures, Heading, Name, Paragraph, Section, Strong, Table
from kanon_sql.reporting.words import NOTHING, counted, decimals, number, percent

if TYPE_CHECKING:
    from kanon_sql.reporting.document import Block, Inline, Part
    from kanon_sql.reporting.figures import Report, Requirement


def summary_section(report: Report) -> Section:
    """Return what was handed in, what comes out, what holds and what does not."""
    blocks: list[Block] = [
        Figures(
            (
                ("rows in", f"{report.rows_in:,}"),
                ("rows out", f"{report.rows_out:,}"),
                ("left out", percent(report.rows_suppressed / report.rows_in) if report.rows_in else "0 %"),
                ("smallest class", "none" if report.smallest_class is None else f"{report.smallest_class:,}"),
                ("information lost", _loss(report)),
            )
        ),
        *_handed_in(report),
        Heading(("Verdict",)),
        _requirements(report),
        Paragraph(_attack_verdict(report)),
        Facts(
            (
                ("Asked by", (report.asked_by or "not named",)),
                ("Original", (Name(report.source),)),
                (
                    "Release",
                    (Name(report.published), f" ({report.kind})") if report.published else ("not published yet",),
                ),
            )
        ),
        *(Paragraph((Strong("Note. "), note)) for note in report.notes),
    ]
    return Section("summary", "Summary", tuple(blocks))


def what_is_asked(requirement: Requirement) -> Inline:
    """Return a requirement by its name."""
    if requirement.sensitive is None:
        return (requirement.model,)
    return (requirement.model, " of ", Name(requirement.sensitive))


def _loss(report: Report) -> str:
    return NOTHING if report.measures is None else decimals(report.measures["loss"])


def _handed_in(report: Report) -> list[Block]:
    quasi = report.quasi_identifiers
    removed = [attribute for attribute in report.attributes if attribute.published == "not published"]
    kept = [attribute for attribute in report.attributes if attribute.published == "as it is"]
    came_in: list[Part] = [
        f"The original has {counted(report.rows_in, 'row')} and {counted(len(report.attributes), 'column')}. "
    ]
    if removed:
        came_in += [f"{'One of them is' if len(removed) == 1 else f'{len(removed):,} of them are'} not published. "]
    came_in += [f"{counted(len(quasi), 'column')} could tell, together, whom a row is about: "]
    came_in += _listed([attribute.name for attribute in quasi])
    came_in += [
        (
            ". Their values were generalized: replaced by coarser ones, until every row is like enough others in all "
            "of them. "
        )
    ]
    if report.rows_suppressed:
        came_in += [f"{counted(report.rows_suppressed, 'row')} that would still stand out were left out."]
    elif report.rows_in:
        came_in += ["No row was left out."]
    comes_out: list[Part] = [
        (
            f"The release has {counted(report.rows_out, 'row')} in {counted(report.classes, 'group')} of rows that "
            "are alike in these columns (equivalence classes). "
        )
    ]
    if report.smallest_class == 1:
        comes_out += ["Some rows are like no other: whoever knows these columns of such a person finds her row. "]
    elif report.smallest_class is not None:
        smallest = counted(report.smallest_class, "row")
        comes_out += [
            (
                f"The smallest has {smallest}: whoever knows these columns of a person who is in the release finds at "
                f"least {smallest}, and cannot tell which of them is hers. "
            )
        ]
    if kept:
        comes_out += ["Published as they are: "]
        comes_out += _listed([attribute.name for attribute in kept])
        comes_out += ["."]
    return [Paragraph(tuple(came_in)), Paragraph(tuple(comes_out)), Paragraph(_status(report))]


def _status(report: Report) -> Inline:
    if report.published is None:
        return (
            Strong("Not published yet: "),
            "this is what the policy makes. Its rows were made for this report, measured, and dropped.",
        )
    if report.kind == "in place":
        return (
            (
                "The release took the place of its table. Its rows were made and measured before that; after it, the "
                "table had the same rows (by their fingerprint)."
            ),
        )
    return (
        "It was proven that the rows of ",
        Name(report.published),
        (
            " are those that the policy below makes of the original, each as often, in any order. Its figures were "
            "measured on rows that are published, not taken from the search."
        ),
    )


def _requirements(report: Report) -> Table:
    rows: list[tuple[Inline, ...]] = []
    for requirement in report.requirements:
        badge = Badge("good", "holds") if requirement.holds else Badge("bad", "does not hold")
        unit = "" if requirement.model != "k-anonymity" else " people" if requirement.entity else " rows"
        measured = "no rows" if requirement.measured is None else f"{number(requirement.measured)}{unit}"
        rows.append(
            (
                what_is_asked(requirement),
                (badge,),
                (f"{requirement.letter} = {number(requirement.required)}",),
                (measured,),
            )
        )
    return Table(
        ("What was asked of every class, and what the worst class of the output has",),
        ("Formal privacy model", "Verdict", "Required", "Measured"),
        tuple(rows),
    )


def _attack_verdict(report: Report) -> Inline:
    succeeded = [attack for attack in report.attacks if attack.succeeded]
    tried = [attack for attack in report.attacks if attack.succeeded is not None]
    if not tried:
        return ("No attack could be tried; see the risk of re-identification below.",)
    if not succeeded:
        return (
            f"{counted(len(tried), 'attack')} were tried on the release with the original in hand; none succeeded.",
        )
    names: list[Part] = []
    for place, attack in enumerate(succeeded):
        names += [", "] if place else []
        names += [attack.name, *((" of ", Name(attack.about)) if attack.about else ())]
    return (
        Strong(f"{len(succeeded)} of {counted(len(tried), 'attack')} succeeded"),
        " with the original in hand: ",
        *names,
        ". What was asked does not promise to stop them; what would is said under the risk of re-identification.",
    )


def _listed(names: list[str]) -> list[Part]:
    parts: list[Part] = []
    for place, name in enumerate(names):
        if place:
            parts.append(" and " if place == len(names) - 1 else ", ")
        parts.append(Name(name))
    return parts
