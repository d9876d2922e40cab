"""The JSON Schema of kanon.toml, generated from the declared settings. Editors complete and check the file with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from kanon_sql.models.options import model_options
from kanon_sql.policy.member import BY_COLUMN
from kanon_sql.policy.policy import ALL_SETTINGS, SECTIONS, TABLES
from kanon_sql.policy.roles import Rest

if TYPE_CHECKING:
    from kanon_sql.policy.settings import Setting

SHIPPED = Path(__file__).with_name("kanon.schema.json")
FIRST_LINE = "#:schema kanon.schema.json\n"
"""The first line of a kanon.toml. Editors look for that file beside it (``kanon settings --format schema``)."""
_TYPES: dict[Any, str] = {int: "integer", float: "number", bool: "boolean", str: "string", Path: "string"}
_NUMBER = {"type": "number"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_ONE_OR_SEVERAL = {"type": ["string", "array"]}
_COLUMNS = {"rest": {"enum": [*get_args(Rest)]}, "entity": {"type": "string"}}
_PRIVACY = {"population": {"type": "string"}, "standards": _TEXTS, "km": {"type": "integer"}}
_OF_TABLES = {"into_schema": {"type": "string"}, "out_directory": {"type": "string"}}
_VALUES = {
    "prepare": _ONE_OR_SEVERAL,
    "publish": _ONE_OR_SEVERAL,
    "levels": {"type": ["integer", "string"]},
    "weights": {"type": ["number", "string"]},
}


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a kanon.toml for one table. With several tables, [tables] is not checked."""
    declared: dict[str, dict[str, Any]] = {
        section: {name: {} for name in sorted(SECTIONS[section])} for section in SECTIONS
    }
    declared["columns"] = dict.fromkeys(declared["columns"], _TEXTS) | _COLUMNS
    for one in ALL_SETTINGS.values():
        declared[one.section][one.key] = _of_setting(one)
    declared["privacy"] |= _PRIVACY | _of_models()
    declared["release"] |= _OF_TABLES
    sections = {
        section: {"type": "object", "properties": names, "additionalProperties": False}
        for section, names in declared.items()
    }
    by_column = {section: {"type": "object", "additionalProperties": _VALUES.get(section, {})} for section in BY_COLUMN}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "kanon.toml",
        "type": "object",
        "properties": {**sections, **by_column, TABLES: {"type": "object"}},
        "additionalProperties": False,
    }


def _of_setting(one: Setting) -> dict[str, Any]:
    kind = {"enum": [*one.takes]} if isinstance(one.takes, tuple) else {"type": [_TYPES[one.takes], *one.also]}
    default = {} if one.default in {None, ""} else {"default": one.default}
    return {"description": one.about, **kind, **default}


def _of_models() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, option in model_options().items():
        value: dict[str, Any] = (
            {"type": "number"} if len(option.thresholds) == 1 else {"type": "array", "items": {"type": "number"}}
        )
        own = {name: (option.text, value)}
        if (variant := option.variant) is not None:
            own[variant.name] = (variant.text, {"enum": [*variant.values]})
        for key, (text, one) in own.items():
            by_column = [{"type": "object", "additionalProperties": one}] if option.names_column else []
            found[key] = {"description": text, "anyOf": [one, *by_column]}
    return found
