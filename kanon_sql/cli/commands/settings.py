"""``kanon settings``: every key of --set and kanon.toml."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from kanon_sql.cli.options.keys import BY_NAME, keys_of
from kanon_sql.cli.output.output import print_json, print_prose, print_table
from kanon_sql.models.options import model_options
from kanon_sql.policy.policy import ALL_SETTINGS

SECTIONS = (
    *("columns", "hierarchies", "prepare", "publish", "levels", "weights", "source", "privacy", "search", "release"),
    "run",
)
"""In listing order; keys in run apply to one run and are not in kanon.toml."""


def settings_command(
    output_format: Annotated[
        Literal["table", "json", "schema"],
        typer.Option("--format", help="Format of the results; schema is the JSON Schema of kanon.toml."),
    ] = "table",
) -> None:
    """List the settings of a policy: what --set KEY=VALUE, kanon.toml and the library take."""
    if output_format == "schema":
        from kanon_sql.policy.schema import schema

        print_json(schema())
        return
    listed = listed_settings()
    if output_format == "json":
        print_json({"settings": listed})
        return
    rows = [(one["setting"], "" if one["default"] is None else str(one["default"]), told(one)) for one in listed]
    print_table(["setting", "default", "meaning"], rows, prose="meaning")
    print_prose(
        "On the command line: --set KEY=VALUE. In kanon.toml: a section, and a name in it, but for run, which belongs "
        "to one run. In Python: the name is a keyword, and models are objects."
    )


def told(one: dict[str, Any]) -> str:
    """Return the meaning of a setting with its values."""
    about: str = one["about"]
    return about if one["values"] is None else f"{about} One of: {', '.join(one['values'])}."


def listed_settings() -> list[dict[str, Any]]:
    """Return each setting with its section, default, values and meaning."""
    found: dict[str, dict[str, Any]] = {
        f"{one.section}.{one.key}": {
            "default": one.default or None,
            "values": list(one.takes) if isinstance(one.takes, tuple) else None,
            "must_be": one.must_be,
            "about": one.about,
        }
        for one in ALL_SETTINGS.values()
    }
    for model in model_options().values():
        for own in (model, model.variant):
            if own is not None:
                values = list(own.values) if own is model.variant else None
                found[f"privacy.{own.name}"] = {
                    "default": None,
                    "values": values,
                    "must_be": own.metavar,
                    "about": own.text,
                }
    for key, option in _other_options().items():
        found.setdefault(
            f"{key}.{'KEY' if key == 'source' else 'COLUMN'}" if key in BY_NAME else key,
            {"default": None, "values": None, "must_be": option.metavar, "about": option.help},
        )
    listed = [{"setting": key, **one} for key, one in found.items()]
    return sorted(listed, key=lambda one: SECTIONS.index(str(one["setting"]).partition(".")[0]))


def _other_options() -> dict[str, Any]:
    """Return options of ``kanon anonymize`` by key: those of kanon.toml, and those that its help hides."""
    from kanon_sql.cli.main import root

    options = keys_of(root().get_command(typer.Context(root()), "anonymize"))
    return {key: one for key, one in options.items() if one.hidden or not key.startswith("run.")}
