"""``compare``: several algorithms, k and limits side by side, on one frequency set, each release made and verified."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, Protocol

from kanon_sql.engine.progress import Listener, Progress, silent
from kanon_sql.errors import NoSolutionError, TimeLimitError, UnsuitableError, UsageError
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.algorithms import options_of_others
from kanon_sql.policy.policy import suppression_limit
from kanon_sql.search.run import names_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.release import Release
    from kanon_sql.search.prepare import Prepared


@dataclass(frozen=True)
class Compared:
    """One release of a comparison; what is None has no release.

    Attributes:
        algorithm: how it was searched for.
        k: the smallest class that was allowed.
        max_suppressed: the limit of suppression.
        value: what the measure that was minimized says of it.
        measures: every measure, by name.
        rows_suppressed: rows that it leaves out.
        classes: its equivalence classes, as counted in the output.
        smallest: the measure of its worst class, in the output.
        levels: of each quasi-identifier.
        optimal: whether it is proven that no full-domain release is better.
        nodes_tested: lattice nodes that were tested.
        seconds: of the search.
        problem: why there is no release.
    """

    algorithm: str
    k: int
    max_suppressed: float | str
    value: float | None = None
    measures: dict[str, float | None] | None = None
    rows_suppressed: int | None = None
    classes: int | None = None
    smallest: int | None = None
    levels: dict[str, int] | None = None
    optimal: bool = False
    nodes_tested: int | None = None
    seconds: float | None = None
    problem: str | None = None

    @property
    def loss(self) -> float | None:
        """The loss of the release."""
        return None if self.measures is None else self.measures["loss"]


@dataclass(frozen=True)
class Comparison:
    """Releases side by side, those that lose least first.

    Attributes:
        source: the table.
        rows: its rows.
        counted: what k counts: people or rows.
        measure: what was minimized.
        results: the releases.
    """

    source: str
    rows: int
    counted: Literal["people", "rows"]
    measure: str
    results: tuple[Compared, ...]

    def summary(self) -> dict[str, Any]:
        """Return the comparison as plain values: what ``--format json`` prints."""
        return {
            "source": self.source,
            "rows": self.rows,
            "counted": self.counted,
            "measure": self.measure,
            "results": [asdict(result) for result in self.results],
        }


class Anonymizable(Protocol):
    """A prepared table, as a comparison sees it."""

    @property
    def prepared(self) -> Prepared:
        """The table as it is searched."""

    @property
    def policy(self) -> Policy:
        """What is asked for by default."""

    def anonymize(self, **settings: Any) -> Release:  # noqa: ANN401 - settings of a Policy, which checks them
        """Return the release of the table under these settings."""


def compare(
    table: Anonymizable,
    *,
    algorithms: Sequence[str] | None = None,
    k: Sequence[int] = (2, 5, 10, 50),
    max_suppressed: Sequence[float | str] | None = None,
    progress: Listener | None = None,
    **settings: Any,  # noqa: ANN401 - settings of a Policy, which checks them
) -> Comparison:
    """Return releases of a prepared table by each algorithm, with each k and each limit of suppression.

    Every release is made, in a temporary table, and verified there; nothing is published.

    Args:
        table: the table; it is encoded once.
        algorithms: names of algorithms; by default all that can minimize the measure.
        k: the smallest classes to compare; other models are those of the table's policy.
        max_suppressed: the limits of suppression; by default that of the table's policy.
        progress: called as the work goes on.
        settings: further settings of ``PreparedTable.anonymize``: ``measure``, ``time_limit``, and those that only
            some algorithms have, for these.

    Raises:
        UsageError: a setting is wrong.
        VerificationError: an output is not what it should be.
    """
    tell = progress or silent
    measure = settings.get("measure", table.policy.measure)
    names = list(dict.fromkeys(algorithms or names_for(measure)))
    given = max_suppressed if max_suppressed is not None else [table.policy.max_suppressed]
    limits = list(dict.fromkeys(map(suppression_limit, given)))
    if not (names and k and limits):
        raise UsageError("There is nothing to compare: name an algorithm, a k and a limit of suppression at least.")
    results = []
    for algorithm, size, limit in product(names, dict.fromkeys(k), limits):
        tell(Progress(f"{algorithm}, k = {size}"))
        others = [model for model in table.policy.models if not isinstance(model, KAnonymity)]
        models = (KAnonymity(size, entity=table.policy.columns.entity), *others)
        asked = {**settings, "algorithm": algorithm, "models": models, "max_suppressed": limit}
        asked |= dict.fromkeys(options_of_others(algorithm))
        try:
            results.append(_compared(table.anonymize(**asked), size))
        except (NoSolutionError, TimeLimitError, UnsuitableError) as error:
            results.append(Compared(algorithm, size, limit, problem=str(error)))
    ordered = sorted(results, key=lambda result: (result.loss is None, result.loss, result.seconds))
    frequency = table.prepared.frequency
    members: Literal["people", "rows"] = "people" if frequency.counts_people else "rows"
    return Comparison(table.prepared.source.name, frequency.rows, members, measure, tuple(ordered))


def _compared(release: Release, k: int) -> Compared:
    verification = release.verify()
    smallest = verification.models[0].measured
    return Compared(
        release.policy.algorithm,
        k,
        release.policy.max_suppressed,
        value=release.value,
        measures=release.measures,
        rows_suppressed=release.rows_suppressed,
        classes=verification.classes,
        smallest=None if smallest is None else int(smallest),
        levels=release.levels,
        optimal=release.optimal,
        nodes_tested=release.result.nodes_tested,
        seconds=release.seconds["search"],
    )
