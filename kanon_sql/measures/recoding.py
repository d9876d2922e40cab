"""All measures of any recoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.measures.local import measure_local
from kanon_sql.measures.summary import measure_node
from kanon_sql.recoding import Local

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from kanon_sql.frequency import FrequencySet
    from kanon_sql.measures.costs import Costs
    from kanon_sql.measures.labels import Labels
    from kanon_sql.measures.summary import ClassCounts
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.recoding import Recoding


def measure_recoding(
    frequency: FrequencySet,
    relation: exp.Table,
    recoding: Recoding,
    models: Sequence[PrivacyModel],
    labels: Sequence[Labels],
    costs: Sequence[Costs],
    k: int,
) -> tuple[dict[str, float | None], ClassCounts]:
    """Return every measure of a recoding, by name, and the sizes of its classes.

    Args:
        frequency: the frequency set.
        relation: for a node, the relation to count its classes from; for a local recoding, the tuples with their step.
        recoding: the recoding.
        models: what a published class must satisfy.
        labels: the labels of each quasi-identifier.
        costs: what each measure that is a mean over cells charges.
        k: the class size in whose units the average is given.
    """
    if isinstance(recoding, Local):
        return measure_local(frequency, relation, recoding, models, labels, costs, k)
    return measure_node(frequency, relation, recoding.node, models, labels, costs, k)
