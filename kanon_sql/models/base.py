"""The interface of privacy models for the search and for the published SQL.

The statement that verifies a release by one model is its file ``sql/models/<model>.sql``. Statements about several
models, too, take its measure, its condition and the choice of the worst class from there.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Mapping


class PrivacyModel:
    """A condition on every equivalence class: a measure of the class and a threshold.

    ``RowModel`` measures a class from its rows alone, ``SensitiveModel`` from the values of a sensitive column in it,
    ``PopulationModel`` against the same class of a larger table. Measure, condition and worst class come from a
    file; a model without a file defines all three in Python.

    Nearly all models have the property of unions (``unites``): if two classes satisfy it, so does their union. Only if
    merging keeps a satisfied class satisfied *even if the other class was not* (``monotone``) do suppressed rows
    become fewer upwards. Otherwise, a model bounds how many rows of a class any recoding that generalizes less could
    publish (``SensitiveModel.most``), and the search prunes by that.
    """

    unites = True

    @property
    def name(self) -> str:
        """Its name in reports."""
        raise NotImplementedError

    @property
    def letter(self) -> str:
        """The name of its threshold, as in ``k = 5``."""
        raise NotImplementedError

    @property
    def required(self) -> int | float:
        """The threshold."""
        raise NotImplementedError

    @property
    def monotone(self) -> bool:
        """True if a class that satisfies the model still does after it was merged with any other."""
        return False

    @property
    def least_rows(self) -> int:
        """Minimum number of rows of a class that satisfies the model."""
        return 1

    @property
    def entity(self) -> str | None:
        """The column that names a person, if the model counts people."""
        return None

    @property
    def sensitive(self) -> str | None:
        """The sensitive column of the model; None for a model of rows, or until the column is named."""
        return None

    @property
    def file(self) -> str:
        """The file in ``sql/``, without its suffix."""
        raise NotImplementedError

    def counting(self, entity: str) -> PrivacyModel:  # noqa: ARG002 - a model of rows takes it
        """Return the model with people as members, identified by this column; unchanged if it counts no members."""
        return self

    def measured(self, columns: Mapping[str, exp.Expr]) -> exp.Expr:
        """Return the measure of a class, with the given expressions for the columns of the file."""
        return sql.selected(self.file, "measure", part="classes", values=self._thresholds, columns=columns)

    def is_met(self, measure: exp.Expr) -> exp.Expr:
        """Return the condition that a class of this measure satisfies the model."""
        failing = self._of_all_classes("classes_failing", measure).find(exp.Where)
        return sql.affirmed(failing.this) if failing is not None else exp.false()

    def worst(self, measure: exp.Expr) -> exp.Expr:
        """Return the aggregate that picks the measure of the worst class."""
        return self._of_all_classes("worst", measure)

    def _of_all_classes(self, column: str, measure: exp.Expr) -> exp.Expr:
        return sql.selected(self.file, column, values=self._thresholds, columns={"measure": measure})

    @property
    def _thresholds(self) -> dict[str, Any]:
        """The thresholds of the model, under the names of the file's placeholders."""
        held = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]  # a dataclass
        return {name: value for name, value in held.items() if isinstance(value, int | float)}


class RowModel(PrivacyModel):
    """A model whose measure is one aggregate over the rows of a class.

    It exists twice: over the rows of the frequency set that fall into the class (``coded_measure``, for the search)
    and over the rows of the table (``readable_measure``, for publishing and verifying). Both give the same number.
    """

    def coded_measure(self, *, merged: bool = False) -> exp.Expr:
        """Return the class's measure as an aggregate over the frequency set.

        ``merged`` says that the rows of the class are of different people: the frequency set of its own node.
        """
        raise NotImplementedError

    def readable_measure(self, entity: exp.Expr | None) -> exp.Expr:
        """Return the class's measure as an aggregate over rows. ``entity`` is the column that identifies a person."""
        raise NotImplementedError

    def measure_of(self, rows: exp.Expr) -> exp.Expr:
        """Return the measure of a class with this number of rows, if the model counts rows."""
        raise NotImplementedError

    def combined_measure(self, n: exp.Expr, entity: exp.Expr | None) -> exp.Expr:
        """Return the class's measure as an aggregate over combinations of values that stand for ``n`` rows each."""
        raise NotImplementedError


N = "n"
"""Column of the frequency set: rows of the table with this tuple of codes."""
PERSONS = "persons"
"""Column of the frequency set: the number of entities whose rows all have this tuple."""
ENTITY = "entity"
"""Column of the frequency set: an entity whose rows have several tuples, as a number; else NULL."""
