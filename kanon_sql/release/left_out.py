"""The classes that a full-domain release of many rows leaves out, by their labels, from the codes that were searched.

A release reads its source twice, once to count the classes. Where that takes long, the classes of the node that was
found are given their labels instead. What is published is counted when it is verified, from its rows alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.of_node import classes_query, is_published
from kanon_sql.classes.recoding import FullDomain
from kanon_sql.engine.base import make_table
from kanon_sql.engine.equality import published
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.measures.labels import LABEL, label_of_class, labels_alias, labels_query
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from kanon_sql.measures.recoding import PartTables
    from kanon_sql.release.publication import Publication
    from kanon_sql.search.prepare import Prepared

_MANY_ROWS = 250_000
"""Fewer are counted in the time that it takes to plan this."""


def make_left_out(prepared: Prepared, publication: Publication, classes: exp.Table | PartTables) -> exp.Table | None:
    """Return a temporary table of the labels of the classes that are left out; None where they are not known here.

    ``classes`` is what the classes of the node are counted from.
    """
    frequency, recoding = prepared.frequency, publication.recoding
    if frequency.rows < _MANY_ROWS or prepared.source.in_warehouse or frequency.counts_people:
        return None
    if not isinstance(recoding, FullDomain) or not isinstance(classes, exp.Table) or publication.pseudonyms is not None:
        return None
    if not all(isinstance(model, KAnonymity) for model in publication.models):
        return None
    models = prepared.coded(publication.models)
    query = exp.select().from_(classes_query(classes, frequency.masks(recoding.node), models).subquery("classes"))
    for column, hierarchy, level in zip(prepared.labels, prepared.hierarchies, recoding.node, strict=True):
        label: exp.Expr = sql.literal(hierarchy.root)
        if level < hierarchy.height:
            named = sql.column(level_name(level) if level else VALUE)
            known = labels_query(column, hierarchy, level, named).subquery(labels_alias(column))
            query = query.join(known, on=label_of_class(column, level))
            label = sql.column(LABEL, labels_alias(column))
        label = label if level else published(label, hierarchy.column)
        query = query.select(sql.named(label, hierarchy.column.name))
    query = query.where(sql.negated(is_published(models)))
    return make_table(frequency.engine, "kanon_left_out", query, "classes that are left out")
