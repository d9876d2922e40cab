"""SPOLG (Wu, Zang & Yu 2016): one path through the lattice, chosen on a sample; rows leave it as early as they can.

1. Draw a systematic sample of the table: one row in every 1/rate, in the order of the frequency set. (The paper orders
   by row number; a table in a database has none, and the order of the codes spreads the sample over all values.)
2. The path: from the bottom to the top, each time to the direct generalization with the least loss on the sample.
3. Node by node up the path, publish the rows whose class among the remaining rows satisfies the models.
4. Suppress the remaining rows. If that is more than the limit, undo the last steps and send their rows to the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql.classes.frequency import key_name
from kanon_sql.classes.lattice import with_level
from kanon_sql.engine.base import make_table
from kanon_sql.engine.progress import timed
from kanon_sql.measures.costs import costs_in
from kanon_sql.models.base import N
from kanon_sql.sql import build as sql

_ROUNDING = 1e-9
_SAMPLE_RATE = 0.01  # as in the paper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.classes.lattice import Node
    from kanon_sql.search.local.remaining import Remaining
    from kanon_sql.search.problem import Problem, SearchProgress


def spolg(remaining: Remaining, progress: SearchProgress | None = None) -> None:
    """Publish along the path of least loss on a sample. Record the time to choose it, as the paper reports it."""
    with timed(remaining.seconds, "path"):
        nodes = path(remaining.problem)
    for number, node in enumerate(nodes, start=1):
        if remaining.tuples == 0:
            return
        remaining.publish(node)
        if progress is not None:
            progress(number, None, None)


def path(problem: Problem) -> list[Node]:
    engine = problem.frequency.engine
    # 1. The sample.
    sample = make_table(engine, "kanon_sample", systematic_sample_query(problem), "systematic sample")
    totals = costs_in(problem.frequency, sample, problem.costs, problem.labels)
    engine.run(sql.drop(sample), "drop the sample")
    # 2. The path.
    return cheapest_path(problem, totals)


def cheapest_path(problem: Problem, totals: Sequence[Sequence[int]]) -> list[Node]:
    """Return the nodes from the lowest one to the top, each the direct generalization with the least loss.

    ``totals`` is the loss at each column and level. The cost of a step depends on nothing else.
    """
    nodes = [problem.lattice.start]
    while nodes[-1] != problem.lattice.top:
        node = nodes[-1]
        steps = [
            (totals[column][level + 1] - totals[column][level], column)
            for column, level in enumerate(node)
            if level < problem.lattice.heights[column]
        ]
        _, column = min(steps)
        nodes.append(with_level(node, column, node[column] + 1))
    return nodes


def systematic_sample_query(problem: Problem) -> exp.Select:
    """Return a systematic sample of the rows behind the frequency set: its tuples, with n sampled rows each.

    With rows numbered in the order of the codes, a row is chosen if ``number * rate`` passes a whole number. At least
    one row is chosen.
    """
    keys = [sql.column(key_name(key)) for key in range(problem.frequency.keys)]
    upto = sql.over(exp.Sum(this=sql.column(N)), order=keys, running=True)
    rows = max(1, problem.frequency.rows)
    share = sql.literal(max(problem.options.get("sample_rate") or _SAMPLE_RATE, 1 / rows))

    def passed(number: exp.Expr) -> exp.Expr:
        product = exp.Mul(this=number, expression=share.copy())
        return exp.Floor(this=exp.Add(this=product, expression=sql.double(_ROUNDING)))  # 7 * (1/7) may be below 1

    before = exp.Paren(this=sql.column("upto") - sql.column(N))
    chosen = sql.cast(exp.Sub(this=passed(sql.column("upto")), expression=passed(before)), "BIGINT")
    counted = exp.select(*keys, N, sql.named(upto, "upto")).from_(problem.frequency.relation.copy())
    sampled = exp.select(*(key.copy() for key in keys), sql.named(chosen, N)).from_(counted.subquery("counted"))
    return exp.select("*").from_(sampled.subquery("sampled")).where(sql.column(N) > 0)
