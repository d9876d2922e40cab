"""The reference of the library: each name of ``kanon_sql`` and ``kanon_sql.dp``, which mkdocstrings fills in."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

import kanon_sql
from kanon_sql import dp

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PAGE = "reference/python.md"
PLACE = "<!-- The names stand here on the site (docs/hooks/python_names.py). -->"
FUNCTIONS, MODELS, RESULTS, ERRORS = "Functions", "Privacy models", "Results and settings", "Errors"
QUESTIONS = "Differential privacy"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - of mkdocs
    """Put the names into their page."""
    return markdown.replace(PLACE, reference()) if page.file.src_uri == PAGE else markdown


def reference() -> str:
    """Return all names as Markdown, under the headings of what they are."""
    names = [name for name in kanon_sql.__all__ if not name.startswith("_") and name != "dp"]
    sections = []
    for heading in (FUNCTIONS, MODELS, RESULTS, ERRORS):
        entries = [_entry(name, heading) for name in names if _heading(name) == heading]
        sections += [f"## {heading}\n", *entries]
    sections += [f"## {QUESTIONS}\n", "::: kanon_sql.dp\n    options:\n      members: []\n"]
    sections += [_entry_of_dp(name) for name in dp.__all__]
    return "\n".join(sections)


def _heading(name: str) -> str:
    named = getattr(kanon_sql, name)
    if not inspect.isclass(named):
        return FUNCTIONS
    if issubclass(named, kanon_sql.KanonError):
        return ERRORS
    return MODELS if named.__module__.startswith("kanon_sql.models.") else RESULTS


def _entry(name: str, heading: str) -> str:
    """Return what mkdocstrings reads of a name.

    Attributes stand in the docstring of their class. Of a model and an error, what it means is shown, not how the
    search asks it.
    """
    named = getattr(kanon_sql, name)
    members = [] if heading in {FUNCTIONS, MODELS, ERRORS} else _methods(named)
    return f"::: kanon_sql.{name}\n    options:\n      members: {members}\n"


def _entry_of_dp(name: str) -> str:
    """Return what mkdocstrings reads of a name of ``kanon_sql.dp``: of a question, what it means, not how it is put."""
    named = getattr(dp, name)
    is_question = inspect.isclass(named) and issubclass(named, dp.Question)
    members = [] if is_question or not inspect.isclass(named) else _methods(named)
    return f"::: kanon_sql.dp.{name}\n    options:\n      members: {members}\n"


def _methods(named: type) -> list[str]:
    """Return the names of what a class can do, or works out, as they stand in its code."""
    kinds = (property, classmethod, staticmethod)
    own = vars(named).items()
    return [
        name for name, member in own if not name.startswith("_") and (isinstance(member, kinds) or callable(member))
    ]
