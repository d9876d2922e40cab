"""The explored table and results about it, kept by what they depend on.

Fast answers (a node of the lattice, the labels of a column) are computed in the request, on the ``Bench`` of the
state's roles and hierarchies. Releases and their evidence are computed in the background, on a connection of their
own, one task after the other; pages ask again until they are ready. All connections are read-only. Modules that the
first page does not need are imported on use.
"""

from __future__ import annotations

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import count, product
from pathlib import Path
from queue import PriorityQueue
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any

from kanon_sql.classes.lattice import with_level
from kanon_sql.engine.base import find_column
from kanon_sql.engine.files import stamps_of, stamps_of_database
from kanon_sql.engine.sources.addresses import place_of
from kanon_sql.engine.sources.data_files import files_at
from kanon_sql.engine.sources.open_source import open_source
from kanon_sql.engine.sources.preparing import rules_of, with_prepared
from kanon_sql.engine.time_zones import computing_in, zone_in_force
from kanon_sql.errors import KanonError, UsageError
from kanon_sql.explore.state import Base
from kanon_sql.hierarchy.expressions import VALUE, level_name
from kanon_sql.hierarchy.given import hierarchy_files
from kanon_sql.hierarchy.rules import ListedRule
from kanon_sql.hierarchy.spec import parse_rule
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.algorithms import algorithms_of, options_of_others
from kanon_sql.policy.destination import named_table, origin_of
from kanon_sql.policy.policy import parse_policy
from kanon_sql.policy.profile.preparing import with_dates
from kanon_sql.policy.profile.profiler import profile_of, proposal_of
from kanon_sql.search.full_domain.evidence import Evidence
from kanon_sql.search.prepare import problem_of
from kanon_sql.search.run import names_for
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlglot import exp

    from kanon_sql.classes.lattice import Node
    from kanon_sql.engine.base import Column
    from kanon_sql.engine.files import Stamps
    from kanon_sql.engine.progress import Listener, Progress
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.evidence.report.written import Report
    from kanon_sql.explore.state import State
    from kanon_sql.hierarchy.lookup_relation import Hierarchy
    from kanon_sql.policy.destination import Origin
    from kanon_sql.policy.policy import Policy
    from kanon_sql.policy.profile.result import Profile
    from kanon_sql.release.prepared_table import PreparedTable
    from kanon_sql.release.release import Release
    from kanon_sql.release.remedies import Remedies

_BENCHES = 2  # tables that are kept, prepared in different ways
_FORGOTTEN = 20.0  # seconds after which a task that no page requests any more does not start
_UNWANTED = 10.0  # seconds after which it is stopped if another page waits
_SECONDS = 30.0  # of a search in the trade-off
_SAMPLE_OF_K = (2, 3, 5, 10, 20, 50, 100)
_LIMITS = ("0.0", "0.05")
_SAME_AS_OTHERS = {"incognito", "samarati-first"}  # the trade-off has the optimum of their kind, and samarati
_LARGE = 50_000  # tuples from which nodes around the current one are rolled up
_KEPT = 24  # such roll-ups
_A_MOMENT = 0.002  # seconds for another request to run
_DRAWN = 36  # labels of a level in the drawing of a hierarchy
_NARROW = 0.004  # share of the rows below which a label is too narrow to draw


@dataclass(frozen=True)
class NodeFigures:
    """Figures of a node: rows that it suppresses, and its measure; None if it suppresses every row."""

    node: Node
    suppressed: int
    value: float | None


@dataclass(frozen=True)
class Found:
    """The release of a policy before publication."""

    algorithm: str  # found it
    node: Node | None  # for full-domain recoding; otherwise None
    levels: dict[str, int] | None
    value: float | None
    measures: dict[str, float | None]
    rows_in: int
    rows_suppressed: int
    classes: int
    optimal: bool
    gap: float | None
    stopped: str | None
    sql: str  # the statements that make and check it, which name hierarchies and list no value

    @property
    def title(self) -> str:
        return "the optimum" if self.optimal else f"the best that {self.algorithm} found"


@dataclass(frozen=True)
class Point:
    """A release of the trade-off; ``problem`` is the reason if there is none."""

    algorithm: str
    k: int
    limit: str
    measures: dict[str, float | None] = field(default_factory=dict)
    risks: dict[str, float | None] = field(default_factory=dict)
    share_suppressed: float | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Block:
    """A label in the drawing of a hierarchy, or several that are not shown: their share of the rows, and their rows."""

    label: str | None
    rows: int
    labels: int
    start: float
    width: float


