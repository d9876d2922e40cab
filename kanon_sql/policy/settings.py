"""Settings of a policy, each declared once, and checks for the other values of a kanon.toml.

A setting is a field of ``SetPolicy`` or ``Destination`` that ``setting`` declares. Its keyword, option, key in
kanon.toml, line in ``kanon settings`` and error sentence all derive from it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kanon_sql.engine.files import relative_path
from kanon_sql.errors import PolicyError, UsageError, did_you_mean
from kanon_sql.hierarchy.rules import ListedRule
from kanon_sql.hierarchy.spec import parse_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kanon_sql.hierarchy.spec import Given

Read = TypeVar("Read")


@dataclass(frozen=True)
class Setting:
    """A setting that is one value.

    Attributes:
        about: one line of help.
        section: section of kanon.toml.
        takes: allowed words, or the type of its option.
        name: name of the field and the keyword.
        key: key in kanon.toml and for ``--set``; the option has hyphens for underscores. By default, the name.
        also: further JSON types that kanon.toml accepts.
        must: the requirement on a value, for errors; by default, derived from ``takes``.
        read: returns the value of a policy, or raises a ValueError; None keeps the given value.
        is_written: True if a written kanon.toml includes it even if it has its default.
        is_shown: True if the help shows its option; others are recommended as ``--set KEY=VALUE``.
        in_sets: True if a policy of several tables has it too.
    """

    about: str
    section: str
    takes: type | tuple[str, ...]
    default: Any = None
    name: str = ""
    key: str = ""
    also: tuple[str, ...] = ()
    must: str | None = None
    read: Callable[[Any], Any] | None = None
    metavar: str | None = None
    is_written: bool = False
    is_shown: bool = False

    @property
    def option(self) -> str:
        return f"--{self.key.replace('_', '-')}"

    @property
    def must_be(self) -> str:
        return self.must or (_KINDS[self.takes] if isinstance(self.takes, type) else either(self.takes))

    def value(self, given: Any) -> Any:  # noqa: ANN401 - of each setting its own
        """Return the policy value for a given value, or raise a UsageError."""
        if given == self.default and type(given) is type(self.default):
            return given
        with suppress(TypeError, ValueError):
            if self._may_be(given):
                return given if self.read is None else self.read(given)
        meant = did_you_mean(str(given), self.takes) if isinstance(self.takes, tuple) else ""
        raise UsageError(f"{self.key} must be {self.must_be}. Got {given!r}.{meant}")

    def of_text(self, text: str) -> Any:  # noqa: ANN401 - as above
        """Return the value for a text of ``--set``, or raise a UsageError."""
        given: Any = text
        if self.takes in {int, float, bool, Path}:
            with suppress(ValueError, KeyError):  # the last line raises instead
                given = {"true": True, "false": False}[text] if self.takes is bool else self.takes(text)
        return self.value(given)

    def _may_be(self, given: Any) -> bool:  # noqa: ANN401 - as above
        if isinstance(self.takes, tuple):
            return given in self.takes
        is_kind = isinstance(given, self.takes) and isinstance(given, bool) == (self.takes is bool)
        return is_kind or self.read is not None


_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", Path: "the path of a file"}


def either(words: tuple[str, ...]) -> str:
    return " or ".join((", ".join(words[:-1]), words[-1]))


def setting(about: str, section: str, takes: type | tuple[str, ...], **more: Any) -> Any:  # noqa: ANN401 - a field
    """Declare a setting (see ``Setting``) as a field of a dataclass."""
    return as_declared(Setting(about, section, takes, **more))


def as_declared(one: Setting) -> Any:  # noqa: ANN401 - as above
    """Declare a setting of another policy as a field."""
    return field(default=one.default, metadata={"setting": one})


def settings_of(policy: type) -> dict[str, Setting]:
    """Return the settings that a policy declares, by name."""
    declared = {one.name: one.metadata["setting"] for one in fields(policy) if "setting" in one.metadata}
    return {name: replace(one, name=name, key=one.key or name) for name, one in declared.items()}


def check_settings(policy: Any, settings: Mapping[str, Setting]) -> None:  # noqa: ANN401 - of one table or of several
    """Normalize the settings of a policy in place, or raise a UsageError."""
    for name, one in settings.items():
        object.__setattr__(policy, name, one.value(getattr(policy, name)))


def settings_in(document: Mapping[str, Any], settings: Mapping[str, Setting], directory: Path) -> dict[str, Any]:
    """Return the settings from a kanon.toml in a directory."""
    found = {}
    for name, one in settings.items():
        value = document.get(one.section, {}).get(one.key)
        if value is not None:
            is_path = one.takes is Path and isinstance(value, str) and value
            found[name] = directory / value if is_path else value
    return found


def settings_by_section(
    policy: Any,  # noqa: ANN401 - as above
    settings: Mapping[str, Setting],
    directory: Path,
) -> dict[str, dict[str, Any]]:
    """Return the settings of a policy by section, for a kanon.toml in a directory."""
    found: dict[str, dict[str, Any]] = {"privacy": {}, "search": {}, "release": {}}
    for name, one in settings.items():
        value = getattr(policy, name)
        if value is not None and (one.is_written or value != one.default):
            found[one.section][one.key] = relative_path(value, directory) if isinstance(value, Path) else value
    return found


def names_in(section: str, settings: Mapping[str, Setting]) -> set[str]:
    """Return the keys of the settings in a section of kanon.toml."""
    return {one.key for one in settings.values() if one.section == section}


def require_known(document: Mapping[str, Any], sections: Mapping[str, set[str]], others: tuple[str, ...]) -> None:
    """Raise an error for an unknown section or setting of a kanon.toml. Settings of ``others`` may have any name."""
    known = (*sections, *others)
    for section, settings in document.items():
        if section not in known or not isinstance(settings, dict):
            raise UsageError(f"[{section}] is not a section. Sections are {', '.join(known)}.")
        if unknown := set(settings) - sections.get(section, set(settings)):
            raise UsageError(f"[{section}] has no setting {', '.join(sorted(unknown))}.")


def positive(value: Any) -> Any:  # noqa: ANN401 - any value
    """Return a value if it is a number above 0, or raise a ValueError."""
    if isinstance(value, bool | str) or not value > 0:
        raise ValueError
    return value


def toml_document(path: Path, text: str | None = None) -> dict[str, Any]:
    """Parse a policy file, or a text that will become one."""
    import tomllib  # most runs read no settings file

    try:
        return tomllib.loads(path.read_text(encoding="utf-8") if text is None else text)
    except FileNotFoundError:
        raise PolicyError(f"There is no policy file {path}.") from None
    except (OSError, ValueError) as error:
        raise PolicyError(f"{path} cannot be read as TOML: {error}.") from None


def parsed(path: Path, text: str | None, read: Callable[[dict[str, Any], Path], Read]) -> Read:
    """Parse a policy file or text and pass it to ``read``. Errors name the file."""
    document = toml_document(path, text)
    try:
        return read(document, path.parent)
    except UsageError as error:
        raise PolicyError(f"{path}: {error}") from None


def column_names(value: Any, where: str) -> tuple[str, ...]:  # noqa: ANN401 - any TOML value
    return listed_texts(value, f'{where} is a list of column names, as in ["age", "sex"].')


def listed_texts(value: Any, otherwise: str) -> tuple[str, ...]:  # noqa: ANN401 - as above
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise PolicyError(otherwise)
    return tuple(value)


def checked(value: Any, kind: type | tuple[str, ...], where: str) -> Any:  # noqa: ANN401 - as above
    """Return a value of a type, or one of some words. None stays None."""
    if isinstance(kind, tuple):
        is_one = value in kind
    else:
        is_one = isinstance(value, (int, float) if kind is float else kind) and isinstance(value, bool) == (
            kind is bool
        )
    if value is not None and not is_one:
        raise PolicyError(f"{where} must be {' or '.join(kind) if isinstance(kind, tuple) else _KINDS[kind]}.")
    return value


def toml_of(document: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of a kanon.toml, without None values and empty sections."""
    import tomli_w

    given = {name: {key: one for key, one in section.items() if one is not None} for name, section in document.items()}
    return tomli_w.dumps({name: section for name, section in given.items() if section})


def moved_rules(rules: Mapping[str, Given], old: Path, new: Path) -> dict[str, str]:
    """Return hierarchy rules with file paths relative to another directory."""
    return {name: _moved(rule, old, new) for name, rule in rules.items()}


def _moved(rule: Given, old: Path, new: Path) -> str:
    parsed = parse_rule(rule, old)
    if not isinstance(parsed, ListedRule):
        return str(rule)
    if parsed.is_ready_made:
        return str(parsed)
    path = relative_path(Path(parsed.path), new)
    # A file may have the name of a rule: ./flat is the file.
    return parsed.with_path(path if os.sep in path else os.path.join(os.curdir, path))  # noqa: PTH118 - a Path would drop the ./


def rule_from_anywhere(rule: str) -> str:
    """Return a rule whose file path does not depend on where a policy's paths start."""
    parsed = parse_rule(rule)
    return parsed.absolute() if isinstance(parsed, ListedRule) else rule
