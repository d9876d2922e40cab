"""The reference of the library: every name of ``kanon_sql.__all__``, which mkdocstrings fills from the code."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import kanon_sql

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PAGE = "reference/python.md"
PLACE = "<!-- The names stand here on the site (docs/hooks/python_names.py). -->"
FUNCTIONS, MODELS, RESULTS, ERRORS = "Functions", "Privacy models", "Results and settings", "Errors"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - of mkdocs
    """Put the names into their page."""
    return markdown.replace(PLACE, reference()) if page.file.src_uri == PAGE else markdown


def reference() -> str:
    """Return all names as Markdown, under the headings of what they are."""
    names = [name for name in kanon_sql.__all__ if not name.startswith("_")]
    sections = []
    for heading in (FUNCTIONS, MODELS, RESULTS, ERRORS):
        entries = [_entry(name, heading) for name in names if _heading(name) == heading]
        sections += [f"## {heading}\n", *entries]
    return "\n".join(sections)


def _heading(name: str) -> str:
    named = getattr(kanon_sql, name)
    if not inspect.isclass(named):
        return FUNCTIONS
    if issubclass(named, kanon_sql.KanonError):
        return ERRORS
    return MODELS if named.__module__.startswith("kanon_sql.models.") else RESULTS


def _entry(name: str, heading: str) -> str:
    """Return what mkdocstrings reads: of a model and an error, what it means is shown, not how the search asks it."""
    members = "false" if heading in {MODELS, ERRORS} else "true"
    return f"::: kanon_sql.{name}\n    options:\n      members: {members}\n"