class Bench:
    """A table prepared for some roles and hierarchies; its user holds the lock (``Workspace.bench``)."""

    def __init__(self, table: PreparedTable) -> None:
        self.table = table
        self.lock = RLock()
        self.is_closed = False
        self.latest: Node | None = None
        self._evidence: dict[str, Evidence] = {}
        self._rolled_up: dict[tuple[int, Node], Any] = {}
        self._labels: dict[tuple[str, int], list[list[Block]]] = {}

    def close(self) -> None:
        with self.lock:
            self.is_closed = True
            self.table.close()

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        return self.table.prepared.hierarchies

    @property
    def rows(self) -> int:
        return self.table.prepared.frequency.rows

    @property
    def tuples(self) -> int:
        return self.table.prepared.frequency.tuples

    @property
    def counts_people(self) -> bool:
        return self.table.prepared.frequency.counts_people

    def _evidence_of(self, policy: Policy) -> Evidence:
        # The limit of suppression does not apply here: any node has figures.
        anything = replace(_as_prepared(policy).suppressing(1.0), models=policy.models)
        key = repr((anything.models, anything.measure))
        if key not in self._evidence:
            self._evidence[key] = Evidence(problem_of(self.table.prepared, anything))
        return self._evidence[key]

    def knows(self, policy: Policy, node: Node) -> bool:
        return node in self._evidence_of(policy).tested

    def figures(self, policy: Policy, node: Node) -> NodeFigures:
        self.latest = node
        return self._figures(self._evidence_of(policy), node)

    def _figures(self, evidence: Evidence, node: Node) -> NodeFigures:
        suppressed, cost = evidence.test(node), evidence.cost(node)
        value = None if isinstance(cost, float) else evidence.problem.objective.value(cost)
        return NodeFigures(node, suppressed, value)

    def lower(self, policy: Policy, node: Node) -> list[NodeFigures | None] | None:
        """Return the figures of one level less for each column, or None for a column at level 0.

        Return None if a request for another node came in between: it goes first.
        """
        evidence = self._evidence_of(policy)
        found: list[NodeFigures | None] = []
        for place, level in enumerate(node):
            step = with_level(node, place, level - 1) if level else None
            if step is not None and not self._let_others(node):
                return None
            found.append(None if step is None else self._looked_at(evidence, step))
        return found

    def look_higher(self, policy: Policy, node: Node) -> None:
        """Test the nodes one level above a node: the next requests are likely to need them."""
        evidence = self._evidence_of(policy)
        self._roll_up(evidence, node)
        for place, level in enumerate(node):
            if level < self.table.prepared.lattice.heights[place]:
                if not self._let_others(node):
                    return
                self._looked_at(evidence, with_level(node, place, level + 1))

    def _let_others(self, node: Node) -> bool:
        """Let waiting requests run; return True if the node is still the latest one requested."""
        self.lock.release()
        time.sleep(_A_MOMENT)
        self.lock.acquire()
        if self.is_closed:
            raise UsageError("The table was let go of, to be published; reload the page.")
        return self.latest == node

    def _looked_at(self, evidence: Evidence, node: Node) -> NodeFigures:
        if node not in evidence.tested:
            self._roll_up(evidence, node)
        return self._figures(evidence, node)

    def _roll_up(self, evidence: Evidence, node: Node) -> None:
        """Keep the frequency set of a node of a large table if it is far smaller than its source."""
        roll_ups = evidence.roll_ups
        if evidence.known is not None or (source := roll_ups.source(node)).tuples < _LARGE:
            return
        if (id(evidence), node) in self._rolled_up:
            return
        made = roll_ups.make(node)
        self._rolled_up[id(evidence), node] = made if 2 * made.tuples <= source.tuples else None
        if 2 * made.tuples > source.tuples:
            roll_ups.drop(made)
            return
        roll_ups.keep(made)
        kept = [key for key, own in self._rolled_up.items() if key[0] == id(evidence) and own is not None]
        if len(kept) > _KEPT:
            roll_ups.drop(self._rolled_up.pop(kept[0]))

    def drawing(self, column: str, k: int) -> list[list[Block]]:
        """Return the labels of a hierarchy that at least k members share, level by level from the root down.

        Blocks stand under their parents. Labels of fewer members, and narrow ones, are merged under their parent.
        """
        if (column, k) not in self._labels:
            self._labels[column, k] = self._drawing(column, k)
        return self._labels[column, k]

    def _drawing(self, name: str, k: int) -> list[list[Block]]:
        prepared = self.table.prepared
        source, entity = prepared.source, prepared.roles.entity
        own = next(one for one in self.hierarchies if one.column.name == name)
        value = sql.cast(sql.column(own.column.name, "source"), "VARCHAR")
        of_level = [value, *(sql.column(level_name(level), "hierarchy") for level in range(1, own.height + 1))]
        rows = sql.count_rows() if source.weight is None else sql.sum_of(source.weight.copy())
        members = rows if entity is None else sql.count_distinct(sql.column(entity.name, "source"))
        is_value = sql.same(sql.column(own.column.name, "source"), sql.column(VALUE, "hierarchy"))
        drawn = []
        for level in range(own.height, -1, -1):
            labels = of_level[level:]
            query = sql.query(
                "explore/labels",
                values={
                    "labels": [sql.named(label.copy(), f"label_{place}") for place, label in enumerate(labels)],
                    "rows": rows.copy(),
                    "members": members.copy(),
                },
                relations={"source": sql.aliased(source.tuples, "source")},
                joins={"hierarchy": [(sql.aliased(own.relation, "hierarchy"), is_value.copy())]},
            )
            found = source.engine.rows(query, f"labels of {name}")
            drawn.append(_blocks([(tuple(reversed(row[:-2])), *row[-2:]) for row in found], self.rows, k))
        return drawn


