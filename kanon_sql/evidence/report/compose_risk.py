"""The risk of re-identification: by attacker; and by singling out, linkability and inference (WP216)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from kanon_sql.evidence.report.compose_summary import stands_out
from kanon_sql.evidence.report.document import Badge, Heading, Name, Paragraph, Section, Strong, Table
from kanon_sql.evidence.report.words import NOTHING, decimals, members, number, percent, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.evidence.report.document import Block, Inline, Part
    from kanon_sql.evidence.report.figures import Attacked, Report
    from kanon_sql.risks.attacks.verdicts import Outcome
    from kanon_sql.risks.estimators.assessment import Risk

_TONES: dict[Outcome, Literal["good", "warn", "bad", "neutral"]] = {
    "succeeds": "bad",
    "not excluded": "warn",
    "fails": "good",
    "not meaningful": "neutral",
    "not tested": "neutral",
}
_INFERRING = ("homogeneity", "background knowledge")
_SUBSETS = 8


def risk_section(report: Report) -> Section:
    """Return the risk of re-identification."""
    linking = [attack for attack in report.attacks if attack.name not in _INFERRING]
    inferring = [attack for attack in report.attacks if attack.name in _INFERRING]
    return Section(
        "risk",
        "Risk of re-identification",
        (
            _attackers(report),
            Paragraph(_journalist(report), small=True),
            Heading(("Singling out",)),
            *_singling_out(report),
            Heading(("Linkability",)),
            *_linkability(report, linking),
            Heading(("Inference",)),
            *_inference(report, inferring),
        ),
    )


def _attackers(report: Report) -> Table:
    before, after = report.risk_before, report.risk_after
    threshold = after.threshold
    of_record = " of a record" if report.counts_people else ""

    def of(label: Inline, value_before: str, value_after: str) -> tuple[Inline, ...]:
        return (label, (value_before,), (value_after,))

    rows = [
        of(("Prosecutor, highest risk",), _risk(before.prosecutor.highest), _risk(after.prosecutor.highest)),
        of(
            (f"Prosecutor, average risk{of_record}",), _risk(before.prosecutor.average), _risk(after.prosecutor.average)
        ),
        of(
            (f"Prosecutor, {after.counted} above a risk of {threshold.risk:.4g}",),
            _part(before, before.prosecutor.above_threshold),
            _part(after, after.prosecutor.above_threshold),
        ),
        of(
            (f"Marketer, share{' of records' if report.counts_people else ''} found if all are guessed",),
            _risk(before.marketer),
            _risk(after.marketer),
        ),
    ]
    population = next((found for found in report.requirements if found.model == "k-map"), None)
    if population is not None and population.measured:
        rows.append(of(("Journalist, highest risk (k-map)",), NOTHING, _risk(1 / population.measured)))
    return Table(
        ("Risk by attacker, before and after",),
        ("Attacker", "Original", "Release"),
        tuple(rows),
        frozenset({1, 2}),
    )


def _journalist(report: Report) -> Inline:
    text = (
        "The prosecutor knows that a person is in the table; the journalist knows only a population that it was "
        "drawn from; the marketer wants to find as many as possible. "
    )
    if any(found.model == "k-map" for found in report.requirements):
        return (text,)
    return (f"{text}No population was named: the risk from a journalist is at most that from a prosecutor.",)


def _singling_out(report: Report) -> list[Block]:
    before, after = report.risk_before, report.risk_after
    uniques, uniques_before = after.prosecutor.uniques, before.prosecutor.uniques
    of_smallest = members(after.smallest_class or 0, people=report.counts_people)
    if not after.members:
        verdict: Inline = ("The release has no rows.",)
    elif uniques:
        verdict = (
            Badge("bad", "possible"),
            f" {_part(after, uniques)} {_are_alone(after, uniques)}: whoever knows the quasi-identifiers finds them.",
        )
    else:
        verdict = (
            Badge("good", "not by the quasi-identifiers"),
            (
                f" Nobody is alone in a class: the smallest has {of_smallest}. In the original, "
                f"{_part(before, uniques_before)} {_were_alone(before, uniques_before)}."
            ),
        )
    blocks: list[Block] = [Paragraph(verdict)]
    was = {found.columns: found for found in before.subsets.found}
    found = sorted(after.subsets.found, key=lambda subset: (-was[subset.columns].uniques, subset.columns))[:_SUBSETS]
    if found:
        rows: list[tuple[Inline, ...]] = [
            (
                _joined(subset.columns),
                (f"{was[subset.columns].uniques:,}",),
                (f"{subset.uniques:,}",),
                (number(subset.smallest_class),),
            )
            for subset in found
        ]
        blocks.append(
            Table(
                (
                    (
                        "Who knows some of the quasi-identifiers only: those that singled out most in the original, "
                        f"counted in {after.counted}"
                    ),
                ),
                ("Known", "Alone before", "Alone after", "Smallest class after"),
                tuple(rows),
                frozenset({1, 2, 3}),
            )
        )
    return [*blocks, *_published_as_they_are(report)]


def _published_as_they_are(report: Report) -> list[Block]:
    """Return with how many rows each column stands out that the requirements do not look at."""
    kept = [attribute for attribute in report.attributes if attribute.rows_alone is not None]
    if not kept or not report.rows_out:
        return []
    rows: list[tuple[Inline, ...]] = [
        (
            (Name(attribute.name),),
            (attribute.role,),
            (f"{attribute.rows_alone:,}",),
            (percent((attribute.rows_alone or 0) / report.rows_out),),
            (Badge("warn", "many") if stands_out(attribute, report) else NOTHING,),
        )
        for attribute in kept
    ]
    text = (
        "These columns are not generalized. Who knows the value of one of them besides the quasi-identifiers may find "
        "a row that no other is like: exact amounts, times or rare values single people out. The requirements do not "
        "look at them."
    )
    return [
        Heading(("Columns that are published as they are",)),
        Paragraph((text,)),
        Table(
            ("Rows of the release that are like no other in the labels of the quasi-identifiers and this column",),
            ("Column", "Role", "Rows alone", "Share", "More than a third"),
            tuple(rows),
            frozenset({2, 3}),
        ),
    ]


def _are_alone(risk: Risk, number: int) -> str:
    return verb(number, "is", "are") + _where(risk)


def _were_alone(risk: Risk, number: int) -> str:
    return verb(number, "was", "were") + _where(risk)


def _where(risk: Risk) -> str:
    return " alone in a class" if risk.people is not None else " alone"


def _linkability(report: Report, attacks: Sequence[Attacked]) -> list[Block]:
    people = report.counts_people
    blocks: list[Block] = [
        Paragraph(
            (
                (
                    "Can records about a person be linked, in this release, with the original, or with another one? "
                    "The attacker here has every quasi-identifier of every row of the original."
                    + (
                        " The release does not name people: the original says of how many people its classes are."
                        if people
                        else ""
                    )
                ),
            )
        ),
        _attacks("Attacks that link records", attacks),
    ]
    if report.pseudonyms is not None:
        rows: list[tuple[Inline, ...]] = [
            ((Name(column),), (number(report.pseudonyms.fewest_alike.get(column)),))
            for column in report.pseudonyms.columns
        ]
        blocks += [
            Paragraph(
                (
                    Strong("Pseudonyms link rows. "),
                    (
                        "The rows of a person can be told to be of one person, here and in every release made with the "
                        "same key."
                    ),
                )
            ),
            Table(
                ("How many pseudonyms at least are tied to rows alike",),
                ("Attribute", "Pseudonyms alike, at least"),
                tuple(rows),
                frozenset({1}),
            ),
        ]
    return blocks


def _inference(report: Report, attacks: Sequence[Attacked]) -> list[Block]:
    sensitive = [attribute.name for attribute in report.attributes if attribute.role == "sensitive attribute"]
    if not sensitive:
        return [
            Paragraph(
                (
                    Strong("No column was called sensitive, "),
                    "so that nothing is known of what can be inferred from columns that are published as they are.",
                )
            )
        ]
    text = "Can the value of a sensitive attribute be told of a person, without telling which row is hers?"
    if not attacks:
        return [Paragraph((text,)), Paragraph(("No attack could be tested.",))]
    return [Paragraph((text,)), _attacks("Attacks that infer a sensitive attribute", attacks)]


def _attacks(caption: str, attacks: Sequence[Attacked]) -> Table:
    rows: list[tuple[Inline, ...]] = []
    for attack in attacks:
        name: list[Part] = [attack.name]
        if attack.about is not None:
            name += [" of ", Name(attack.about)]
        stops = f"It would be stopped by {attack.stopped_by}." if attack.endangers else ""
        rows.append((tuple(name), _outcome(attack), (f"{attack.found} {stops}".strip(),)))
    return Table((caption,), ("Attack", "Outcome", "What it found"), tuple(rows))


def _outcome(attack: Attacked) -> Inline:
    return (Badge(_TONES[attack.outcome], attack.outcome),)


def _risk(value: float | None) -> str:
    return NOTHING if value is None else decimals(float(value))


def _part(risk: Risk, found: int) -> str:
    share = f" ({percent(found / risk.everybody)})" if risk.everybody else ""
    return f"{members(found, people=risk.people is not None)}{share}"


def _joined(names: Sequence[str]) -> Inline:
    parts: list[Part] = []
    for place, name in enumerate(names):
        parts += [" + "] if place else []
        parts.append(Name(name))
    return tuple(parts)
