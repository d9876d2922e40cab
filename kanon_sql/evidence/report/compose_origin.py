"""Where a release comes from, how to make it again, and what is not promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.evidence.report.document import Code, Facts, Heading, Listed, Paragraph, Script, Section, Strong

if TYPE_CHECKING:
    from kanon_sql.evidence.report.figures import Report


def sql_section(report: Report) -> Section:
    """Return the statements that make and check the release."""
    return Section(
        "sql",
        "The SQL that makes the release",
        (
            Paragraph(
                (
                    (
                        "These statements make the release and check it. The tables that they read, hierarchies "
                        "among them, are named and not written out: they list values of the original. "
                    ),
                    Code("kanon anonymize --sql"),
                    " prints all of it, for who may see the original.",
                )
            ),
            Script("Show the SQL", report.sql, "sql"),
        ),
    )


def origin_section(report: Report) -> Section:
    """Return versions, fingerprints, and how to make the release again."""
    return Section(
        "origin",
        "Provenance, and how to make it again",
        (
            Facts(tuple((name, (found,)) for name, found in report.versions.items())),
            Heading(("Fingerprints (SHA-256)",)),
            Facts(tuple((name, (Code(found),)) for name, found in report.fingerprints.items())),
            Paragraph(
                (
                    (
                        "The fingerprint of rows does not depend on their order. There is none of the original, nor of "
                        "hierarchies that were made from its values: who knows nearly all of them could try out the "
                        "rest."
                    ),
                ),
                small=True,
            ),
            Heading(("How to make it again",)),
            Listed(
                (
                    ("Save the policy below as ", Code("kanon.toml"), " in the directory of the original."),
                    *((Code(command),) for command in report.commands),
                )
            ),
            Script("Show the policy", report.policy, "toml"),
        ),
    )


def limits_section(report: Report) -> Section:
    """Return what is not promised."""
    points = [
        (
            Strong("Other knowledge. "),
            (
                "Figures are about people of whom only the quasi-identifiers named here are known. Who knows more, "
                "such as a column that is published as it is, may find more."
            ),
        ),
        (
            Strong("Other releases. "),
            "Another release of the same people, by anybody, may say more together with this one.",
        ),
        (
            Strong("What people have in common. "),
            "k-anonymity hides who a row is about, not what all people of a class share.",
        ),
        (
            Strong("Who was left out. "),
            (
                "Suppressed rows are people who stand out. Where the full list is known, it can be seen that they are "
                "missing."
            ),
        ),
        (
            Strong("This report itself "),
            (
                "has counts of the original: of classes by size, of people who were alone, of rows left out. It has "
                "no value that the release does not have. It is meant for who decides about the release."
            ),
        ),
    ]
    if report.kind == "view":
        points.append(
            (
                Strong("A view is no release. "),
                "It shows its table as it is at the moment. These figures are of the day of this report.",
            )
        )
    if report.pseudonyms is not None:
        points.append(
            (
                Strong("Pseudonyms "),
                "are personal data under the GDPR as long as somebody has the key or can try values out.",
            )
        )
    points.append(
        (
            Strong("The judgement. "),
            (
                "Whether data are anonymous in the sense of the law is decided by people, for one purpose and one "
                "audience. This report gives them the figures."
            ),
        )
    )
    return Section("limits", "What is not promised", (Listed(tuple(points)),))
