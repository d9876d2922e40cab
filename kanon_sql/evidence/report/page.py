"""A document as one HTML page that loads nothing, runs nothing, and reads well on paper, on a phone and aloud."""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from kanon_sql.evidence.report.charts import bar, curve
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
    from kanon_sql.evidence.report.document import Block, Document, Inline, Part, Section

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
_MARKS = {"good": "✓", "warn": "!", "bad": "✗", "neutral": "\N{EN DASH}"}


def page_of(document: Document) -> str:
    """Return a document as an HTML page."""
    title = f"{document.title}: {_plain(document.about)}"
    contents = "".join(
        f'<li><a href="#{section.anchor}">{_text(section.title)}</a></li>' for section in document.sections
    )
    sections = "".join(_section(section, number) for number, section in enumerate(document.sections, start=1))
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        '<meta name="generator" content="kanon-sql">\n'
        f"<title>{_text(title)}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#summary">Skip to the summary</a>\n'
        f'<header class="top"><p class="kind">{_text(document.title)}</p><h1>{_inline(document.about)}</h1>'
        f'<p class="verdict">{_part(document.verdict)}</p><p class="made">{_text(document.made)}</p></header>\n'
        f'<nav aria-label="Contents"><ol>{contents}</ol></nav>\n'
        f"<main>\n{sections}</main>\n"
        f"<footer><p>{_text(document.made)}. It loads nothing and runs nothing.</p></footer>\n"
        "</body>\n</html>\n"
    )


@cache
def _style() -> str:
    return Path(__file__).with_name("page.css").read_text(encoding="utf-8")


def _section(section: Section, number: int) -> str:
    blocks = "".join(
        _block(block, f"{section.anchor}-{place}") + "\n" for place, block in enumerate(section.blocks, start=1)
    )
    heading = f'<h2 id="{section.anchor}-title"><span class="number">{number}</span> {_text(section.title)}</h2>'
    return f'<section id="{section.anchor}" aria-labelledby="{section.anchor}-title">\n{heading}\n{blocks}</section>\n'


def _block(block: Block, anchor: str) -> str:  # noqa: PLR0911 - one for each kind of block
    match block:
        case Paragraph():
            kind = ' class="small"' if block.small else ""
            return f"<p{kind}>{_inline(block.text)}</p>"
        case Heading():
            return f"<h3>{_inline(block.text)}</h3>"
        case Listed():
            return f"<ul>{''.join(f'<li>{_inline(point)}</li>' for point in block.points)}</ul>"
        case Figures():
            figures = "".join(
                f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in block.figures
            )
            return f'<dl class="figures">{figures}</dl>'
        case Facts():
            facts = "".join(
                f"<div><dt>{_text(name)}</dt><dd>{_inline(value)}</dd></div>" for name, value in block.facts
            )
            return f'<dl class="facts">{facts}</dl>'
        case Table():
            return _table(block, anchor)
        case Curves():
            curves = "".join(curve(found, f"{anchor}-{place}") for place, found in enumerate(block.curves))
            return f'<div class="curves">{curves}</div>'
        case Folded():
            return f"<details><summary>{_text(block.summary)}</summary>{_table(block.table, anchor)}</details>"
        case Script():
            name = _text(block.summary)
            text = f'<pre tabindex="0" role="region" aria-label="{name}"><code>{_lines(block.text)}</code></pre>'
            return f"<details><summary>{name}</summary>{text}</details>"


def _table(table: Table, anchor: str) -> str:
    head = "".join(
        f'<th scope="col"{_kind(table, place)}>{_text(name)}</th>' if name else f"<td{_kind(table, place)}></td>"
        for place, name in enumerate(table.head)
    )
    rows = []
    for row in table.rows:
        first, *rest = row
        cells = "".join(f"<td{_kind(table, place)}>{_inline(cell)}</td>" for place, cell in enumerate(rest, start=1))
        rows.append(f'<tr><th scope="row">{_inline(first)}</th>{cells}</tr>')
    return (
        f'<div class="wide" role="region" tabindex="0" aria-labelledby="{anchor}-caption"><table>'
        f'<caption id="{anchor}-caption"><span>{_inline(table.caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _kind(table: Table, place: int) -> str:
    """Return what a cell is, as attributes: a bar says nothing that the numbers beside it do not."""
    if not table.head[place]:
        return ' class="bars" aria-hidden="true"'
    return ' class="number"' if place in table.numeric else ""


def _inline(text: Inline) -> str:
    return "".join(map(_part, text))


def _part(part: Part) -> str:  # noqa: PLR0911 - one for each kind of part
    match part:
        case str():
            return _text(part)
        case Name():
            return f'<bdi class="name">{_text(part.text)}</bdi>'
        case Strong():
            return f"<strong>{_text(part.text)}</strong>"
        case Small():
            return f'<span class="small">{_text(part.text)}</span>'
        case Code():
            return f"<code>{_text(part.text)}</code>"
        case Badge():
            return (
                f'<span class="badge {part.kind}"><span aria-hidden="true">{_MARKS[part.kind]}</span> '
                f"{_text(part.text)}</span>"
            )
        case Bar():
            return bar(part)


def _plain(text: Inline) -> str:
    return "".join(part if isinstance(part, str) else part.text for part in text if not isinstance(part, Bar))


def _text(text: str) -> str:
    return escape(shown(text))


def _lines(text: str) -> str:
    return "\n".join(_text(line.expandtabs()) for line in text.split("\n"))