def _blocks(found: list[tuple[tuple[str | None, ...], int, int]], rows: int, k: int) -> list[Block]:
    """Return the labels of a level as blocks, each under its parent: ``found`` has their paths, rows and members."""
    from kanon_sql.evidence.report.attributes import natural_order

    enough = sorted((n for _, n, members in found if members >= k and n >= _NARROW * rows), reverse=True)
    least = enough[_DRAWN] + 1 if len(enough) > _DRAWN else 0
    blocks: list[Block] = []
    start, parent = 0.0, None
    for path, n, members in sorted(found, key=lambda one: [natural_order(label) for label in one[0]]):
        width = n / max(1, rows)
        is_shown = members >= k and n >= max(least, _NARROW * rows)
        last = blocks[-1] if blocks and parent == path[:-1] else None
        if not is_shown and last is not None and last.labels:
            blocks[-1] = replace(last, rows=last.rows + n, labels=last.labels + 1, width=last.width + width)
        else:
            label = ("NULL" if path[-1] is None else path[-1]) if is_shown else None
            blocks.append(Block(label, n, 0 if is_shown else 1, start, width))
        start, parent = start + width, path[:-1]
    return blocks


class _StoppedError(Exception):
    """The work is not needed any more."""


@dataclass
class Task:
    work: Callable[[Callable[[Progress], None]], Any]
    result: Any = None  # None until it is done
    problem: str | None = None  # the message of the error that ended it
    doing: str = ""  # the current step
    wanted: float = 0.0  # time of the last request for it, by ``time.monotonic``
    is_queued: bool = False

    @property
    def is_done(self) -> bool:
        return self.result is not None or self.problem is not None


