"""The reference of the command line, made from the typer app: every command with all that it takes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer
from typer.main import get_command

from kanon_sql.cli.main import app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PAGE = "reference/command-line.md"
PLACE = "<!-- The commands stand here on the site (docs/hooks/command_line.py). -->"
_MARKUP = re.compile(r"\[/?(?:bold|italic|dim)\]")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - of mkdocs
    """Put the commands into their page."""
    return markdown.replace(PLACE, reference()) if page.file.src_uri == PAGE else markdown


def reference() -> str:
    """Return all commands as Markdown."""
    root = typer.Context(get_command(app), info_name="kanon")
    return "\n".join(_section(context) for context in _commands(root))


def _commands(context: typer.Context) -> Iterator[typer.Context]:
    """Go through the commands that do something, those of a group after it."""
    group: Any = context.command
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = typer.Context(command, info_name=name, parent=context)
        if hasattr(command, "list_commands"):
            yield from _commands(inner)
        elif not command.hidden:
            yield inner


def _section(context: typer.Context) -> str:
    command: Any = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"## {context.command_path}", _text(command.help), f"```text\n{usage}\n```"]
    for panel, parameters in _panels(command, context).items():
        rows = "\n".join(_row(parameter, context) for parameter in parameters)
        parts.append(f"**{panel}**\n\n| | |\n|---|---|\n{rows}")
    return "\n\n".join([*parts, ""])


def _text(help_text: str) -> str:
    """Return a docstring as Markdown: paragraphs, and the examples in bold as blocks of their own."""
    paragraphs = []
    for paragraph in help_text.strip().split("\n\n"):
        text = _MARKUP.sub("", paragraph).strip()
        paragraphs.append(f"```text\n{text}\n```" if "[bold]kanon" in paragraph else text)
    return "\n\n".join(paragraphs)


def _panels(command: Any, context: typer.Context) -> dict[str, list[Any]]:  # noqa: ANN401 - typer's own command class
    """Return the parameters that are shown, under the headings that the help has for them."""
    panels: dict[str, list[Any]] = {}
    for parameter in command.get_params(context):
        usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
        if not parameter.hidden:
            panels.setdefault(parameter.rich_help_panel or usual, []).append(parameter)
    return panels


def _row(parameter: Any, context: typer.Context) -> str:  # noqa: ANN401 - typer's own parameter class
    name, text = parameter.get_help_record(context)
    cell = _MARKUP.sub("", text or "").replace("|", "\\|").replace("\n", " ")
    cell = re.sub(r"(?<![\w`-])(--?[a-z][\w-]*(?:=\w+)?)", r"`\1`", cell)
    return f"| `{name}` | {cell} |"  # in code, a bar parts no cells
