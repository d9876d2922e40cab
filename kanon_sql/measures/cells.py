"""The measures that are a mean over cells, by name: any of them can be minimized.

Each charges a cell at the root or in a suppressed row all, and on the way up only more: what ``search.optimal`` proves
rests on no more than that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.measures.gcp import GlobalCertaintyPenalty
from kanon_sql.measures.loss import Loss
from kanon_sql.measures.nonuniform_entropy import NonUniformEntropy
from kanon_sql.measures.precision import Precision

if TYPE_CHECKING:
    from kanon_sql.measures.base import CellMeasure

CELL_MEASURES: dict[str, CellMeasure] = {
    measure.name: measure for measure in (Loss(), GlobalCertaintyPenalty(), Precision(), NonUniformEntropy())
}
