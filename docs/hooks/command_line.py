"""The reference of the command line and of the settings, made from the typer app and from what settings declare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import typer

from kanon_sql.cli.commands.settings import listed_settings, told
from kanon_sql.cli.main import root
from kanon_sql.cli.options.keys import keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PAGE = "reference/command-line.md"
PAGE_OF_SETTINGS = "reference/settings.md"
PLACE_OF_SETTINGS = "<!-- The settings stand here on the site (docs/hooks/command_line.py). -->"
PLACE = "<!-- The commands stand here on the site (docs/hooks/command_line.py). -->"
_MARKUP = re.compile(r"\[/?(?:bold|italic|dim)\]")
_SPECIAL = re.compile(r"[\\`*_\[\]]")  # characters that Markdown would read
_OPTION = re.compile(r"(?<![\w`-])(--?[a-z][\w-]*(?:=\w+)?)")  # in a text


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - of mkdocs
    """Put the commands and the settings into their pages."""
    made = {PAGE: (PLACE, reference), PAGE_OF_SETTINGS: (PLACE_OF_SETTINGS, settings)}
    place, text = made.get(page.file.src_uri, ("", str))
    return markdown.replace(place, text()) if place else markdown


def reference() -> str:
    """Return all commands as Markdown."""
    command = root()
    context = typer.Context(command, info_name="kanon", **command.context_settings)
    return "\n".join(_section(inner) for inner in _commands(context))


def settings() -> str:
    """Return all settings as Markdown, by section."""
    lines = []
    section = ""
    for one in listed_settings():
        own, _, name = one["setting"].partition(".")
        if own != section:
            section = own
            lines += ["", f"## {section}", "", "| key | default | meaning |", "|---|---|---|"]
        default = "" if one["default"] is None else f"`{one['default']}`"
        lines.append(f"| `{name}` | {default} | {_as_written(told(one)).replace('|', '&#124;')} |")
    return "\n".join(lines)


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
    shown = [one for one in command.get_params(context) if not one.hidden]
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        items = [_item(one, context) for one in shown if one.param_type_name == kind]
        parts.append("\n".join([f"**{title}**\n", *items]))
    hidden = {key: one for key, one in keys_of(command).items() if one.hidden}
    items = [f"- `{key}` or `{max(one.opts, key=len)}`  \n  {_as_written(one.help)}" for key, one in hidden.items()]
    parts.append("\n".join(["**By `--set KEY=VALUE`, or by an option of its own**\n", *items]))
    return "\n\n".join([*parts, ""])


def _text(help_text: str) -> str:
    """Return a docstring as Markdown: paragraphs, and the examples in bold as blocks of their own."""
    paragraphs = []
    for paragraph in help_text.strip().split("\n\n"):
        text = _MARKUP.sub("", paragraph).strip()
        paragraphs.append(f"```text\n{text}\n```" if "[bold]kanon" in paragraph else _as_written(text))
    return "\n\n".join(paragraphs)


def _item(parameter: Any, context: typer.Context) -> str:  # noqa: ANN401 - typer's own parameter class
    name, text = parameter.get_help_record(context)
    said = _as_written(_MARKUP.sub("", text or "").replace("\n", " "))
    return f"- **`{name}`**  \n  {said}"


def _as_written(text: str) -> str:
    """Return a text as Markdown that shows it as it is, with its options as code."""
    plain = _SPECIAL.sub(r"\\\g<0>", text).replace("<", "&lt;")
    return _OPTION.sub(r"`\1`", plain)
