"""The SQL of a release; what differs between kinds of recoding has one class for each, which ``STATEMENTS`` names."""

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
"""By recoding, the file of this directory and its class; a run imports only the one that it needs."""


def statements_for(publication: Publication) -> Statements:
    """Return the statements of the recoding of what is published."""
    module, _, name = STATEMENTS[type(publication.recoding)].partition(":")
    made: Statements = getattr(import_module(f"kanon_sql.release.statements.{module}"), name)(publication)
    return made
