"""The SQL of a release; what differs between kinds of recoding has one class for each, which ``STATEMENTS`` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.classes.recoding import FullDomain, LabelledCombinations, Local, Multidimensional
from kanon_sql.release.statements.full_domain import FullDomainStatements
from kanon_sql.release.statements.local import LocalStatements
from kanon_sql.release.statements.mondrian import MondrianStatements

if TYPE_CHECKING:
    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.statements.full_domain import Statements

STATEMENTS: dict[type[Recoding], type[Statements]] = {
    FullDomain: FullDomainStatements,
    Local: LocalStatements,
    Multidimensional: MondrianStatements,
    LabelledCombinations: MondrianStatements,
}


def statements_for(publication: Publication) -> Statements:
    """Return the statements of the recoding of what is published."""
    return STATEMENTS[type(publication.recoding)](publication)
