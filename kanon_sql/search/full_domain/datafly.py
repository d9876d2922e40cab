"""Datafly (Sweeney 1997): generalize the column with the most distinct values until few rows are in small classes.

1. While more rows than allowed are in classes that are too small, generalize the column with the most distinct values
   by one level. Ties go to the first column in the given order.
2. Suppress the rest.

The classic stopping rule allows k rows (``--max-suppressed "k rows"``). Missing values follow their hierarchy: the
root from level 1 on, unless a file gives NULL a row of its own.

A heuristic: one test per step, nothing proven. It looks at columns and never at loss, and often ends far above the
optimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.classes.lattice import with_level
from kanon_sql.errors import NoSolutionError

if TYPE_CHECKING:
    from kanon_sql.classes.lattice import Node
    from kanon_sql.search.full_domain.evidence import Evidence
    from kanon_sql.search.problem import SearchProgress


def datafly(evidence: Evidence, progress: SearchProgress | None = None) -> Node:
    """Return the first node on Datafly's way up that suppresses no more than the limit."""
    problem = evidence.problem
    distinct = problem.costs.labels
    node = problem.lattice.start
    # 1. Too many rows in small classes; at the top there are none.
    while evidence.test(node) > problem.limit:
        open_columns = [column for column, level in enumerate(node) if level < problem.lattice.heights[column]]
        if not open_columns:
            raise NoSolutionError(
                "Datafly came to the top of the lattice, and still too many rows are in classes that the privacy "
                "models refuse: use --algorithm optimal, which looks at all nodes, or ask for less."
            )
        column = max(open_columns, key=lambda i: distinct[i][node[i]])  # max takes the first of equals
        node = with_level(node, column, node[column] + 1)
        if progress is not None:
            progress(evidence.nodes_tested, None, None)
    return node
