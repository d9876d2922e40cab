"""``prepare``: encode a table once and search it many times; another k, limit or algorithm needs no second scan.

``PreparedTable.compare`` makes and verifies releases by several algorithms, k and limits side by side.
"""

from __future__ import annotations

import inspect
import time
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from sqlglot import exp

from kanon_sql.classes.recoding import MONDRIAN, by_name
from kanon_sql.engine.base import Closing, closed_on_error, make_table
from kanon_sql.engine.progress import Listener, Progress, silent
from kanon_sql.engine.sources.open_source import Source
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.errors import NoSolutionError, TimeLimitError, UnsuitableError, UsageError
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.algorithms import ALL_OR_NONE, options_of_others
from kanon_sql.policy.policy import SETTINGS, k_apart, make_policy, models_with_k
from kanon_sql.policy.weights import in_json, stated_weights
from kanon_sql.release.anonymize import anonymize, open_requested, release_of
from kanon_sql.release.utility import WantedUtility, utility_against, utility_settings
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.full_domain.incognito import good_nodes, minimal_nodes
from kanon_sql.search.prepare import Prepared, by_rows, prepare_source, problem_of
from kanon_sql.search.run import names_for
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.measures.utility.spread import Spread
    from kanon_sql.measures.utility.utility import Utility
    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.release import Release


_OF_THE_TABLE = frozenset(
    {
        *("columns", "count", "hierarchies", "hierarchy_directory", "directory", "publish", "prepare", "population"),
        *("search_on", "origin", "time_zone"),
    }
)
"""Settings that ``prepare`` reads: its checks and counts depend on them."""
_LEAST_SECONDS = 0.001  # of a release, if earlier ones took all the time


@dataclass(frozen=True)
class SatisfyingNode:
    """A node of the lattice that satisfies a policy."""

    levels: dict[str, int]
    rows_suppressed: int
    value: float | None  # of the policy's measure; None for an average over no classes
    minimal: bool  # True if no node below it satisfies the policy


