"""What a report is written with: sections of paragraphs, lists, tables and charts; HTML and Markdown know only this."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Name:
    """A name that somebody else gave: of a column, a table, a file, or a label of the release."""

    text: str


@dataclass(frozen=True)
class Strong:
    """What must not be overlooked."""

    text: str


@dataclass(frozen=True)
class Small:
    """What is said beside the point, for who wants to know exactly."""

    text: str


@dataclass(frozen=True)
class Code:
    """What is typed."""

    text: str


@dataclass(frozen=True)
class Badge:
    """A verdict in a word or two."""

    kind: Literal["good", "warn", "bad", "neutral"]
    text: str


@dataclass(frozen=True)
class Bar:
    """A bar: how much there is after, and how much there was before, as shares of the widest.

    Attributes:
        after: 0 to 1.
        before: 0 to 1; None where it is not told.
    """

    after: float
    before: float | None = None


Part = str | Name | Strong | Small | Code | Badge | Bar
Inline = tuple[Part, ...]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of text; ``small`` for what is said beside the point."""

    text: Inline
    small: bool = False


@dataclass(frozen=True)
class Listed:
    """A list of points."""

    points: tuple[Inline, ...]


@dataclass(frozen=True)
class Figures:
    """The few numbers that a reader takes away: each with what it is."""

    figures: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Facts:
    """Names and what belongs to each."""

    facts: tuple[tuple[str, Inline], ...]


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row says what the row is about.

    Attributes:
        caption: what it shows.
        head: what the columns are; an empty one is a column of bars.
        rows: the cells.
        numeric: places of the columns of numbers.
    """

    caption: Inline
    head: tuple[str, ...]
    rows: tuple[tuple[Inline, ...], ...]
    numeric: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Point:
    """A point of a curve: where it stands, how high, how that is written, and whether it is the one that was chosen."""

    at: str
    value: float | None
    written: str
    chosen: bool


@dataclass(frozen=True)
class Curve:
    """A line over a few places; the table beside it has the same figures.

    Attributes:
        title: what it shows.
        across: what the places are.
        points: from left to right.
        shares: whether the values are shares, written with a percent sign.
    """

    title: str
    across: str
    points: tuple[Point, ...]
    shares: bool = False


@dataclass(frozen=True)
class Curves:
    """Curves side by side."""

    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Script:
    """Text that a program reads, folded away until somebody wants it."""

    summary: str
    text: str
    language: str


@dataclass(frozen=True)
class Heading:
    """A heading inside of a section."""

    text: Inline


@dataclass(frozen=True)
class Folded:
    """A table that few need, folded away until somebody wants it."""

    summary: str
    table: Table


Block = Paragraph | Listed | Figures | Facts | Table | Curves | Script | Heading | Folded


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Attributes:
        anchor: its name in links.
        title: its heading.
        blocks: what is in it.
    """

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Document:
    """A report, ready to be written.

    Attributes:
        title: what it is.
        about: what it is about.
        verdict: whether what was asked holds.
        made: when and by what it was made.
        sections: its parts.
    """

    title: str
    about: Inline
    verdict: Badge
    made: str
    sections: tuple[Section, ...] = field(default=())
