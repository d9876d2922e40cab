"""What was asked: the roles of the columns, the models, the limits, the search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.evidence.report.compose_summary import what_is_asked
from kanon_sql.evidence.report.document import Facts, Heading, Name, Paragraph, Section, Small, Table
from kanon_sql.evidence.report.techniques import kind_of_values, rule_of, technique
from kanon_sql.evidence.report.words import number, percent

if TYPE_CHECKING:
    from kanon_sql.evidence.report.document import Inline
    from kanon_sql.evidence.report.figures import Attribute, Report


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
        ((Name(attribute.name),), (kind_of_values(attribute),), (attribute.role,), _technique(attribute))
        for attribute in report.attributes
    ]
    return Table(
        ("The columns (attributes) of the original, what each may give away (role), and what was done to it",),
        ("Column", "Values", "Role", "What was done"),
        tuple(rows),
    )


def _technique(attribute: Attribute) -> Inline:
    rule = rule_of(attribute)
    return (technique(attribute),) if rule is None else (technique(attribute), " ", Small(f"({rule})"))


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
        ("Rows that may be left out (suppressed)", (f"at most {limit if isinstance(limit, str) else percent(limit)}",)),
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
