"""The first page: in plain words, for who has to sign."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.evidence.report.document import (
    Badge,
    Code,
    Facts,
    Figures,
    Heading,
    Name,
    Paragraph,
    Section,
    Strong,
    Table,
)
from kanon_sql.evidence.report.words import NOTHING, decimals, measured, members, number, percent, verb
from kanon_sql.risks.attacks.verdicts import counted

if TYPE_CHECKING:
    from kanon_sql.evidence.report.document import Block, Inline, Part
    from kanon_sql.evidence.report.figures import Attribute, Report, Requirement

_MANY = 3
"""One row in so many is alone: from there on a column is warned of."""


def summary_section(report: Report) -> Section:
    """Return what was handed in, what comes out, what holds and what does not."""
    blocks: list[Block] = [
        Figures(
            (
                ("rows in", f"{report.rows_in:,}"),
                ("rows out", f"{report.rows_out:,}"),
                ("left out", percent(report.rows_suppressed / report.rows_in) if report.rows_in else "0 %"),
                *([_smallest("people", report.smallest_class_people)] if report.counts_people else []),
                _smallest("rows", report.smallest_class),
                ("information lost", _loss(report)),
            )
        ),
        *_handed_in(report),
        Heading(("Verdict",)),
        _requirements(report),
        Paragraph(_attack_verdict(report)),
        *_published_as_they_are(report),
        *_proposed(report),
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


def _smallest(members: str, number: int | None) -> tuple[str, str]:
    return f"{members} in the smallest class", "none" if number is None else f"{number:,}"


def _loss(report: Report) -> str:
    return NOTHING if report.measures is None else decimals(report.measures["loss"])


def _handed_in(report: Report) -> list[Block]:
    quasi = report.quasi_identifiers
    removed = [attribute for attribute in report.attributes if attribute.published == "not published"]
    kept = [attribute for attribute in report.attributes if attribute.published == "as it is"]
    came_in: list[Part] = [
        (
            f"The original has {counted(report.rows_in, 'row')}{_about(report)} and "
            f"{counted(len(report.attributes), 'column')}. "
        )
    ]
    if removed:
        came_in += [f"{'One of them is' if len(removed) == 1 else f'{len(removed):,} of them are'} not published. "]
    together = ", together," if len(quasi) > 1 else ""
    came_in += [f"{counted(len(quasi), 'column')} could tell{together} whom a row is about: "]
    came_in += _listed([attribute.name for attribute in quasi])
    came_in += [
        (
            f". {'Their' if len(quasi) > 1 else 'Its'} values were generalized: replaced by coarser ones, until every "
            f"row is like enough others{' in all of them' if len(quasi) > 1 else ''}. "
        )
    ]
    if report.rows_suppressed:
        left_out = report.rows_suppressed
        came_in += [f"{counted(left_out, 'row')} that would still stand out {verb(left_out, 'was', 'were')} left out."]
    elif report.rows_in:
        came_in += ["No row was left out."]
    comes_out: list[Part] = [
        (
            f"The release has {counted(report.rows_out, 'row')} in {counted(report.classes, 'group')} of rows that "
            "are alike in these columns (equivalence classes). "
        )
    ]
    if report.smallest == 1 and report.counts_people:
        comes_out += ["Some groups are of one person: whoever knows these columns of her finds her rows. "]
    elif report.smallest == 1:
        comes_out += ["Some rows are like no other: whoever knows these columns of such a person finds her row. "]
    elif report.smallest is not None:
        smallest = members(report.smallest, people=report.counts_people)
        finds = f"the rows of at least {smallest}" if report.counts_people else f"at least {smallest}"
        which = "who of them she is" if report.counts_people else "which of them is hers"
        comes_out += [
            (
                f"The smallest has {smallest}: whoever knows these columns of a person who is in the release finds "
                f"{finds}, and cannot tell {which}. "
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
        found = measured(requirement.measured, requirement.model, people=requirement.entity is not None)
        rows.append(
            (
                what_is_asked(requirement),
                (badge,),
                (f"{requirement.letter} = {number(requirement.required)}",),
                (found,),
            )
        )
    return Table(
        ("What was asked of every class, and what the worst class of the output has",),
        ("Formal privacy model", "Verdict", "Required", "Measured"),
        tuple(rows),
    )


def _attack_verdict(report: Report) -> Inline:
    said = report.attacks_said
    endangering = report.endangering
    if not endangering:
        return (f"With the original in hand, {said}; see the risk of re-identification below.",)
    names: list[Part] = []
    for place, attack in enumerate(endangering):
        names += [", "] if place else []
        names += [attack.name, *((" of ", Name(attack.about)) if attack.about else ())]
    return (
        Badge("warn" if report.holds else "bad", said),
        " with the original in hand: ",
        *names,
        ". What was asked does not promise to stop them; what would is said under the risk of re-identification.",
    )


def _about(report: Report) -> str:
    people = report.risk_before.people
    return "" if people is None else f" about {counted(people, 'person', 'people')}"


def _published_as_they_are(report: Report) -> list[Block]:
    """Return a warning of columns with which many rows of the release are like no other."""
    found = [attribute for attribute in report.attributes if stands_out(attribute, report)]
    if not found:
        return []
    text = (
        ": with the value of "
        if len(found) == 1
        else ": more than a third of the rows of the release are like no other with the value of one of these columns, "
    )
    names = _listed([attribute.name for attribute in found])
    if len(found) == 1:
        share = percent((found[0].rows_alone or 0) / report.rows_out)
        rest = f", {share} of the rows of the release are like no other. "
    else:
        rest = ". "
    return [
        Paragraph(
            (
                Badge("warn", f"Nearly unique {'column' if len(found) == 1 else 'columns'} published"),
                text,
                *names,
                rest,
                (
                    "The requirements do not look at that: who knows such a value of a person finds her row. "
                    f"Leave {'it' if len(found) == 1 else 'them'} out, or round or generalize as quasi-identifiers."
                ),
            )
        )
    ]


def _proposed(report: Report) -> list[Block]:
    """Return a warning of columns that are published in a role that no person has confirmed."""
    if not report.proposed:
        return []
    count = len(report.proposed)
    return [
        Paragraph(
            (
                Badge("warn", f"{'Role' if count == 1 else 'Roles'} not confirmed"),
                f": kanon init proposed {'a role' if count == 1 else 'roles'} for ",
                *_listed(list(report.proposed)),
                (
                    f" by {'its' if count == 1 else 'their'} names and values, and the policy says that no person "
                    "has confirmed them. What others know of the people in the table, only a person can say: check "
                    "each, then take it out of "
                ),
                Code("proposed"),
                " in the policy.",
            )
        )
    ]


def stands_out(attribute: Attribute, report: Report) -> bool:
    """Tell whether more than a third of the rows of the output are like no other with the value of a column."""
    return attribute.rows_alone is not None and attribute.rows_alone * _MANY > report.rows_out


def _listed(names: list[str]) -> list[Part]:
    parts: list[Part] = []
    for place, name in enumerate(names):
        if place:
            parts.append(" and " if place == len(names) - 1 else ", ")
        parts.append(Name(name))
    return parts
