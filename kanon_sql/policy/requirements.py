"""Privacy models by the names that people ask for them: on the command line, in kanon.toml.

    --l 3    --t 0.2    --recursive 3,2        about the only sensitive column
    --l diagnosis=3                            about one of several

In kanon.toml the same names stand in [privacy], with underscores: ``l = 3``, or ``l = { diagnosis = 3 }``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from kanon_sql.errors import UsageError
from kanon_sql.measures.shares import read_share
from kanon_sql.models.alpha_k_anonymity import AlphaKAnonymity
from kanon_sql.models.beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
from kanon_sql.models.delta_disclosure import DeltaDisclosure
from kanon_sql.models.delta_presence import DeltaPresence
from kanon_sql.models.distances import Distance
from kanon_sql.models.distinct_l_diversity import DistinctLDiversity
from kanon_sql.models.entropy_l_diversity import EntropyLDiversity
from kanon_sql.models.k_map import KMap
from kanon_sql.models.recursive_cl_diversity import RecursiveCLDiversity
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.models.t_closeness import TCloseness
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kanon_sql.models.base import PrivacyModel


@dataclass(frozen=True)
class Requirement:
    """How a model is asked for.

    Attributes:
        kind: the model.
        fields: its thresholds, in the order in which they are written.
        whole: those of them that are whole numbers.
    """

    kind: type[SensitiveModel | KMap | DeltaPresence]
    fields: tuple[str, ...]
    whole: tuple[str, ...] = ()

    def make(self, values: Sequence[float], column: str | None) -> PrivacyModel:
        """Return the model with these thresholds, about a column.

        Raises:
            UsageError: there are too many or too few of them, or one is no such number.
        """
        if len(values) != len(self.fields):
            raise UsageError(f"It is written {','.join(self.fields)}: {len(self.fields)} numbers, not {len(values)}.")
        given: dict[str, Any] = {
            name: int(value) if name in self.whole and float(value).is_integer() else value
            for name, value in zip(self.fields, values, strict=True)
        }
        model = self.kind(**given)
        return model.about(column) if column is not None and isinstance(model, SensitiveModel) else model

    def values(self, model: PrivacyModel) -> list[float]:
        """Return the thresholds of a model of this kind."""
        return [getattr(model, name) for name in self.fields]


REQUIREMENTS: dict[str, Requirement] = {
    "l": Requirement(DistinctLDiversity, ("l",), ("l",)),
    "entropy_l": Requirement(EntropyLDiversity, ("l",)),
    "recursive": Requirement(RecursiveCLDiversity, ("c", "l"), ("l",)),
    "alpha": Requirement(AlphaKAnonymity, ("alpha",)),
    "t": Requirement(TCloseness, ("t",)),
    "beta": Requirement(BasicBetaLikeness, ("beta",)),
    "enhanced_beta": Requirement(EnhancedBetaLikeness, ("beta",)),
    "delta": Requirement(DeltaDisclosure, ("delta",)),
    "k_map": Requirement(KMap, ("k",), ("k",)),
    "presence": Requirement(DeltaPresence, ("delta_min", "delta_max")),
}
"""Every model but k-anonymity, by the name that it is asked for by."""


_KINDS = {requirement.kind for requirement in REQUIREMENTS.values()}


def parse_requirement(name: str, text: str) -> PrivacyModel:
    """Return the model that a text asks for: thresholds with commas between, after a column and = or alone.

    Raises:
        UsageError: it is written in another way, or a threshold is not allowed.
    """
    column, _, numbers = text.rpartition("=")
    option = f"--{name.replace('_', '-')}"
    try:
        values = [read_share(number) for number in numbers.split(",")]
    except ValueError:
        fields = ",".join(REQUIREMENTS[name].fields)
        raise UsageError(f"{option} is written {fields.upper()} or COLUMN={fields.upper()}, not {text!r}.") from None
    if column and not issubclass(REQUIREMENTS[name].kind, SensitiveModel):
        raise UsageError(f"{option} is not about a column: leave {column!r} out.")
    return made(name, values, column or None, option)


def made(name: str, values: Sequence[float], column: str | None, where: str) -> PrivacyModel:
    """Return a model by its name; what is wrong with its thresholds is said with where they stand.

    Raises:
        UsageError: a threshold is not allowed.
    """
    try:
        return REQUIREMENTS[name].make(values, column)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def require_one_each(models: Iterable[PrivacyModel], where: str) -> None:
    """Raise where two models of a kind are about one column: a policy file has room for one, and the other would go.

    Raises:
        UsageError: there are two; or one names no column, which may be that of another.
    """
    by_kind: dict[type, list[str | None]] = {}
    for model in models:
        by_kind.setdefault(type(model), []).append(None if model.sensitive is None else folded(model.sensitive))
    for kind, columns in by_kind.items():
        if len(set(columns)) < len(columns) or (None in columns and len(columns) > 1):
            name = next(name for name, requirement in REQUIREMENTS.items() if requirement.kind is kind)
            raise UsageError(
                f"{where} asks for {name} of one column twice: give it once for each column, with its name."
            )


def with_distances(
    models: Iterable[PrivacyModel], texts: Iterable[str], where: str = "--distance"
) -> tuple[PrivacyModel, ...]:
    """Return models with the distances that texts name for t-closeness: ``ordered``, or ``salary=ordered``.

    Args:
        models: all of them.
        texts: the distances.
        where: where they stand.

    Raises:
        UsageError: a distance is none, or there is no t-closeness that it could be for.
    """
    found = list(models)
    for text in texts:
        column, _, distance = text.rpartition("=")
        if distance not in get_args(Distance):
            raise UsageError(f"{where} is {', '.join(get_args(Distance))}, for one column or all; not {distance!r}.")
        places = [
            place
            for place, model in enumerate(found)
            if isinstance(model, TCloseness) and (not column or folded(model.sensitive or "") == folded(column))
        ]
        if not places:
            raise UsageError(f"{where} is for t-closeness{f' of {column!r}' if column else ''}: give t too.")
        for place in places:
            found[place] = replace(found[place], distance=distance)  # type: ignore[type-var]  # a TCloseness
    return tuple(found)


def replacing(models: Sequence[PrivacyModel], new: Sequence[PrivacyModel]) -> tuple[PrivacyModel, ...]:
    """Return models with new ones, each instead of those of its kind about the same column."""

    def replaced(model: PrivacyModel) -> bool:
        return any(
            type(one) is type(model) and folded(one.sensitive or "") == folded(model.sensitive or "") for one in new
        )

    return (*(model for model in models if not replaced(model)), *new)


def from_settings(settings: Mapping[str, Any], checked: Callable[[Any, str], float]) -> tuple[PrivacyModel, ...]:
    """Return the models that a section [privacy] asks for, but for k.

    Args:
        settings: by their names, as the file has them.
        checked: returns a number of the file, or complains of where it stands.

    Raises:
        UsageError: a threshold or a distance is not allowed.
    """
    models: list[PrivacyModel] = []
    for name, requirement in REQUIREMENTS.items():
        if (setting := settings.get(name)) is None:
            continue
        by_column = setting if isinstance(setting, dict) else {None: setting}
        if not by_column or (None not in by_column and not issubclass(requirement.kind, SensitiveModel)):
            raise UsageError(f"privacy.{name} names {'a' if by_column else 'no'} column: it is written {name} = ...")
        for column, value in by_column.items():
            where = f"privacy.{name}" + (f".{column}" if column else "")
            listed = value if isinstance(value, list) else [value]
            models.append(made(name, [checked(number, where) for number in listed], column, where))
    distance = settings.get("distance", {})
    texts = [f"{column}={one}" for column, one in distance.items()] if isinstance(distance, dict) else [str(distance)]
    require_one_each(models, "[privacy]")
    return with_distances(models, texts, "privacy.distance")


def to_settings(models: Sequence[PrivacyModel]) -> dict[str, Any]:
    """Return what a section [privacy] has of these models, but for k.

    Raises:
        UsageError: it has no room for two models of a kind about one column.
    """
    require_one_each((model for model in models if type(model) in _KINDS), "The policy")
    settings: dict[str, Any] = {}
    for name, requirement in REQUIREMENTS.items():
        for model in models:
            if type(model) is not requirement.kind:
                continue
            values = requirement.values(model)
            value: Any = values[0] if len(values) == 1 else values
            if model.sensitive is None:
                settings[name] = value
            else:
                settings.setdefault(name, {})[model.sensitive] = value
    for model in models:
        if not isinstance(model, TCloseness) or model.distance is None:
            continue
        if model.sensitive is None:
            settings["distance"] = model.distance
        else:
            settings.setdefault("distance", {})[model.sensitive] = model.distance
    return settings
