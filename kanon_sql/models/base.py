"""What a privacy model is to the search and to the published SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sqlglot import exp


class PrivacyModel(Protocol):
    """A condition on every equivalence class.

    A class is measured by one aggregate, which exists twice: over the rows of the frequency set that fall into
    the class (``coded_measure``, for the search) and over the rows of the table (``readable_measure``, for what is
    published and verified). Both must give the same number.

    Only where merging keeps a satisfied class satisfied, also when the other class was not (``monotone``), do
    suppressed rows become fewer upwards, and only then may a search prune.
    """

    @property
    def name(self) -> str:
        """As it is called in reports."""

    @property
    def required(self) -> int:
        """The threshold."""

    @property
    def entity(self) -> str | None:
        """The column that names a person, where the model counts people."""

    @property
    def monotone(self) -> bool:
        """Whether a class that satisfies the model still does after it was merged with any other."""

    def counting(self, entity: str) -> PrivacyModel:
        """Return the model counting people, whom this column names."""

    def coded_measure(self) -> exp.Expr:
        """Return the class's measure as an aggregate over the frequency set."""

    def readable_measure(self, entity: exp.Expr | None) -> exp.Expr:
        """Return the class's measure as an aggregate over rows; ``entity`` is the column that names a person."""

    def combined_measure(self, n: exp.Expr, entity: exp.Expr | None) -> exp.Expr:
        """Return the class's measure as an aggregate over combinations of values that stand for ``n`` rows each."""

    def is_met(self, measure: exp.Expr) -> exp.Expr:
        """Return the condition that a class of this measure satisfies the model."""

    def worst(self, measure: exp.Expr) -> exp.Expr:
        """Return the aggregate that picks the measure of the worst class."""
