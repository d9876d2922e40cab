"""What was asked: the roles of the columns, the models, the limits, the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.reporting.compose_summary import what_is_asked
from kanon_sql.reporting.document import Facts, Heading, Name, Paragraph, Section, Table
from kanon_sql.reporting.words import number, percent

if TYPE_CHECKING:
    from kanon_sql.reporting.document import Inline
    from kanon_sql.reporting.figures import Attribute, Report


def asked_section(report: Report) -> Section:
    """Return what was asked."""
    return Section(
        "asked",
        "What was asked",
        (
            _roles(report),
            Heading(("Formal privacy models and limits",)),
            Facts((*_models(report), *_search(report))),
            *_pseudonyms(report),
        ),
    )


def _roles(report: Report) -> Table:
    rows: list[tuple[Inline, ...]] = [
        ((Name(attribute.name),), (attribute.type.partition("(")[0],), (attribute.role,), (_technique(attribute),))
        for attribute in report.attributes
    ]
    return Table(
        ("The attributes of the original, their roles, and the de-identification technique for each",),
        ("Attribute", "Type", "Role", "Technique"),
        tuple(rows),
    )


def _technique(attribute: Attribute) -> str:
    if attribute.published == "generalized":
        chosen = ", chosen by its type" if attribute.chosen else ""
        return f"generalization by {attribute.hierarchy}{chosen}; records suppressed"
    return {
        "as pseudonyms": "pseudonymization",
        "not published": "removed",
        "as it is": "none: published as it is",
    }[attribute.published]


def _models(report: Report) -> list[tuple[str, Inline]]:
    facts: list[tuple[str, Inline]] = []
    for requirement in report.requirements:
        counted = (" of people, named by ", Name(requirement.entity)) if requirement.entity else ()
        asked: Inline = (
            *what_is_asked(requirement),
            f", {requirement.letter} = {number(requirement.required)}",
            *counted,
        )
        facts.append(("Model", asked))
    return facts


def _search(report: Report) -> list[tuple[str, Inline]]:
    search = report.search
    limit = search.max_suppressed
    facts: list[tuple[str, Inline]] = [
        ("Records suppressed", (f"at most {limit if isinstance(limit, str) else percent(limit)}",)),
        ("Algorithm", (search.algorithm, _how(report))),
        ("Minimized", (search.measure,)),
        ("Proven", (_proof(report),)),
        ("Seed", (str(search.seed), " (order of rows, random choices)")),
    ]
    if search.time_limit is not None:
        facts.append(("Time limit", (f"{search.time_limit:g} seconds of search",)))
    return facts


def _how(report: Report) -> str:
    if report.search.steps is not None:
        return f", local recoding in {report.search.steps:,} steps"
    if report.search.rounds is not None:
        return f", multidimensional recoding in {report.search.rounds:,} rounds of cuts"
    return ", full-domain recoding: one level for each column"


def _proof(report: Report) -> str:
    search = report.search
    tested = f"{search.nodes_tested:,} of {search.lattice_size:,} combinations of levels tested"
    if search.optimal:
        return f"no full-domain release is better by this measure ({tested})"
    if search.gap is not None:
        return f"no release can be better by more than {percent(search.gap)} ({tested})"
    return "not the best there is: others may be better"


def _pseudonyms(report: Report) -> tuple[Paragraph, ...]:
    found = report.pseudonyms
    if found is None:
        return ()
    origin = (
        "a key that was drawn for this release and is kept nowhere" if found.key == "drawn" else "the key of a file"
    )
    return (
        Paragraph(
            (
                (
                    f"Pseudonyms are HMAC-SHA256 of each value, by {origin}. A pseudonym ties the rows of a person: "
                    "it is pseudonymization, not anonymization. Who has the key, and a list of values, can undo it."
                ),
            )
        ),
    )
