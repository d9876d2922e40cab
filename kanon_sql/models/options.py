"""Options of the privacy models: on the command line, in kanon.toml, and their help.

A model declares them in its own file, as ``OPTIONS``, a tuple of ``ModelOption``. To register a new model, add the
name of that file to ``MODULES``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.models.base import PrivacyModel

MODULES = (
    "l_diversity",
    "alpha_k_anonymity",
    "t_closeness",
    "beta_likeness",
    "delta_disclosure",
    "population",
    "known_subsets",
)
"""Files of this directory with a model beyond k-anonymity, in the order of the help."""


@dataclass(frozen=True)
class Variant:
    """A further option of a model that chooses one of its variants by a word, such as ``--distance ordered``."""

    name: str  # of the model's field, of the setting and of the option
    values: tuple[str, ...]  # the possible values
    title: str  # of the model, in messages
    metavar: str  # placeholder of a value in the help
    text: str


@dataclass(frozen=True)
class ModelOption:
    """The option and the setting that require a model."""

    name: str  # of the setting in [privacy]; the option of the command line has hyphens for underscores
    model: type[Any]  # its class; one with a method ``about`` has a sensitive column, which the option may name
    thresholds: tuple[str, ...]  # the fields of the class that are numbers, in the order in which they are written
    metavar: str  # placeholder of the thresholds in the help
    text: str
    whole: tuple[str, ...] = ()  # the thresholds that are integers
    variant: Variant | None = None  # a further option that chooses a variant of the model
    is_shown: bool = False  # whether the help shows its option; every other one is recommended as ``--set KEY=VALUE``

    @property
    def names_column(self) -> bool:
        return hasattr(self.model, "about")

    def make(self, values: Sequence[float], column: str | None) -> PrivacyModel:
        if len(values) != len(self.thresholds):
            written = ",".join(self.thresholds)
            raise UsageError(f"It is written {written}: {len(self.thresholds)} numbers, not {len(values)}.")
        given: dict[str, Any] = {
            name: int(value) if name in self.whole and float(value).is_integer() else value
            for name, value in zip(self.thresholds, values, strict=True)
        }
        model: PrivacyModel = self.model(**given)
        return model if column is None else model.about(column)  # type: ignore[attr-defined]  # it names a column


@cache
def model_options() -> Mapping[str, ModelOption]:
    """Return the options of every model except k-anonymity, by their names."""
    files = [import_module(f"kanon_sql.models.{module}") for module in MODULES]
    return {option.name: option for file in files for option in file.OPTIONS}
