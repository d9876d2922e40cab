"""The SQL of a release, for each kind of recoding: one module with the same functions, and a line in ``STATEMENTS``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kanon_sql.classes.recoding import FullDomain, LabelledCombinations, Local, Multidimensional
from kanon_sql.release.statements import full_domain, local, mondrian

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlglot import exp

    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.engine.base import Engine
    from kanon_sql.release.publication import Publication


class Statements(Protocol):
    """What a module says of its kind of recoding. Lookups are the relations of the hierarchies, by column."""

    def recoding_statements(
        self, publication: Publication, lookups: Mapping[str, exp.Table], /
    ) -> tuple[exp.Expr, ...]:
        """Return the statements that are run before a release is made."""

    def working_tables(self, publication: Publication, /) -> tuple[exp.Table, ...]:
        """Return the tables that these statements make."""

    def generalized_query(self, publication: Publication, lookups: Mapping[str, exp.Table], /) -> exp.Select:
        """Return the query of all rows that are recoded, with the entity where a model counts people."""

    def released_query(self, publication: Publication, lookups: Mapping[str, exp.Table], /) -> exp.Select:
        """Return the query of the rows of a release of which no class is left out, in any order."""

    def known_labels(self, publication: Publication, number: int, lookup: exp.Table, label: exp.Expr, /) -> exp.Select:
        """Return the query of what may be published in a quasi-identifier, where it is this label."""

    def require_viewable(self, recoding: Recoding, /) -> None:
        """Raise a ``UsageError`` if a view cannot recode the rows that its table will have."""

    def read_only_cut(self, engine: Engine, publication: Publication, /) -> Publication:
        """Return what is published by a script that knows only the texts of columns that a cut is about."""

    def box_statements(self, engine: Engine, publication: Publication, tuples: exp.Table, /) -> tuple[exp.Expr, ...]:
        """Return the statements of a script that make the tables of the recoding itself, with their rows."""


STATEMENTS: dict[type[Recoding], Statements] = {
    FullDomain: full_domain,
    Local: local,
    Multidimensional: mondrian,
    LabelledCombinations: mondrian,
}


def statements_of(publication: Publication) -> Statements:
    """Return the module of the recoding of what is published."""
    return STATEMENTS[type(publication.recoding)]
