"""k-anonymity of every m columns: each published combination of values of m quasi-identifiers is shared by k rows.

For tables with more quasi-identifiers than an attacker knows about a person. Terrovitis, Mamoulis & Kalnis (2008)
have the model for sets of items, as k^m-anonymity. Here only the release counts: a suppressed row is in no class.

This is not a condition on one class of all columns. But among all sets of rows in which every class by m columns has k
members (rows, or distinct people) there is a greatest one: the union of two such sets is another, since each of its
classes has all rows of a class of one of them. To find it, remove rows in classes of fewer than k members until there
are none: no row of such a set is ever removed, because its classes are part of the current ones. Rows that
are alike in all columns stay or go together. So a node has, for each of its classes, a *shared* number: the members of
the smallest class by m columns that it is part of, or none if the class is removed. With that number, the model is a
condition on one class.

A step of a local recoding publishes, at its node, the greatest such set of the remaining rows. The rows that remain
after the last step are suppressed. All published rows together satisfy the model: a class of the release by m columns
has all rows of a class of some step, which has k members, and more rows only add to them.

Monotone, with suppression: a set of rows that satisfies it at a node does so at every node above, where classes are
unions. So the greatest set only grows upwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from kanon_sql.errors import counted
from kanon_sql.models.base import PrivacyModel
from kanon_sql.models.options import ModelOption
from kanon_sql.models.population import KMap
from kanon_sql.models.sensitive import checked_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sqlglot import exp

_NAMED = "k-anonymity of any "


@dataclass(frozen=True)
class KnownSubsets(PrivacyModel):
    """Every class by ``m`` quasi-identifiers has at least ``k`` members; so has every class by fewer.

    Attributes:
        m: maximum number of quasi-identifiers that are known about a person; all of them, if there are fewer.
        k: minimum number of members. None takes the k of the policy, which then applies to these classes alone.
        entity: the column that identifies the person of a row, if members are distinct people.
    """

    m: int
    k: int | None = None
    entity: str | None = None

    letter: ClassVar[str] = "k"
    monotone: ClassVar[bool] = True
    file: ClassVar[str] = "models/k_anonymity"

    def __post_init__(self) -> None:
        checked_count(self.m, "the number of known columns")
        if self.k is not None:
            checked_count(self.k, "k")

    @property
    def name(self) -> str:
        """With the number of columns: the threshold is k."""
        return f"{_NAMED}{counted(self.m, 'column')}"

    @property
    def required(self) -> int:
        return self.k or 1

    @property
    def least_rows(self) -> int:
        """Rows of a class by all columns: even a single row may be one."""
        return 1

    def counting(self, entity: str) -> KnownSubsets:
        return replace(self, entity=entity)

    def subsets(self, width: int) -> int:
        """Return how many subsets of m columns this number of quasi-identifiers has."""
        return math.comb(width, min(self.m, width))

    def of_node(self, shared: exp.Table) -> KMap:
        """Return the model at one node. ``shared`` has the shared number of its classes, as rows of a population."""
        return KMap(self.required, population=shared)


def columns_named(name: str) -> int | None:
    """Return for how many columns k was promised, from the name of a model; None if not for some of them."""
    return int(name.removeprefix(_NAMED).split()[0].replace(",", "")) if name.startswith(_NAMED) else None


def known_subsets_of(models: Iterable[PrivacyModel]) -> KnownSubsets | None:
    """Return the model that requires k of some of the columns; None if k applies to all, or is not required."""
    return next((model for model in models if isinstance(model, KnownSubsets)), None)


OPTIONS = (
    ModelOption(
        "known",
        KnownSubsets,
        ("m",),
        "N",
        "k is required of any N quasi-identifiers, not of all of them together.",
        ("m",),
    ),
)