@dataclass(frozen=True)
class Compared:
    """One release of a comparison; attributes are None if it has no release.

    Attributes:
        value: of the measure that was minimized.
        classes: its equivalence classes, as counted in the output.
        smallest: the measure of its worst class, in the output.
        bound: the proven limit of the measure that no release of its kind can beat; None if nothing is proven.
        stopped: why the search ended before it was complete; None if it is complete.
        problem: why there is no release.
        utility: its utility, if requested.
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
    bound: float | None = None
    optimal: bool = False
    stopped: str | None = None
    nodes_tested: int | None = None
    seconds: float | None = None
    problem: str | None = None
    utility: Utility | None = None

    @property
    def loss(self) -> float | None:
        return None if self.measures is None else self.measures["loss"]

    @property
    def limit(self) -> str:
        return self.max_suppressed if isinstance(self.max_suppressed, str) else f"{self.max_suppressed:.0%}"

    def summary(self) -> dict[str, Any]:
        plain = asdict(replace(self, utility=None))
        del plain["utility"]
        return plain if self.utility is None else {**plain, "utility": self.utility.summary()}


@dataclass(frozen=True)
class Comparison:
    """Releases side by side, least loss first."""

    source: str
    rows: int
    counted: Literal["people", "rows"]  # what k counts
    measure: str  # the measure that was minimized
    results: tuple[Compared, ...]
    weights: Mapping[str, int | str] = field(default_factory=dict)  # of columns; 1 for all others

    def summary(self) -> dict[str, Any]:
        """Return the comparison as plain values, as ``--format json`` prints it."""
        plain = {name: value for name, value in vars(self).items() if name != "weights"}
        return plain | {"results": [result.summary() for result in self.results]} | in_json(self.weights)


@dataclass(frozen=True)
class PreparedTable(Closing):
    """A table whose frequency set is kept until ``close``, or the end of a ``with`` block."""

    prepared: Prepared  # the table in the form that is searched
    policy: Policy  # roles and hierarchies; its other settings are the defaults of the methods

    def anonymize(self, *, progress: Listener | None = None, **settings: Any) -> Release:  # noqa: ANN401 - settings of a Policy, which checks them
        """Return the release of the policy, with some settings changed; it raises as ``anonymize`` does.

        ``settings`` are settings of the search, such as ``k``, ``models``, ``algorithm``, ``max_suppressed``,
        ``measure``, ``weights``, ``time_limit`` and ``seed``. Another ``k`` leaves the other models as they are.
        """
        release = release_of(self.prepared, self._with(settings), progress or silent)
        release.keeps_source = False
        return release

    def _with(self, settings: Mapping[str, Any]) -> Policy:
        """Return the policy with other settings of the search."""
        if fixed := sorted(_OF_THE_TABLE & {*settings}):
            raise UsageError(f"The table was prepared with {', '.join(fixed)}: to change that, call prepare() again.")
        changed = dict(settings)
        if "k" in changed:
            own = [model for model in k_apart(self.policy.models) if not isinstance(model, KAnonymity)]
            changed["models"] = models_with_k(changed.get("models", own), changed.pop("k"))
        return replace(self.policy, **changed)

    def lattice(
        self,
        *,
        everything: bool = False,
        progress: Listener | None = None,
        **settings: Any,  # noqa: ANN401 - as above
    ) -> list[SatisfyingNode]:
        """Return the nodes that satisfy the policy, found by Incognito, least loss first.

        With models of sensitive values, the nodes reveal more about people than a release does: do not share them.

        Args:
            everything: whether to return all of them, or only the minimal ones, which are above no other.
            progress: called with the progress.
            settings: as for ``anonymize``.

        Raises:
            UsageError: a setting is wrong, or the lattice is too large to be listed.
            NoSolutionError: no node satisfies the models.
        """
        policy = self._with(settings)
        tell = progress or silent
        problem = problem_of(self.prepared, policy)
        evidence = Evidence(problem)
        evidence.require_top()
        evidence.expect_many()
        good = good_nodes(evidence, lambda tested, *_: tell(Progress("Testing nodes", tested)))
        minimal = minimal_nodes(good)
        found = sorted((evidence.cost(node), node) for node in (good if everything else minimal))
        evidence.roll_ups.drop_all_but(self.prepared.frequency.relation)
        return [
            SatisfyingNode(
                by_name(self.prepared.hierarchies, node),
                evidence.tested[node],
                None if isinstance(cost, float) else problem.objective.value(cost),
                node in minimal,
            )
            for cost, node in found
        ]

    def compare(
        self,
        *,
        algorithms: Sequence[str] | None = None,
        k: Sequence[int] = (2, 5, 10, 50),
        max_suppressed: Sequence[float | str] | None = None,
        utility: bool = False,
        target: str | None = None,
        spread: Spread | None = None,
        progress: Listener | None = None,
        **settings: Any,  # noqa: ANN401 - as above
    ) -> Comparison:
        """Return releases by each algorithm, with each k and each limit of suppression, side by side.

        Every release is made in a temporary table and verified there; nothing is published.

        Args:
            algorithms: names of algorithms; by default all whose releases this measure can compare.
            k: the values of k to compare; other models are those of the policy.
            max_suppressed: the limits of suppression; by default that of the policy.
            utility: whether to measure the utility of each release, as ``measure`` does.
            target: a column that a model is to predict, as for ``measure``.
            spread: as for ``measure``.
            progress: called with the progress.
            settings: further settings of ``anonymize``: ``measure``, ``time_limit`` (seconds for all releases together:
                each gets an equal share of the remaining time), and settings of single algorithms. ``prove`` is
                not allowed: it would take a minute for each release.

        Raises:
            UsageError: a setting is wrong.
            VerificationError: an output failed verification.
        """
        tell = progress or silent
        measure = settings.get("measure", self.policy.measure)
        good_for = utility_settings(utility=utility, target=target, spread=spread)
        if settings.get("prove"):
            raise UsageError("A comparison proves nothing about local recodings: prove is for anonymize.")
        choice = settings.get("choice", self.policy.choice) if self.policy.choice_made else None
        suited = [name for name in names_for(measure) if choice != ALL_OR_NONE or name in MONDRIAN]
        names = list(dict.fromkeys(algorithms or suited))
        given = max_suppressed if max_suppressed is not None else [self.policy.max_suppressed]
        limits = list(dict.fromkeys(map(SETTINGS["max_suppressed"].value, given)))
        if not (names and k and limits):
            raise UsageError("There is nothing to compare: name an algorithm, a k and a limit of suppression at least.")
        worth = None
        if good_for is not None:  # labels are looked up by rows
            rows_alone = by_rows(self.prepared, self.policy, tell)
            worth = partial(_utility, prepared=rows_alone, wanted=WantedUtility(good_for), tell=tell)
        results: list[Compared] = []
        seconds, begun = settings.get("time_limit", self.policy.time_limit), time.monotonic()
        wanted = list(product(names, dict.fromkeys(k), limits))
        for algorithm, size, limit in wanted:
            tell(Progress(f"{algorithm}, k = {size}"))
            if seconds is not None:
                left = begun + seconds - time.monotonic()
                settings["time_limit"] = max(_LEAST_SECONDS, left / (len(wanted) - len(results)))
            own = {**settings, "algorithm": algorithm, "k": size, "max_suppressed": limit}
            own |= dict.fromkeys({*options_of_others(algorithm), "prove"})
            try:
                results.append(_compared(self.anonymize(**own), size, worth))
            except (NoSolutionError, TimeLimitError, UnsuitableError) as error:
                results.append(Compared(algorithm, size, limit, problem=str(error)))
        ordered = sorted(results, key=lambda result: (result.loss is None, result.loss, result.seconds))
        frequency = self.prepared.frequency
        weights = stated_weights(replace(self.policy, weights=settings.get("weights", self.policy.weights)).weights)
        members: Literal["people", "rows"] = "people" if frequency.counts_people else "rows"
        return Comparison(self.prepared.source.name, frequency.rows, members, measure, tuple(ordered), weights)

    def close(self) -> None:
        """Close the source and drop the temporary tables."""
        self.prepared.source.engine.close()


def _compared(release: Release, k: int, worth: Callable[[Release, exp.Table], Utility] | None) -> Compared:
    """Return the figures of a release for a comparison; utility is measured on a copy, after its time limit."""
    if worth is None:
        verification, utility = release.verify(), None
    else:
        verification, copy = release.verified_with(_copied)
        utility = worth(release, copy)
        release.prepared.source.engine.run(sql.drop(copy), "drop the release that was compared")
    smallest = verification.smallest_members
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
        bound=release.bound,
        optimal=release.optimal,
        stopped=release.result.stopped,
        nodes_tested=release.result.nodes_tested,
        seconds=release.seconds["search"],
        utility=utility,
    )


def _copied(engine: DuckDBEngine, table: exp.Table) -> exp.Table:
    return make_table(engine, "kanon_compared", exp.select("*").from_(table.copy()), "the release that is compared")


def _utility(release: Release, rows: exp.Table, prepared: Prepared, wanted: WantedUtility, tell: Listener) -> Utility:
    source = release.prepared.source
    made = Source(source.engine, rows, f"the release of {source.name}")
    return utility_against(source, made, release.policy, prepared, wanted, tell)


def prepare(
    source: Any = None,  # noqa: ANN401 - a path, a connection or a data frame; see open_source
    table: str | None = None,
    *,
    policy: Policy | str | os.PathLike[str] | None = None,
    resources: Resources | None = None,
    progress: Listener | None = None,
    **settings: Any,  # noqa: ANN401 - those of anonymize
) -> PreparedTable:
    """Prepare a table to be anonymized in many ways: make its hierarchies and count its frequency set.

    Args:
        source: as for ``anonymize``, like all other arguments.
        table: the table in a database.
        policy: a Policy or the path of a kanon.toml, instead of settings.
        resources: resource limits of the run; a connection has its own settings.
        progress: called with the progress.
        settings: keywords of ``anonymize`` except ``hold_out``. The methods accept other values for settings of the
            search. The sensitive columns of ``models`` are counted too.

    Raises:
        UsageError: a setting or a column is wrong.
        SourceError: the source or a hierarchy cannot be read.
    """
    requested, tell = make_policy(policy, **settings), progress or silent
    with computing_in(requested.time_zone):
        opened, requested = open_requested(source, table, requested, resources)
    with closed_on_error(opened.engine):
        return PreparedTable(prepare_source(opened, requested, tell), requested)


_OF_ANONYMIZE = inspect.signature(anonymize)
prepare.__signature__ = _OF_ANONYMIZE.replace(  # type: ignore[attr-defined]  # what help() shows
    parameters=[one for one in _OF_ANONYMIZE.parameters.values() if one.name != "hold_out"],
    return_annotation="PreparedTable",
)
