"""Pages of the repository that stand outside docs/ are pages of the site, and links between all of them lead there.

On GitHub the texts link to each other as files: docs/limits.md to ../benchmarks/README.md, CHANGELOG.md to docs/*.md.
The site has its pages elsewhere. So each link is followed in the repository first, and then written as the site has it.
What is no page (a test, a source file) is named, not linked: who reads the site need not have the repository beside it.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

REPOSITORY = Path(__file__).parent.parent.parent
PAGES = {
    "benchmarks/README.md": "benchmarks.md",
    "hierarchies/README.md": "ready-made-hierarchies.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
}
"""Texts outside docs/, and their pages."""

_STANDS_AT = {page: text for text, page in PAGES.items()}
_NOTEBOOK = re.compile(r"^(notebooks/[^/]+)\.ipynb$")  # is a page, made by notebooks.py
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]\[]+)\]\((?P<target>(?!https?:|#)[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the texts that stand outside docs/."""
    for text, page in PAGES.items():
        files.append(File.generated(config, page, content=(REPOSITORY / text).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - of mkdocs
    """Write the links of a page as the site needs them."""
    here = page.file.src_uri

    def as_on_the_site(link: re.Match[str]) -> str:
        text, target, anchor = link["text"], link["target"], link["anchor"] or ""
        found = as_seen_from(here, target)
        return text if found is None else f"[{text}]({found}{anchor})"

    return _LINK.sub(as_on_the_site, markdown)


def as_seen_from(here: str, target: str) -> str | None:
    """Return what a link of a page says on the site, as seen from that page; None where it leads to no page.

    Args:
        here: the page, as a path in docs/ (of the site).
        target: the link, as it is written: seen from where the text stands in the repository.
    """
    stands_at = _STANDS_AT.get(here, f"docs/{here}")
    leads_to = posixpath.normpath(posixpath.join(posixpath.dirname(stands_at), target))
    if leads_to in PAGES:
        page = PAGES[leads_to]
    elif leads_to.startswith("docs/"):
        page = _NOTEBOOK.sub(r"\1.md", leads_to.removeprefix("docs/"))
    else:
        return None
    return posixpath.relpath(page, posixpath.dirname(here) or ".")