class BackgroundWork:
    """Works tasks off, one at a time: those of the smallest priority and order first."""

    def __init__(self) -> None:
        self._waiting: PriorityQueue[tuple[int, int, int, Task]] = PriorityQueue()
        self._arrival = count()
        self._turn = Lock()  # held while a task runs, and while none may
        self._ended = self._stops = False
        self.engine: Any = None
        self._context = copy_context()
        self._executor = ThreadPoolExecutor(1, "kanon-explore")

    def want(self, task: Task, priority: int, order: int = 0) -> None:
        """Queue a task that a page asks for, unless it is done, waits or runs."""
        task.wanted = time.monotonic()
        if not (self._ended or task.is_done or task.is_queued):
            task.is_queued = True
            self._waiting.put((priority, order, next(self._arrival), task))
            self._executor.submit(self._context.run, self._next)

    def _next(self) -> None:
        with self._turn:
            *_, task = self._waiting.get()
            if not (self._ended or task.is_done or time.monotonic() - task.wanted > _FORGOTTEN):
                self._work(task)
            task.is_queued = False

    def _work(self, task: Task) -> None:
        def listen(progress: Progress) -> None:
            task.doing = progress.doing
            is_unwanted = not self._waiting.empty() and time.monotonic() - task.wanted > _UNWANTED
            if self._stops or is_unwanted:
                raise _StoppedError

        try:
            task.result = task.work(listen)
        except KanonError as error:
            task.problem = None if self._stops else str(error)
        except (_StoppedError, KeyboardInterrupt):  # or its statement was interrupted
            pass
        except Exception as error:  # noqa: BLE001 - the last resort: its text may quote data
            task.problem = unforeseen(error)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop what runs, and begin nothing new."""
        self._stops = True
        while not self._turn.acquire(timeout=0.05):
            if self.engine is not None:
                with suppress(Exception):  # it may be closed at this moment
                    self.engine.connection.interrupt()
        try:
            yield
        finally:
            self._stops = False
            self._turn.release()

    def close(self) -> None:
        self._ended = True
        self._executor.shutdown(wait=False, cancel_futures=True)
        with self.paused():
            pass


def unforeseen(error: Exception) -> str:
    """Describe an unexpected error by its place; its text may quote data."""
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return f"This is a bug in kanon: {type(error).__name__} in {where}; please report it."


class Workspace:
    """The table of one run of ``kanon explore``.

    Attributes:
        given: the given policy; None if one is proposed from the profile.
        taken: names of relations beside the table, in a database file.
        profile: None until it is computed.
    """

    def __init__(self, source: Any, table: str | None, given: Policy | None) -> None:  # noqa: ANN401 - as open_source
        self.source, self.table = named_table(source, table, None if given is None else given.origin)
        self.given = given
        self.background = BackgroundWork()
        self.origin: Origin | None = None
        self.time_zone = zone_in_force() if given is None else given.time_zone
        self.in_database = False
        self.taken: set[str] = set()
        self.name = ""
        self._lock, self._tasks_lock = RLock(), RLock()
        self._benches: dict[str, Bench] = {}
        self._behind: dict[str, PreparedTable] = {}
        self._tasks: dict[str, Task] = {}
        self.base: Base | None = None
        self.profile: Profile | None = None
        self.problem: str | None = None
        with (opened := self._opened()).engine:  # a table that cannot be opened is reported before anything is served
            self.name, self.in_database = opened.name, opened.in_database
            self.table = opened.written_name if opened.in_database else self.table
            self.origin = origin_of(self.source, self.table, opened)
            self._begun_with = self._stamps()
            if opened.database is not None:
                self.taken |= {row[2] for row in opened.engine.rows(sql.statement("catalog/tables"), "names taken")}
            if given is not None:
                prepared, given = with_dates(with_prepared(opened, given.prepare), given)
                self.base = self._begun(given, prepared.columns)
        self._look = Task(lambda _: self._profiled())
        self.background.want(self._look, 0)

    def _opened(self) -> Source:
        with computing_in(self.time_zone):
            return open_source(self.source, self.table)

    def _profiled(self) -> bool:
        opened = self._opened()
        self.background.engine = opened.engine
        try:
            if self.given is None:
                opened, self.profile = proposal_of(opened, rules_of({}), ())
                text = self.profile.to_toml(origin=self.origin)
                policy, _ = parse_policy(text, Path("kanon.toml"))
                self.base = self._begun(policy, opened.columns)
            else:
                opened, self.given = with_dates(with_prepared(opened, self.given.prepare), self.given)
                named = self.given.columns
                there = [
                    [name for name in names if find_column(name, opened.columns)]
                    for names in (named.quasi_identifiers, named.sensitive)
                ]
                self.profile = profile_of(opened, quasi_identifiers=there[0], sensitive=there[1], entity=named.entity)
            return True
        finally:
            opened.engine.close()

    def _begun(self, policy: Policy, columns: Sequence[Column]) -> Base:
        """Return the base of states; it has a seed, so runs are repeatable."""
        seed = secrets.randbits(31) if policy.seed is None else policy.seed
        return Base.of(replace(policy, origin=self.origin, seed=seed, time_zone=self.time_zone), columns)

    def ready(self, seconds: float) -> bool:
        """Wait for the policy that pages begin with; return True if it is ready."""
        end = time.monotonic() + seconds
        while self.base is None:
            if self._look.problem is not None:
                raise UsageError(self._look.problem)
            if time.monotonic() > end:
                self.background.want(self._look, 0)
                return False
            time.sleep(0.01)
        return True

    # Fast answers

    @contextmanager
    def bench(self, policy: Policy) -> Iterator[Bench]:
        """Yield the table prepared for the roles and hierarchies of a policy, to one request at a time."""
        key = self._prepared_key(policy)
        with self._lock:
            if key not in self._benches:
                while len(self._benches) >= _BENCHES:
                    self._benches.pop(next(iter(self._benches))).close()
                self._benches[key] = Bench(self._prepared(policy))
            self._benches[key] = bench = self._benches.pop(key)  # the latest
            bench.lock.acquire()
        try:
            yield bench
        finally:
            bench.lock.release()

    def _prepared_key(self, policy: Policy) -> str:
        """Return the key of a prepared table: roles, hierarchies, and the current state of the files."""
        rules = [parse_rule(rule, policy.directory) for rule in policy.hierarchies.values()]
        files = [rule.path for rule in rules if isinstance(rule, ListedRule)]
        if policy.hierarchy_directory is not None:
            files += hierarchy_files(policy.hierarchy_directory)
        return repr((self._stamps(), stamps_of(files), _as_prepared(policy)))

    def _stamps(self) -> Stamps:
        """Return the stamps of the files of the table; empty for a table on a server."""
        if not isinstance(path := place_of(self.source), Path):
            return ()
        return stamps_of_database(path) if self.in_database else stamps_of(files_at(path))

    @property
    def has_changed(self) -> bool:
        """True if the files of the table changed since its columns were profiled."""
        return not self.in_database and self._stamps() != self._begun_with

    def _prepared(self, policy: Policy, listen: Listener | None = None) -> PreparedTable:
        from kanon_sql.release.prepared_table import prepare

        own = replace(_as_prepared(policy), models=policy.models)  # errors name its k
        return prepare(self.source, self.table, policy=own, progress=listen)

    # Slow answers

    def found(self, policy: Policy) -> Task:
        return self._wanted(
            ("found", self._prepared_key(policy), repr(policy)), lambda listen: self._found(policy, listen), 0
        )

    def evidence(self, policy: Policy) -> Task:
        """Return the task of the evidence for the release of a policy: its classes, risks and attacks."""

        def work(listen: Callable[[Progress], None]) -> Report:
            from kanon_sql.evidence.report.gather import report_of

            return report_of(self._released(policy, listen), curve=(), progress=listen)

        return self._wanted(("evidence", self._prepared_key(policy), repr(policy)), work, 1)

    def remedies(self, policy: Policy, *, as_view: bool) -> Task:
        """Return the task of the options that would lose less than a policy, each tried."""

        def work(listen: Callable[[Progress], None]) -> Remedies:
            from kanon_sql.release.remedies import remedies

            return remedies(self._released(policy, listen), as_view=as_view)

        return self._wanted(("remedies", self._prepared_key(policy), repr(policy)), work, 1)

    def points(self, state: State) -> list[Task]:
        """Return the tasks of the trade-off: the current k and limit first."""
        policy = state.searched().policy()
        made_of = self._prepared_key(policy)
        own = (state.algorithm, state.k, state.limit)
        names = names_for(policy.measure)
        if policy.levels:  # others have no levels that could be pinned
            names = tuple(name for name in names if name in algorithms_of("full-domain"))
        names = tuple(name for name in names if name not in _SAME_AS_OTHERS or name == state.algorithm)
        first = ("optimal", "local", "mondrian", "datafly")
        ordered = sorted(names, key=lambda name: first.index(name) if name in first else len(first))
        wanted = [(name, state.k, state.limit) for name in ordered]
        wanted += [(name, k, state.limit) for k, name in product(_SAMPLE_OF_K, ordered[:2])]
        wanted += [(name, state.k, limit) for limit, name in product(_LIMITS, ordered[:2])]
        found = []
        for place, (algorithm, k, limit) in enumerate(dict.fromkeys([own, *wanted])):
            point = Point(algorithm, k, limit)
            one = replace(state.searched(), algorithm=algorithm, k=k, limit=limit, measure="loss", risk="highest")
            task = self._wanted(
                ("point", made_of, repr(one.parameters())),
                lambda listen, one=one, point=point: self._point(one, point, listen),  # type: ignore[misc]
                2,
                place,
            )
            found.append(task)
        return found

    def _wanted(
        self, key: tuple[str, ...], work: Callable[[Callable[[Progress], None]], Any], priority: int, order: int = 0
    ) -> Task:
        with self._tasks_lock:
            task = self._tasks.setdefault("\0".join(key), Task(work))
        self.background.want(task, priority, order)
        return task

    def _released(self, policy: Policy, listen: Callable[[Progress], None]) -> Release:
        from kanon_sql.release.anonymize import release_of

        key = self._prepared_key(policy)
        if key not in self._behind:
            for table in self._behind.values():
                table.close()
            self._behind.clear()
            self._behind[key] = self._prepared(policy, listen)
        prepared = self._behind[key].prepared
        self.background.engine = prepared.source.engine
        return release_of(prepared, policy, listen)

    def _found(self, policy: Policy, listen: Callable[[Progress], None]) -> Found:
        from kanon_sql.evidence.report.gather import sql_of

        release = self._released(policy, listen)
        levels = release.levels
        return Found(
            algorithm=policy.algorithm,
            node=None if levels is None else tuple(levels.values()),
            levels=levels,
            value=release.value,
            measures=release.measures,
            rows_in=release.rows_in,
            rows_suppressed=release.rows_suppressed,
            classes=release.classes,
            optimal=release.optimal,
            gap=release.gap,
            stopped=release.result.stopped,
            sql=sql_of(release.publication),
        )

    def _point(self, state: State, point: Point, listen: Callable[[Progress], None]) -> Point:
        from kanon_sql.evidence.report.proof import release_rows

        try:
            policy = state.policy()
            limited = replace(policy, time_limit=min(policy.time_limit or _SECONDS, _SECONDS))
            release = self._released(limited, listen)
            with release_rows(release) as made:
                risks = _risks(release, made.rows, made.people)
        except KanonError as error:
            return replace(point, problem=str(error))
        share = release.rows_suppressed / max(1, release.rows_in)
        return replace(point, measures=release.measures, risks=risks, share_suppressed=share)

    # Until Publish

    @contextmanager
    def let_go(self) -> Iterator[None]:
        """Close every connection, so that another process may write to the database; they are opened again later."""
        with self._lock, self.background.paused(), self._tasks_lock:
            self._close_tables()
            self._tasks = {key: task for key, task in self._tasks.items() if task.is_done}
            yield

    def close(self) -> None:
        """Stop the work and close every connection."""
        self.background.close()
        with self._lock:
            self._close_tables()

    def _close_tables(self) -> None:
        for bench in self._benches.values():
            bench.close()
        for table in self._behind.values():
            table.close()
        self._benches.clear()
        self._behind.clear()


def _as_prepared(policy: Policy) -> Policy:
    """Return a policy without the settings of a search: equal ones share a prepared table."""
    models = tuple(replace(one, k=_SAMPLE_OF_K[0]) if isinstance(one, KAnonymity) else one for one in policy.models)
    plain: dict[str, Any] = dict.fromkeys(options_of_others("optimal"))
    plain |= {"algorithm": "optimal", "levels": {}, "time_limit": None}
    return replace(policy.suppressing(0.0), models=models, **plain)


def _risks(release: Release, rows: exp.Table, people: exp.Table | None) -> dict[str, float | None]:
    """Return the risks of a release: of people if they are counted, otherwise of rows."""
    from kanon_sql.risks.estimators.assessment import RiskSettings, assess

    publication, engine = release.publication, release.prepared.source.engine
    columns = publication.published_quasi_identifiers
    entity = publication.roles.entity
    settings = RiskSettings(subsets=1)
    if people is None or entity is None:
        found = assess(engine, rows, columns, settings)
    else:
        person = replace(entity, name=publication.entity_name)
        found = assess(engine, people, columns, settings, entity=person)
    prosecutor = found.prosecutor
    return {"highest": prosecutor.highest, "average": prosecutor.average, "share": prosecutor.share_above_threshold}


def base_levels(state: State, hierarchies: Sequence[Hierarchy], found: Node | None) -> Node:
    """Return the node that a state shows: chosen levels, and those of the optimum for other columns."""
    chosen = {folded(name): level for name, level in state.levels.items()}
    node = []
    for place, hierarchy in enumerate(hierarchies):
        level = chosen.get(folded(hierarchy.column.name), hierarchy.height if found is None else found[place])
        if level > hierarchy.height:
            raise UsageError(f"Column {hierarchy.column.name!r} has levels 0 to {hierarchy.height}, not {level}.")
        node.append(level)
    return tuple(node)
