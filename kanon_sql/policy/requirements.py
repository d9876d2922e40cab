"""Privacy models by option name (``kanon_sql.models.options``): on the command line and in kanon.toml.

    --l 3    --t 0.2    --recursive 3,2        for the only sensitive column
    --l diagnosis=3                            for one of several

In kanon.toml the same names are keys of [privacy], with underscores: ``l = 3``, or ``l = { diagnosis = 3 }``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kanon_sql.errors import UsageError
from kanon_sql.measures.shares import read_share
from kanon_sql.models.options import ModelOption, model_options
from kanon_sql.policy.settings import checked
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kanon_sql.models.base import PrivacyModel


def with_required_models(
    of_file: Sequence[PrivacyModel], texts: Mapping[str, Sequence[str]]
) -> tuple[PrivacyModel, ...]:
    """Return the models of a policy file, with those of the command line in place of models of the same kind.

    ``texts`` are the values typed for each option, by its name in ``model_options``.
    """
    options = model_options()
    new = [_parsed(option, text) for name, option in options.items() for text in texts.get(name, ())]
    _require_one_each(new, "The command line")
    replaced = {(type(model), folded(model.sensitive or "")) for model in new}
    kept = [model for model in of_file if (type(model), folded(model.sensitive or "")) not in replaced]
    return _with_variants([*kept, *new], lambda name: texts.get(name, ()), "--")


def _parsed(option: ModelOption, text: str) -> PrivacyModel:
    """Parse a model: comma-separated thresholds, alone or after a column and =."""
    column, _, numbers = text.rpartition("=")
    flag = f"--{option.name.replace('_', '-')}"
    try:
        values = [read_share(number) for number in numbers.split(",")]
    except ValueError:
        written = ",".join(option.thresholds).upper()
        of_column = f" or COLUMN={written}" if option.names_column else ""
        raise UsageError(f"{flag} is written {written}{of_column}, not {text!r}.") from None
    if column and not option.names_column:
        raise UsageError(f"{flag} is not about a column: leave {column!r} out.")
    return _made(option, values, column or None, flag)


def _made(option: ModelOption, values: Sequence[float], column: str | None, where: str) -> PrivacyModel:
    """Return a model. Messages about its thresholds start with ``where``."""
    try:
        return option.make(values, column)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _require_one_each(models: Iterable[PrivacyModel], where: str) -> None:
    """Raise an error if two models of a kind are about one column: a policy file can hold only one of them.

    A model that names no column may be about the column of another one.
    """
    by_kind: dict[type, list[str | None]] = {}
    for model in models:
        by_kind.setdefault(type(model), []).append(None if model.sensitive is None else folded(model.sensitive))
    for kind, columns in by_kind.items():
        if len(set(columns)) < len(columns) or (None in columns and len(columns) > 1):
            name = next(name for name, option in model_options().items() if option.model is kind)
            raise UsageError(
                f"{where} asks for {name} of one column twice: give it once for each column, with its name."
            )


def _with_variants(
    models: list[PrivacyModel], texts_of: Callable[[str], Iterable[str]], prefix: str
) -> tuple[PrivacyModel, ...]:
    """Return models with the variants in the texts: ``ordered`` for all of a kind, or ``salary=ordered``.

    ``prefix`` precedes the name of a variant in messages.
    """
    for option in model_options().values():
        if (variant := option.variant) is None:
            continue
        for text in texts_of(variant.name):
            column, _, value = text.rpartition("=")
            where = f"{prefix}{variant.name}"
            if value not in variant.values:
                raise UsageError(f"{where} is {', '.join(variant.values)}, for one column or all; not {value!r}.")
            places = [
                place
                for place, model in enumerate(models)
                if type(model) is option.model and (not column or folded(model.sensitive or "") == folded(column))
            ]
            if not places:
                of_column = f" of {column!r}" if column else ""
                raise UsageError(f"{where} is for {variant.title}{of_column}: give {option.name} too.")
            for place in places:
                models[place] = replace(models[place], **{variant.name: value})  # type: ignore[type-var]  # a dataclass
    return tuple(models)


def from_settings(settings: Mapping[str, Any]) -> tuple[PrivacyModel, ...]:
    """Return the models that a section [privacy] requires, except k."""
    models: list[PrivacyModel] = []
    for name, option in model_options().items():
        if (setting := settings.get(name)) is None:
            continue
        by_column = setting if isinstance(setting, dict) else {None: setting}
        if not by_column or (None not in by_column and not option.names_column):
            raise UsageError(f"privacy.{name} names {'a' if by_column else 'no'} column: it is written {name} = ...")
        for column, value in by_column.items():
            where = f"privacy.{name}" + (f".{column}" if column else "")
            listed = value if isinstance(value, list) else [value]
            if any(number is None or checked(number, float, where) != number for number in listed):  # NaN
                raise UsageError(f"{where} must be a number.")
            models.append(_made(option, [float(number) for number in listed], column, where))
    _require_one_each(models, "[privacy]")

    def texts_of(variant: str) -> list[str]:
        words = settings.get(variant, {})
        return [f"{column}={word}" for column, word in words.items()] if isinstance(words, dict) else [str(words)]

    return _with_variants(models, texts_of, "privacy.")


def to_settings(models: Sequence[PrivacyModel]) -> dict[str, Any]:
    """Return the entries of these models in a section [privacy], except k."""
    options = model_options()
    kinds = {option.model for option in options.values()}
    _require_one_each((model for model in models if type(model) in kinds), "The policy")
    settings: dict[str, Any] = {}
    for name, option in options.items():
        for model in models:
            if type(model) is not option.model:
                continue
            values = [getattr(model, threshold) for threshold in option.thresholds]
            found = {name: values[0] if len(values) == 1 else values}
            if option.variant is not None and (word := getattr(model, option.variant.name)) is not None:
                found[option.variant.name] = word
            for setting, value in found.items():
                if model.sensitive is None:
                    settings[setting] = value
                else:
                    settings.setdefault(setting, {})[model.sensitive] = value
    return settings


def model_settings() -> set[str]:
    return {
        setting.name
        for option in model_options().values()
        for setting in (option, option.variant)
        if setting is not None
    }
