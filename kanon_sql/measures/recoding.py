"""All measures of any recoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.classes.recoding import FullDomain, Local
from kanon_sql.measures.local import measure_local
from kanon_sql.measures.partition import PartTables, measure_partition
from kanon_sql.measures.summary import measure_node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.classes.frequency import FrequencySet
    from kanon_sql.classes.recoding import Recoding
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels
    from kanon_sql.measures.summary import ClassCounts
    from kanon_sql.models.base import PrivacyModel


def measure_recoding(
    frequency: FrequencySet,
    classes: exp.Table | PartTables,
    recoding: Recoding,
    models: Sequence[PrivacyModel],
    hierarchies: Sequence[Hierarchy],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> tuple[dict[str, float | None], ClassCounts]:
    """Return every measure of a recoding, by name, and the sizes of its classes.

    Args:
        frequency: the frequency set.
        classes: for a node, the relation to count its classes from; for a local recoding, the tuples with their step;
            for a multidimensional one, its parts.
        recoding: the recoding.
        models: what a published class must satisfy.
        hierarchies: of each quasi-identifier.
        labels: the labels of each quasi-identifier.
        costs: what each measure that is a mean over cells charges.
        k: the class size in whose units the average is given.
    """
    if isinstance(classes, PartTables):
        return measure_partition(frequency, classes, models, labels, costs, k)
    match recoding:
        case FullDomain(node):
            return measure_node(frequency, classes, node, models, labels, costs, k)
        case Local():
            return measure_local(frequency, classes, recoding, models, hierarchies, labels, costs, k)
        case _:
            raise TypeError("A multidimensional recoding is measured from its parts")
