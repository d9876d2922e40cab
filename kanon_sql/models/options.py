"""How each privacy model is required: its option on the command line, its setting in kanon.toml, its help.

A model declares this in its own file, as ``OPTIONS``, a tuple of ``ModelOption``. A new model is registered by the name
of that file in ``MODULES``.
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
    values: tuple[str, ...]  # the words
    title: str  # of the model, in messages
    metavar: str  # what stands for a word in the help
    text: str  # the help


@dataclass(frozen=True)
class ModelOption:
    """How a model is required: by its option and its setting."""

    name: str  # of the setting in [privacy]; the option of the command line has hyphens for underscores
    model: type[Any]  # its class; one with a method ``about`` is about a sensitive column, which the option may name
    thresholds: tuple[str, ...]  # the fields of the class that are numbers, in the order in which they are written
    metavar: str  # what stands for the thresholds in the help
    text: str  # the help
    whole: tuple[str, ...] = ()  # those of the thresholds that are whole numbers
    variant: Variant | None = None  # a further option that chooses a variant of the model
    is_shown: bool = False  # whether the help shows its option; every other one is recommended as ``--set KEY=VALUE``

    @property
    def names_column(self) -> bool:
        """Whether the model is about a sensitive column."""
        return hasattr(self.model, "about")

    def make(self, values: Sequence[float], column: str | None) -> PrivacyModel:
        """Return the model with these thresholds, about a column."""
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
    """Return the options of every model but k-anonymity, by their names."""
    files = [import_module(f"kanon_sql.models.{module}") for module in MODULES]
    return {option.name: option for file in files for option in file.OPTIONS}
