"""``kanon settings``: each setting of a policy, by its name in kanon.toml."""

from __future__ import annotations

from typing import Any

from kanon_sql.cli.options import shared
from kanon_sql.cli.output.output import print_json, print_prose, print_table
from kanon_sql.models.options import model_options
from kanon_sql.policy.policy import SETTINGS, K


def settings_command(output_format: shared.FormatOption = "table") -> None:
    """List the settings of a policy: what --set KEY=VALUE, kanon.toml and the library take."""
    listed = listed_settings()
    if output_format == "json":
        print_json({"settings": listed})
        return
    rows = [(one["setting"], "" if one["default"] is None else str(one["default"]), _told(one)) for one in listed]
    print_table(["setting", "default", "meaning"], rows, prose="meaning")
    print_prose(
        "On the command line: --set KEY=VALUE, and most have an option of the same name. In kanon.toml: a section, and "
        "a name in it. In Python: the name is a keyword, and models are objects."
    )


def _told(one: dict[str, Any]) -> str:
    about: str = one["about"]
    return about if one["values"] is None else f"{about} One of: {', '.join(one['values'])}."


def listed_settings() -> list[dict[str, Any]]:
    """Return each setting with its section, its default, its values and its meaning."""
    found = [
        {
            "setting": f"{one.section}.{one.name}",
            "default": one.default or None,
            "values": list(one.takes) if isinstance(one.takes, tuple) else None,
            "must_be": one.must,
            "about": one.about,
        }
        for one in (K, *SETTINGS.values())
    ]
    for model in model_options().values():
        for own in (model, model.variant):
            if own is not None:
                values = list(own.values) if own is model.variant else None
                said = {"values": values, "must_be": own.metavar, "about": own.text}
                found.append({"setting": f"privacy.{own.name}", "default": None, **said})
    return sorted(found, key=lambda one: str(one["setting"]).partition(".")[0])
