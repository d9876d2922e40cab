"""Charts as SVG, made by pure functions; colours and type are those of the page (see page.css).

A chart is never the only place of a figure: beside each there is a table, or the numbers of its row.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from kanon_sql.evidence.report.words import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.evidence.report.document import Bar, Curve, Point

_WIDTH, _HEIGHT = 360, 210
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 14, 26, 38


def bar(found: Bar) -> str:
    """Return a bar for the cell of a table: filled for after, an outline for before. Hidden from readers of text."""
    before = ""
    if found.before is not None:
        before = f'<rect class="before" x="0.5" y="1.5" width="{_n(_bar_width(found.before))}" height="15" rx="2"/>'
    return (
        '<svg class="bar" viewBox="0 0 161 18" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        f'<rect class="after" x="0.5" y="4" width="{_n(_bar_width(found.after))}" height="10" rx="1"/>{before}</svg>'
    )


def curve(found: Curve, name: str) -> str:
    """Return a curve with its axes; ``name`` is its own among those of a page."""
    highest = max((point.value for point in found.points if point.value is not None), default=0.0) or 1.0
    top = _nice(highest)
    places = _places(found.points, top)
    title = escape(shown(f"{found.title} over {found.across}"))
    chosen = next((point for point in found.points if point.chosen), None)
    said = "; ".join(f"{found.across} = {point.at}: {point.written}" for point in found.points)
    described = f"{found.title} for each {found.across}. {said}." + (
        f" Chosen: {found.across} = {chosen.at}." if chosen is not None else ""
    )
    parts = [
        f'<svg class="curve" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-labelledby="{name}-title {name}-text">',
        f'<title id="{name}-title">{title}</title><desc id="{name}-text">{escape(shown(described))}</desc>',
        f'<text class="heading" x="{_LEFT}" y="14">{escape(shown(found.title))}</text>',
        *_grid(top, shares=found.shares),
    ]
    parts += [f'<polyline class="line" points="{" ".join(f"{_n(x)},{_n(y)}" for x, y, _ in places)}"/>']
    for place, (x, y, point) in enumerate(places):
        radius, kind = (6, "dot chosen") if point.chosen else (3.5, "dot")
        parts.append(f'<circle class="{kind}" cx="{_n(x)}" cy="{_n(y)}" r="{radius}"/>')
        if point.chosen:
            # On the side where the line is not: above it, but below it in a valley.
            beside = [other for _, other, _ in places[max(0, place - 1) : place + 2]]
            in_valley = sum(beside) / len(beside) < y - 2 and y + 20 < _HEIGHT - _BOTTOM
            written = y + 20 if in_valley or y - 11 < _TOP else y - 11
            anchor = "start" if x < _LEFT + 30 else "end" if x > _WIDTH - 50 else "middle"
            at = f'x="{_n(x)}" y="{_n(written)}" text-anchor="{anchor}"'
            parts.append(f'<text class="value" {at}>{escape(point.written)}</text>')
    for place, point in enumerate(found.points):
        parts.append(
            f'<text class="tick" x="{_n(_x(place, len(found.points)))}" y="{_HEIGHT - 20}" text-anchor="middle">'
            f"{escape(point.at)}</text>"
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(
        f'<text class="tick" x="{_n(middle)}" y="{_HEIGHT - 4}" text-anchor="middle">{escape(found.across)}</text>'
    )
    return "".join([*parts, "</svg>"])


def _grid(top: float, *, shares: bool) -> list[str]:
    lines = []
    for part in (0.0, 0.5, 1.0):
        y = _y(part * top, top)
        lines.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_n(y)}" y2="{_n(y)}"/>')
        written = f"{part * top * 100:.3g} %" if shares else f"{part * top:.3g}"
        lines.append(f'<text class="tick" x="{_LEFT - 8}" y="{_n(y + 4)}" text-anchor="end">{written}</text>')
    return lines


def _places(points: Sequence[Point], top: float) -> list[tuple[float, float, Point]]:
    return [
        (_x(place, len(points)), _y(point.value, top), point)
        for place, point in enumerate(points)
        if point.value is not None
    ]


def _x(place: int, of: int) -> float:
    inside = _WIDTH - _LEFT - _RIGHT - 20
    return _LEFT + 10 + (inside * place / (of - 1) if of > 1 else inside / 2)


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / top


def _nice(highest: float) -> float:
    """Return the end of an axis that a number fits on: 1, 2 or 5 times a power of ten."""
    step = 1.0
    while step < highest:
        step *= 10
    while step / 10 >= highest:
        step /= 10
    return next(step * part for part in (0.1, 0.2, 0.5, 1.0) if step * part >= highest)


def _bar_width(share: float) -> float:
    return 0.0 if share <= 0 else max(1.0, 160 * min(share, 1.0))


def _n(value: float) -> str:
    """Return a coordinate with one decimal."""
    return f"{value:.1f}"
