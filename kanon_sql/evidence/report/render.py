"""Reports as HTML or Markdown: ``templates/report.j2`` has the content, ``html.j2`` and ``markdown.j2`` the format.

Pure functions place charts; their colours and fonts are those of the page (templates/report.css). Every figure in a
chart is also in a table, or in the numbers of its row.

Every value is escaped for its format. HTML: by Jinja's autoescape. Markdown: before autoescape, which then finds
nothing left to escape. Invisible characters are spelled out in both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from kanon_sql.errors import counted
from kanon_sql.evidence.report import words
from kanon_sql.evidence.report.words import NOTHING, decimals, percentage, printable, verb
from kanon_sql.evidence.standards.judge import VERDICTS
from kanon_sql.policy.algorithms import GREEDY
from kanon_sql.risks.attacks.controlled import CONTROLLED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.evidence.report.figures import Attribute, CurvePoint
    from kanon_sql.evidence.standards.judge import CheckedStandard
    from kanon_sql.risks.attacks.verdicts import Outcome, Verdict
    from kanon_sql.risks.estimators.assessment import Risk
    from kanon_sql.risks.estimators.subsets import SubsetRisk

Tone = Literal["good", "warn", "bad", "neutral"]
TONES: dict[Outcome, Tone] = {
    "succeeds": "bad",
    "not excluded": "warn",
    "finds nothing": "neutral",
    "not meaningful": "neutral",
    "not tested": "neutral",
}
_TONES_OF_RULES: dict[str, Tone] = {"holds": "good", "fails": "bad", "not known": "warn", "for a person": "neutral"}
_MANY = 3  # columns with more than one unique row in three get a warning
_SUBSETS = 8  # of quasi-identifiers, in the table of those with the most unique rows
_MARKDOWN_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|&~$!])")
_WIDTH, _HEIGHT = 360, 210  # of a chart
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 26, 38
_BAR = 160
_END_OF_BLOCK = Markup("\f")  # in Markdown; no value contains it, since invisible characters are spelled out


def rendered(template: str, elements: str, titles: Mapping[str, str], report: object) -> str:
    """Return a report as HTML or Markdown, by the ``elements`` of its format; ``titles`` are those of its sections."""
    sections = {anchor: (number, title) for number, (anchor, title) in enumerate(titles.items(), start=1)}
    written = _environment(elements).get_template(template)
    return written.render(report=report, elements=elements, sections=sections).strip() + "\n"


@cache
def _environment(elements: str) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_html_text if elements == "html.j2" else _markdown_text,
    )
    environment.filters |= {
        "blocks": partial(_joined, Markup("\n\n"), _END_OF_BLOCK),
        "closed_up": partial(_joined, Markup("\n"), "\n"),
        "code_span": _code_span,
        "fenced": _fenced,
        "lines": _lines,
        "one_line": partial(_joined, Markup(" "), "\n"),
        "tenths": "{:.1f}".format,
        "thousands": lambda number, otherwise=NOTHING: otherwise if number is None else f"{number:,}",
    }
    of_reports = (loss_curve, nearly_unique, suppression_curve, verdict, verdict_segments, worst_subsets)
    environment.globals |= vars(words) | {function.__name__: function for function in (bar_width, *of_reports)}
    environment.globals |= {
        "COMPARED": CONTROLLED,
        "INFERRING": ("homogeneity", "background knowledge"),
        "end_of_block": _END_OF_BLOCK,
        "risk_text": lambda risk: decimals(None if risk is None else float(risk)),
        "tone": TONES.__getitem__,
        "tone_of_rule": _TONES_OF_RULES.__getitem__,
    }
    return environment


# What the facts say


def verdict(
    attacks: Sequence[Verdict],
    standards: Sequence[CheckedStandard],
    proposed: Sequence[str],
    choice: str | None,
    *,
    holds: bool,
) -> tuple[Tone, str]:
    """Return the most important result for a reader: the verdict, and reservations about a release that passes."""
    if not holds:
        return "bad", "Not all requirements hold"
    but = []
    if succeeded := sum(bool(attack.succeeded) for attack in attacks):
        but.append(f"{counted(succeeded, 'attack')} {verb(succeeded, 'succeeds')}")
    if excluded := sum(attack.endangers for attack in attacks) - succeeded:
        but.append(f"{counted(excluded, 'attack')} {verb(excluded, 'is', 'are')} not excluded")
    if all(attack.outcome == "not tested" for attack in attacks):
        but.append("no attack could be tested")
    if failing := sum(len(standard.of("fails")) for standard in standards):
        but.append(f"{counted(failing, 'rule')} of standards {verb(failing, 'fails', 'fail')}")
    if unknown := sum(len(standard.of("not known")) for standard in standards):
        but.append(f"{counted(unknown, 'rule')} of standards {verb(unknown, 'is', 'are')} not known")
    if choice == GREEDY:
        but.append("someone who knows the algorithm may learn sensitive values")
    if proposed:
        roles = "role" if len(proposed) == 1 else "roles"
        but.append(f"no person has confirmed the {roles} of {counted(len(proposed), 'column')}")
    return ("warn", "; ".join(["Requirements hold", *but])) if but else ("good", "All requirements hold")


def nearly_unique(attributes: Sequence[Attribute], rows_out: int) -> list[Attribute]:
    """Return the columns whose value makes more than a third of the rows of the output unique."""
    return [attribute for attribute in attributes if (attribute.rows_alone or 0) * _MANY > rows_out]


def worst_subsets(before: Risk, after: Risk) -> list[tuple[SubsetRisk, SubsetRisk]]:
    """Return the subsets of quasi-identifiers with the most unique rows in the original, each before and after."""
    was = {found.columns: found for found in before.subsets.found}
    found = [(was[own.columns], own) for own in after.subsets.found]
    return sorted(found, key=lambda both: (-both[0].uniques, both[0].columns))[:_SUBSETS]


# Charts


class Text(NamedTuple):
    """A text: a tick of the axis, or the value at the chosen point; ``anchor`` is that of SVG."""

    kind: str
    x: float
    y: float
    anchor: str
    text: str


class Dot(NamedTuple):
    """A point of a curve; ``value`` is the text at the chosen one."""

    x: float
    y: float
    value: Text | None


@dataclass(frozen=True)
class CurveChart:
    """A line over the compared k, in the coordinates of its SVG; ``described`` is its text alternative."""

    title: str
    described: str
    grid: tuple[tuple[float, str], ...]
    dots: tuple[Dot, ...]
    ticks: tuple[Text, ...]
    across: ClassVar[str] = "k"
    width: ClassVar[int] = _WIDTH
    height: ClassVar[int] = _HEIGHT
    left: ClassVar[int] = _LEFT
    right: ClassVar[int] = _WIDTH - _RIGHT


def loss_curve(points: Sequence[CurvePoint]) -> CurveChart:
    return _curve("Loss", points, [point.loss for point in points], [decimals(point.loss) for point in points], "")


def suppression_curve(points: Sequence[CurvePoint]) -> CurveChart:
    shares = [point.share_suppressed for point in points]
    written = [NOTHING if share is None else percentage(share) for share in shares]
    return _curve("Rows left out", points, shares, written, " %")


def bar_width(share: float) -> float:
    """Return the width of a bar: 1 for the widest, 0 for nothing, and a visible width for anything else."""
    return 0.0 if share <= 0 else max(1.0, _BAR * min(share, 1.0))


class VerdictSegment(NamedTuple):
    """The rules with a verdict in the bar of a standard: their start, width and tone."""

    x: float
    width: float
    tone: Tone


def verdict_segments(standard: CheckedStandard) -> list[VerdictSegment]:
    """Return the segments of the bar of a standard, one for each verdict, as wide as its number of rules."""
    of_rule, segments, start = _BAR / len(standard.rules), [], 0.0
    for verdict in VERDICTS:
        if width := of_rule * len(standard.of(verdict)):
            segments.append(VerdictSegment(start, width, _TONES_OF_RULES[verdict]))
            start += width
    return segments


def _curve(
    title: str, points: Sequence[CurvePoint], values: Sequence[float | None], written: Sequence[str], unit: str
) -> CurveChart:
    said = "; ".join(f"k = {point.k}: {text}" for point, text in zip(points, written, strict=True))
    described = f"{title} for each k. {said}." + "".join(f" Chosen: k = {point.k}." for point in points if point.chosen)
    top = _end_of_axis(max((value for value in values if value is not None), default=0.0) or 1.0)
    step = (_WIDTH - _LEFT - _RIGHT - 20) / max(len(points) - 1, 1)
    begin = _LEFT + 10 + (step / 2 if len(points) == 1 else 0)
    known = [(place, _y(value / top)) for place, value in enumerate(values) if value is not None]
    dots = []
    for number, (place, y) in enumerate(known):
        beside = [other for _, other in known[max(0, number - 1) : number + 2]]
        x = begin + step * place
        value = _value(x, y, sum(beside) / len(beside), written[place]) if points[place].chosen else None
        dots.append(Dot(x, y, value))
    ticks = [
        *(Text("tick", begin + step * place, _HEIGHT - 20, "middle", str(one.k)) for place, one in enumerate(points)),
        Text("tick", (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 4, "middle", "k"),
    ]
    scale = 100 if unit else 1
    grid = tuple((_y(part), f"{part * top * scale:.3g}{unit}") for part in (0.0, 0.5, 1.0))
    return CurveChart(title, described, grid, tuple(dots), tuple(ticks))


def _value(x: float, y: float, beside: float, text: str) -> Text:
    """Return the text at a dot on the side without the line: above it, but below it in a valley."""
    in_valley = beside < y - 2 and y + 20 < _HEIGHT - _BOTTOM
    below = in_valley or y - 11 < _TOP
    anchor = "start" if x < _LEFT + 30 else "end" if x > _WIDTH - 50 else "middle"
    return Text("value", x, y + 20 if below else y - 11, anchor, text)


def _y(part: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * part


def _end_of_axis(highest: float) -> float:
    """Return a round end of an axis: 1, 2 or 5 times a power of ten."""
    step = 1.0
    while step < highest:
        step *= 10
    while step / 10 >= highest:
        step /= 10
    return next(step * part for part in (0.1, 0.2, 0.5, 1.0) if step * part >= highest)


# How values are written


def _html_text(value: object) -> object:
    """Return a value for autoescape, which leaves markup of the templates unchanged."""
    return value if isinstance(value, Markup) else printable(str(value))


def _markdown_text(value: object) -> Markup:
    if isinstance(value, Markup):
        return value
    return Markup(_MARKDOWN_SPECIAL.sub(r"\\\1", printable(str(value))))  # noqa: S704 - escaped for Markdown


def _lines(text: str) -> Markup:
    """Return the lines of a script for HTML."""
    return Markup("\n").join(escape(printable(line.expandtabs())) for line in text.split("\n"))


def _fenced(text: str, language: str) -> Markup:
    """Return a script for Markdown, in a fence that is longer than any in it."""
    lines = "\n".join(printable(line.expandtabs()) for line in text.rstrip("\n").split("\n"))
    fence = "`" * max(3, 1 + _longest_run(text))
    return Markup(f"{fence}{language}\n{lines}\n{fence}")  # noqa: S704 - nothing is escaped in a fence


def _code_span(text: str) -> Markup:
    fence = "`" * (1 + _longest_run(text))
    return Markup(f"{fence}{printable(text)}{fence}")  # noqa: S704 - nothing is escaped in a code span


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _joined(by: Markup, between: str, text: Markup) -> Markup:
    """Join the parts of a template (a sentence, items, rows or blocks) without the whitespace around them."""
    return by.join(part.strip() for part in text.split(between) if part.strip())
