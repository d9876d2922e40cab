"""A document as Markdown, of the kind that GitHub and pandoc read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kanon_sql.evidence.report.document import (
    Badge,
    Bar,
    Code,
    Curves,
    Facts,
    Figures,
    Folded,
    Heading,
    Listed,
    Name,
    Paragraph,
    Script,
    Small,
    Strong,
    Table,
)
from kanon_sql.evidence.report.words import shown

if TYPE_CHECKING:
    from kanon_sql.evidence.report.document import Block, Document, Inline, Part

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|&~$!])")


def markdown_of(document: Document) -> str:
    """Return a document as Markdown."""
    parts = [
        f"# {_text(document.title)}: {_inline(document.about)}",
        f"{_part(document.verdict)}. {_text(document.made)}.",
    ]
    for number, section in enumerate(document.sections, start=1):
        parts.append(f"## {number}. {_text(section.title)}")
        parts += [text for block in section.blocks if (text := _block(block))]
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> str:  # noqa: PLR0911 - one for each kind of block
    match block:
        case Paragraph():
            return _inline(block.text)
        case Heading():
            return f"### {_inline(block.text)}"
        case Listed():
            return "\n".join(f"- {_inline(point)}" for point in block.points)
        case Figures():
            return "\n".join(f"- {_text(name)}: **{_text(value)}**" for name, value in block.figures)
        case Facts():
            return "\n".join(f"- {_text(name)}: {_inline(value)}" for name, value in block.facts)
        case Table():
            return _table(block)
        case Curves():
            return ""  # the table below them has the same figures
        case Folded():
            return _table(block.table)
        case Script():
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", block.text)), default=0))
            lines = "\n".join(shown(line.expandtabs()) for line in block.text.rstrip("\n").split("\n"))
            return f"{fence}{block.language}\n{lines}\n{fence}"


def _table(table: Table) -> str:
    places = [place for place, name in enumerate(table.head) if name]
    lines = [
        f"**{_inline(table.caption)}**",
        "",
        _row([_text(table.head[place]) for place in places]),
        _row(["---:" if place in table.numeric else "---" for place in places]),
        *(_row([_inline(row[place]) for place in places]) for row in table.rows),
    ]
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _inline(text: Inline) -> str:
    return "".join(map(_part, text)).strip()


def _part(part: Part) -> str:
    match part:
        case str():
            return _text(part)
        case Name() | Small():
            return _text(part.text)
        case Strong():
            return f"**{_text(part.text.strip())}** "
        case Code():
            fence = "`" * (1 + max((len(run) for run in re.findall("`+", part.text)), default=0))
            return f"{fence}{shown(part.text)}{fence}"
        case Badge():
            return f"**{_text(part.text)}**"
        case Bar():
            return ""


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", shown(text))
