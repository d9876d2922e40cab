"""The SQL of a release. Each kind of recoding has its own class, listed in ``STATEMENTS``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kanon_sql.classes.recoding import FullDomain, LabelledCombinations, Local, Multidimensional

if TYPE_CHECKING:
    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.statements.full_domain import Statements

STATEMENTS: dict[type[Recoding], str] = {
    FullDomain: "full_domain:FullDomainStatements",
    Local: "local:LocalStatements",
    Multidimensional: "mondrian:MondrianStatements",
    LabelledCombinations: "mondrian:MondrianStatements",
}
"""By recoding, the module of this package and its class. A run imports only the one that it needs."""


def statements_for(publication: Publication) -> Statements:
    module, _, name = STATEMENTS[type(publication.recoding)].partition(":")
    made: Statements = getattr(import_module(f"kanon_sql.release.statements.{module}"), name)(publication)
    return made
