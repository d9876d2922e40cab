"""Blocks that tests/docs/test_docs.py writes to a file show its name: ``csv file=ward.csv`` gets that title.

And an option in a text is not broken after its hyphens: short pieces of code get a class that keeps them on one line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_WITH_FILE = re.compile(r"^```(?P<kind>\w+) file=(?P<file>\S+)$", re.MULTILINE)
_SHORT = re.compile(r"<code>([^<]{1,24})</code>")
_PLAIN = {"csv": "text"}  # Pygments has no lexer for it


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - of mkdocs
    """Write the names of files as the highlighter reads them."""
    return _WITH_FILE.sub(_titled, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - of mkdocs
    """Mark short pieces of code."""
    return _SHORT.sub(r'<code class="short">\1</code>', html)


def _titled(block: re.Match[str]) -> str:
    return f'```{_PLAIN.get(block["kind"], block["kind"])} title="{block["file"]}"'
