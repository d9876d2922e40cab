"""Layout of drawings: pure functions from figures to SVG coordinates, which templates write.

A drawing is never the only source: a table or a text beside it says the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.classes.lattice import Node
    from kanon_sql.explore.workspace import Block, Point

_MARKS = (
    "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0 -5 0Z",
    "M-5 -5H5V5H-5Z",
    "M0 -6.5L6 5H-6Z",
    "M0 -7L6 0L0 7L-6 0Z",
    "M0 6.5L6 -5H-6Z",
    "M-6 -2H-2V-6H2V-2H6V2H2V6H-2V2H-6Z",
    "M-6 -4L-4 -6L0 -2L4 -6L6 -4L2 0L6 4L4 6L0 2L-4 6L-6 4L-2 0Z",
)
"""Outlines of marks around 0, one for each algorithm, for readers who cannot tell the colours apart."""


class Tick(NamedTuple):
    at: float
    text: str


class Mark(NamedTuple):
    """A point of the trade-off: its place, its outline and the number of its algorithm."""

    x: float
    y: float
    outline: str
    number: int
    point: Point


@dataclass(frozen=True)
class Scatter:
    marks: tuple[Mark, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    key: tuple[tuple[str, str, int], ...]
    width: ClassVar[int] = 640
    height: ClassVar[int] = 360
    left: ClassVar[int] = 58
    right: ClassVar[int] = 624
    top: ClassVar[int] = 36
    bottom: ClassVar[int] = 314


def scatter(points: Sequence[Point], measure: str, risk: str) -> Scatter:
    """Place releases by risk (across) and by loss (up)."""
    names = list(dict.fromkeys(point.algorithm for point in points))
    known = [
        (point, x, y)
        for point in points
        if (x := point.risks.get(risk)) is not None and (y := point.measures.get(measure)) is not None
    ]
    right = _end_of_axis(max((x for _, x, _ in known), default=0.0))
    top = _end_of_axis(max((y for *_, y in known), default=0.0))
    wide, high = Scatter.right - Scatter.left, Scatter.bottom - Scatter.top
    marks = [
        Mark(
            Scatter.left + wide * x / right,
            Scatter.bottom - high * y / top,
            outline_of(names.index(point.algorithm)),
            names.index(point.algorithm) % len(_MARKS),
            point,
        )
        for point, x, y in known
    ]
    parts = (0.0, 0.25, 0.5, 0.75, 1.0)
    return Scatter(
        tuple(marks),
        tuple(Tick(Scatter.left + wide * part, f"{right * part:.3g}") for part in parts),
        tuple(Tick(Scatter.bottom - high * part, f"{top * part:.3g}") for part in parts),
        tuple((name, outline_of(number), number % len(_MARKS)) for number, name in enumerate(names)),
    )


def outline_of(number: int) -> str:
    return _MARKS[number % len(_MARKS)]


class DrawnBlock(NamedTuple):
    x: float
    width: float
    text: str
    block: Block


def icicle(levels: Sequence[Sequence[Block]]) -> list[list[DrawnBlock]]:
    """Place the labels of a hierarchy, each as wide as its share of the rows. A text without room is cut."""
    return [
        [
            DrawnBlock(ICICLE_WIDTH * one.start, max(0.6, ICICLE_WIDTH * one.width - 1), _fitting(one), one)
            for one in blocks
        ]
        for blocks in levels
    ]


ICICLE_WIDTH = 860
_LETTER = 7.0


def _fitting(block: Block) -> str:
    room = int((ICICLE_WIDTH * block.width - 8) / _LETTER)
    text = block.label or ""
    return text if len(text) <= room else f"{text[: room - 1]}…" if room > 2 else ""  # noqa: PLR2004 - a letter and …


class DrawnNode(NamedTuple):
    """A node of the lattice; ``kind`` is the CSS class of its box."""

    node: Node
    x: float
    y: float
    kind: str


@dataclass(frozen=True)
class Hasse:
    nodes: tuple[DrawnNode, ...]
    lines: tuple[tuple[float, float, float, float], ...]
    width: float
    height: float
    box: float
    box_height: ClassVar[int] = 24


def hasse(kinds: Mapping[Node, str]) -> Hasse:
    """Place nodes in rows by height, the most general on top, with lines to those one level lower."""
    by_height: dict[int, list[Node]] = {}
    for node in sorted(kinds):
        by_height.setdefault(sum(node), []).append(node)
    letters = max((len(node_text(node)) for node in kinds), default=1)
    box = 14 + _LETTER * letters
    step, row = box + 10, 56
    width = max((len(nodes) for nodes in by_height.values()), default=1) * step + 10
    places: dict[Node, tuple[float, float]] = {}
    for number, height in enumerate(sorted(by_height, reverse=True)):
        nodes = by_height[height]
        begin = (width - step * len(nodes)) / 2 + step / 2
        places |= {node: (begin + step * place, 24 + row * number) for place, node in enumerate(nodes)}
    half = Hasse.box_height / 2
    lines = [
        (*_moved(places[node], half), *_moved(places[lower], -half))
        for node in places
        for lower in _lower(node)
        if lower in places
    ]
    drawn = [DrawnNode(node, x, y, kinds[node]) for node, (x, y) in places.items()]
    return Hasse(tuple(drawn), tuple(lines), width, 48 + row * (len(by_height) - 1), box)


def node_text(node: Node) -> str:
    return "·".join(map(str, node))


def around(node: Node, heights: Node, steps: int) -> list[Node]:
    """Return a node and those at most ``steps`` levels above or below it."""
    found = {node}
    for sign in (1, -1):
        edge = {node}
        for _ in range(steps):
            edge = {
                (*one[:place], level + sign, *one[place + 1 :])
                for one in edge
                for place, level in enumerate(one)
                if 0 <= level + sign <= heights[place]
            }
            found |= edge
    return sorted(found)


def _lower(node: Node) -> list[Node]:
    return [(*node[:place], level - 1, *node[place + 1 :]) for place, level in enumerate(node) if level]


def _moved(place: tuple[float, float], down: float) -> tuple[float, float]:
    return place[0], place[1] + down


def _end_of_axis(highest: float) -> float:
    """Return a round end of an axis that divides into four readable parts."""
    if highest <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(highest))
    return next(size * part for part in (1, 1.2, 1.6, 2, 3, 4, 6, 8, 10) if size * part >= highest * 0.999999)
