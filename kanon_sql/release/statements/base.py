"""What differs between the kinds of recoding in the SQL of a release."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from kanon_sql.engine.base import Engine
    from kanon_sql.release.publication import Publication


@dataclass(frozen=True)
class Statements(ABC):
    """The statements of one kind of recoding. Lookups are the relations of the hierarchies, by column.

    Attributes:
        publication: what is published.
    """

    publication: Publication

    def recoding_statements(self, lookups: Mapping[str, exp.Table]) -> tuple[exp.Expr, ...]:  # noqa: ARG002
        """Return the statements that are run before the release is made."""
        return ()

    def working_tables(self) -> tuple[exp.Table, ...]:
        """Return the tables that these statements make."""
        return ()

    @abstractmethod
    def generalized_query(self, lookups: Mapping[str, exp.Table]) -> exp.Select:
        """Return the query of all rows that are recoded, with the entity where a model counts people."""

    @abstractmethod
    def released_query(self, lookups: Mapping[str, exp.Table]) -> exp.Select:
        """Return the query of the rows of a release of which no class is left out, in any order."""

    @abstractmethod
    def known_labels(self, number: int, lookup: exp.Table, label: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
        """Return what may be published in a quasi-identifier, and the condition that it is this label."""

    def require_viewable(self) -> None:  # noqa: B027 - most can
        """Raise if a view cannot recode the rows that its table will have.

        Raises:
            UsageError: it cannot.
        """

    def read_only_cut(self, engine: Engine) -> Publication:  # noqa: ARG002
        """Return what is published by a script that knows only the texts of columns that a cut is about."""
        return self.publication

    def box_statements(self, engine: Engine, tuples: exp.Table) -> tuple[exp.Expr, ...]:  # noqa: ARG002
        """Return the statements of a script that make the tables of the recoding, with their rows.

        Args:
            engine: holds the rows.
            tuples: the rows of the source: of a file's texts, those that they have are written out.
        """
        return ()
