"""XML as plain elements that know their line. Documents with a DTD or entities are refused before they are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat  # documents with a DTD are refused, and nothing outside is ever fetched

from kanon_sql.hierarchy.formats.rows import BrokenError, line_place


@dataclass(frozen=True)
class Element:
    """An element: its name, attributes and children, and where it begins."""

    name: str
    attributes: dict[str, str]
    place: str
    children: list[Element] = field(default_factory=list)

    def named(self, name: str) -> list[Element]:
        """Return the children of a name."""
        return [child for child in self.children if child.name == name]


def parse_xml(text: str) -> Element:
    """Return the outermost element of a document.

    Raises:
        BrokenError: it is not well-formed, or has a DTD.
    """
    parser = expat.ParserCreate()
    top = Element("", {}, line_place(1))
    open_elements = [top]

    def start(name: str, attributes: dict[str, str]) -> None:
        element = Element(name, attributes, line_place(parser.CurrentLineNumber))
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_name: str) -> None:
        open_elements.pop()

    def refuse(*_what: object) -> None:
        raise BrokenError(
            line_place(parser.CurrentLineNumber),
            "this XML has a DTD (DOCTYPE or ENTITY), which no hierarchy needs and which can do harm. Remove it",
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        # As bytes, so that an encoding that the document names cannot contradict the text that was read.
        parser.Parse(_without_encoding(text).encode(), True)  # noqa: FBT003 - expat takes it by place only
    except expat.ExpatError as error:
        raise BrokenError(line_place(error.lineno), f"this is not XML ({expat.ErrorString(error.code)})") from None
    return top.children[0]


def _without_encoding(text: str) -> str:
    """Return a document without its XML declaration: the text was decoded already."""
    start = len(text) - len(text.lstrip())
    if not text.startswith("<?xml", start):
        return text
    declaration, mark, rest = text.partition("?>")
    return "\n" * declaration.count("\n") + rest if mark else text
