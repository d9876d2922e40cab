"""What the values of a kanon.toml must be: each function returns the value, or raises a PolicyError that names it."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.files import relative_path
from kanon_sql.errors import PolicyError, UsageError
from kanon_sql.hierarchy.ready import READY
from kanon_sql.hierarchy.rules.texts import PrefixRule
from kanon_sql.hierarchy.spec import FileRule, parse_rule

if TYPE_CHECKING:
    from kanon_sql.hierarchy.spec import Given
    from kanon_sql.policy.destination import Backup


def toml_text(path: Path) -> str:
    """Return the text of a policy file."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PolicyError(f"There is no policy file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyError(f"{path} cannot be read as TOML: {error}.") from None


def toml_document(text: str, path: Path) -> dict[str, Any]:
    """Return what the text of a policy file says; ``path`` is for messages."""
    import tomllib  # most runs read no file of settings

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path} cannot be read as TOML: {error}.") from None


def listed_texts(value: Any, otherwise: str) -> tuple[str, ...]:  # noqa: ANN401 - what a TOML file may hold
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise PolicyError(otherwise)
    return tuple(value)


def column_names(value: Any, where: str) -> tuple[str, ...]:  # noqa: ANN401 - what a TOML file may hold
    return listed_texts(value, f'{where} is a list of column names, as in ["age", "sex"].')


def checked(value: Any, kind: type, where: str) -> Any:  # noqa: ANN401 - what a TOML file may hold
    """Return a value of a kind; None stays None."""
    if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
        kinds = {str: "a text", int: "a whole number", bool: "true or false"}
        raise PolicyError(f"{where} must be {kinds[kind]}.")
    return value


def backup_in(release: dict[str, Any], directory: Path) -> Backup:
    """Return the backup of a section ``[release]``: a file, or false."""
    value = release.get("backup")
    if value is False:
        return False
    if not isinstance(value, str | None) or value == "":
        raise PolicyError("release.backup must be the name of a file, or false.")
    return None if value is None else directory / value


def backup_setting(backup: Backup, directory: Path) -> Any:  # noqa: ANN401 - what a TOML file may hold
    """Return what ``backup_in`` reads as this backup."""
    return relative_path(backup, directory) if backup else backup


def number(value: Any, where: str) -> Any:  # noqa: ANN401 - what a TOML file may hold
    """Return a number; None stays None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value)):
        raise PolicyError(f"{where} must be a number.")
    return value


def threshold(value: Any, where: str) -> float:  # noqa: ANN401 - what a TOML file may hold
    found = number(value, where)
    if found is None:
        raise PolicyError(f"{where} must be a number.")
    return float(found)


def one_of(value: Any, allowed: tuple[str, ...], where: str) -> Any:  # noqa: ANN401 - what a TOML file may hold
    if value is not None and value not in allowed:
        raise PolicyError(f"{where} must be {' or '.join(allowed)}.")
    return value


def max_suppressed_of(value: Any) -> Any:  # noqa: ANN401 - what a TOML file may hold
    return value if isinstance(value, str) else number(value, "search.max_suppressed")


def require_seconds(value: float | None) -> None:
    """Raise where a time limit is none."""
    if value is not None and not value > 0:
        raise UsageError(f"time_limit is a number of seconds greater than 0, not {value:g}.")


def moved_rule(rule: Given, old: Path, new: Path) -> str:
    """Return the rule of a hierarchy, with the path of a file as it is seen from another directory."""
    parsed = parse_rule(rule, old)
    if not isinstance(parsed, FileRule | PrefixRule) or str(rule).startswith(READY):
        return str(rule)
    path = relative_path(Path(parsed.path), new)
    # A file may be called like a rule: ./flat is the file.
    return parsed.with_path(path if os.sep in path else os.path.join(os.curdir, path))  # noqa: PTH118 - a Path would drop the ./


def rule_from_anywhere(rule: str) -> str:
    """Return a rule, with the path of a file as it is from wherever a policy's paths start."""
    parsed = parse_rule(rule)
    ready = rule.startswith(READY)  # a saved policy must not name a file inside this installation
    return parsed.absolute() if isinstance(parsed, FileRule | PrefixRule) and not ready else rule
