"""Where the parts of a chart stand, by pure functions; colours and type are those of the page (templates/report.css).

A chart is never the only place of a figure: beside each there is a table, or the numbers of its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from kanon_sql.evidence.report.words import NOTHING, decimals, percentage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.evidence.report.figures import CurvePoint, Report

_WIDTH, _HEIGHT = 360, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 26, 38
_BAR = 160


class GridLine(NamedTuple):
    """A horizontal line and its text."""

    y: float
    text: str


class Text(NamedTuple):
    """A text: a tick of the axis, or the value at the point that was chosen; ``anchor`` is that of SVG."""

    kind: str
    x: float
    y: float
    anchor: str
    text: str


class Dot(NamedTuple):
    """A point of a curve; ``value`` is the text at the one that was chosen."""

    x: float
    y: float
    value: Text | None


@dataclass(frozen=True)
class CurveChart:
    """A line over the k that were compared, in the coordinates of its SVG.

    Attributes:
        title: what it shows.
        described: all its figures, for who does not see it.
    """

    title: str
    described: str
    grid: tuple[GridLine, ...]
    dots: tuple[Dot, ...]
    ticks: tuple[Text, ...]
    across: ClassVar[str] = "k"
    width: ClassVar[int] = _WIDTH
    height: ClassVar[int] = _HEIGHT
    left: ClassVar[int] = _LEFT
    right: ClassVar[int] = _WIDTH - _RIGHT


def loss_curve(report: Report) -> CurveChart:
    """Return the loss of each release that was compared."""
    points = report.curve
    return _curve("Loss", points, [point.loss for point in points], [decimals(point.loss) for point in points], "")


def suppression_curve(report: Report) -> CurveChart:
    """Return the share of rows that each release leaves out."""
    shares = [point.share_suppressed for point in report.curve]
    written = [NOTHING if share is None else percentage(share) for share in shares]
    return _curve("Rows left out", report.curve, shares, written, " %")


def bar_width(share: float) -> float:
    """Return the width of a bar, of which the widest has 1; nothing has none, and anything can be seen."""
    return 0.0 if share <= 0 else max(1.0, _BAR * min(share, 1.0))


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
    grid = tuple(GridLine(_y(part), f"{part * top * scale:.3g}{unit}") for part in (0.0, 0.5, 1.0))
    return CurveChart(title, described, grid, tuple(dots), tuple(ticks))


def _value(x: float, y: float, beside: float, text: str) -> Text:
    """Return the text at a dot on the side where the line is not: above it, but below it in a valley."""
    in_valley = beside < y - 2 and y + 20 < _HEIGHT - _BOTTOM
    below = in_valley or y - 11 < _TOP
    anchor = "start" if x < _LEFT + 30 else "end" if x > _WIDTH - 50 else "middle"
    return Text("value", x, y + 20 if below else y - 11, anchor, text)


def _y(part: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * part


def _end_of_axis(highest: float) -> float:
    """Return the end of an axis that a number fits on: 1, 2 or 5 times a power of ten."""
    step = 1.0
    while step < highest:
        step *= 10
    while step / 10 >= highest:
        step /= 10
    return next(step * part for part in (0.1, 0.2, 0.5, 1.0) if step * part >= highest)
