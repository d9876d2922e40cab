"""The reference of errors: every message that the package raises, by its class and exit code, from the code."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import kanon_sql
from kanon_sql import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PAGE = "reference/errors.md"
PLACE = "<!-- The messages stand here on the site (docs/hooks/messages.py). -->"
OPEN = "…"
"""What stands for a part of a message that depends on the call."""
_FEWEST_WORDS = 4
"""Words of the fixed part of a message that is listed."""


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - of mkdocs
    """Put the messages into their page."""
    return markdown.replace(PLACE, reference()) if page.file.src_uri == PAGE else markdown


def reference() -> str:
    """Return all messages as Markdown, under the headings of their classes."""
    found: dict[str, set[str]] = {}
    for path in sorted(Path(inspect.getfile(kanon_sql)).parent.rglob("*.py")):
        for name, message in messages(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault(name, set()).add(message)
    sections = []
    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.KanonError) and name in found:
            summary = inspect.getdoc(error).partition("\n")[0]
            sections += [f"## {name}\n", f"Exit code {error.exit_code}. {summary}\n"]
            sections += [f"- {message}" for message in sorted(found[name], key=str.casefold)]
            sections.append("")
    return "\n".join(sections)


def messages(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the class and the message of each error that a module raises with a text of its own."""
    for node in ast.walk(tree):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[argument, *_])) if name.endswith("Error"):
                text = " ".join(text_of(argument).split())
                if len(text.replace(OPEN, "").split()) >= _FEWEST_WORDS:
                    yield name, text.replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


def text_of(node: ast.expr) -> str:
    """Return a text as it stands in the code, with a sign for each part that depends on the call."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(text_of, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return text_of(left) + text_of(right)
        case _:
            return OPEN
