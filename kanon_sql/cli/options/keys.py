"""``--set KEY=VALUE``: a key for each option of a command. If it is a setting of kanon.toml, it has the same key.

The help shows the options that most people need; messages recommend all others by key.
"""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_sql.errors import UsageError, did_you_mean, outside_commands

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES = {
    "id": "identifying",
    "qi": "quasi_identifiers",
    "keep": "insensitive",
    "standard": "standards",
    "out-encoding": "encoding",
    "out-decimal": "decimal",
    "encoding": "source.encoding",
    "decimal": "source.decimal_separator",
    "into-schema": "release.into_schema",
    "out-dir": "release.out_directory",
}
"""Keys of options that are not the same word."""
BY_NAME = {
    "source": "read",
    "hierarchies": "hierarchy",
    "prepare": "prepare",
    "publish": "publish",
    "levels": "levels",
    "weights": "weight",
}
"""Sections whose keys are names of columns or of layout settings, and the option that sets them."""
_RUN = "run"
"""The section of keys of options that apply to one run."""
hidden: ContextVar[Mapping[str, tuple[str, Any]]] = ContextVar("hidden", default={})  # noqa: B039 - never changed
"""Options that the help of the running command does not show, each with its key."""


def key_of(option: str) -> str:
    """Return the key of an option: ``--beta`` is privacy.beta, ``--publish`` publish, ``--threads`` run.threads."""
    from kanon_sql.policy.policy import SECTIONS

    bare = option.lstrip("-")
    name = _NAMES.get(bare, bare.replace("-", "_"))
    if "." in name or name in BY_NAME.values():
        return next((section for section, one in BY_NAME.items() if one == name), name)
    found = (section for section, names in SECTIONS.items() if name in names and section != "source")
    return f"{next(found, _RUN)}.{name}"


def keys_of(command: Any) -> dict[str, Any]:  # noqa: ANN401 - typer's own class of commands
    options = (one for one in command.params if one.param_type_name == "option" and one.name != "settings")
    return {key_of(max(one.opts, key=len)): one for one in options}


def _take(context: typer.Context, texts: list[str] | None) -> list[str] | None:
    """Set the values of other options from ``--set``, as if they were typed."""
    if context.resilient_parsing or not texts:
        return texts
    found: dict[str, Any] = {}
    options = keys_of(context.command)
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not value:
            raise UsageError("--set is written KEY=VALUE, such as --set search.cut=node.")
        option, value = _meant(key.strip(), value, options)
        if option.multiple:
            found.setdefault(option.name, []).append(value)
        elif option.name in found:
            raise UsageError(f"--set gives {option.name} twice.")
        else:
            found[option.name] = value
    context.default_map = found
    return texts


def _meant(key: str, value: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the option for a key, and its value."""
    section, dot, rest = key.partition(".")
    if dot and section in BY_NAME and section in options and key not in options:
        return options[section], f"{rest}={value}"
    names = {one.rpartition(".")[2]: one for one in options if not one.startswith("source.")}
    found = options.get(key if dot else names.get(key, ""))
    if found is None or key in BY_NAME:
        meant = did_you_mean(key.rpartition(".")[2], names, lambda near: names[near])
        raise UsageError(f"There is no setting {key!r}.{meant} kanon settings lists all.")
    from kanon_sql.policy.policy import ALL_SETTINGS

    one = ALL_SETTINGS.get(key.rpartition(".")[2])
    if found.hidden and one is not None:
        one.of_text(value)  # raises a better message than typer
    if found.name == "backup" and value == "false":  # as in kanon.toml: no copy of the raw rows
        if "run.no_backup" not in options:
            raise UsageError("No copy is made without --backup FILE: leave --set backup=false out.")
        return options["run.no_backup"], "true"
    return found, value


SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        is_eager=True,
        callback=_take,
        help="Any other setting: search.cut=node (kanon settings lists all).",
    ),
]


def refuse_twice(context: typer.Context) -> None:
    """Raise an error for a setting that is given by its option and by ``--set``."""
    for name in context.default_map or ():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"{name} is given twice: by its option, and by --set.")


def note_hidden(command: Any, arguments: list[str]) -> None:  # noqa: ANN401 - typer's own class of commands
    """Find the options that messages recommend by key: those that the help of a command hides and nobody typed.

    A typed name of a file or column may look like an option too.
    """
    typed = "\n".join(arguments)
    found = ((key, one) for key, one in keys_of(command).items() if one.hidden)
    hidden.set(
        {max(one.opts, key=len): (key, one) for key, one in found if not any(name in typed for name in one.opts)}
    )


_OPTION = re.compile(
    r"""(?<!\w)'[^'\n]*'(?!\w)|"[^"\n]*"|(?<![\w-])(--[a-z][a-z-]*)(?:[ =](['"]?)([\w|]+(?:[=.:][\w:]+)*(?![\w-])))?"""
)
"""A text in quotes, or an option and its value."""


def recommended(text: str) -> str:
    """Replace options that the help does not show by ``--set KEY=VALUE`` in a message.

    Names in quotes are the user's and stay unchanged.
    """
    if "--" not in text or not hidden.get():
        return text
    return outside_commands(text, lambda part: _OPTION.sub(_by_key, part))


def _by_key(found: re.Match[str]) -> str:
    name, quote, word = found.groups()
    if name not in hidden.get():
        return found[0]
    key, option = hidden.get()[name]
    choices = str(option.metavar or "").split("|") if option.is_flag else option.type_descriptor.choices or ()
    joint = "." if key in BY_NAME else "="
    if word is not None and (quote or word in choices or "=" in word or not word.islower()):
        return f"--set {quote}{key}{joint}{word}"
    value = "true" if option.is_flag else option.metavar or "|".join(choices) or "VALUE"
    return f"--set {key}{joint}{value}{found[0].removeprefix(name)}"
