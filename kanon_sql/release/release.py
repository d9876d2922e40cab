"""A release: the recoding that a search found, its cost, and the methods that publish it."""

from __future__ import annotations

import dataclasses
import secrets
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar

from kanon_sql.engine.base import Closing
from kanon_sql.engine.keys import require_apart
from kanon_sql.engine.progress import silent, take_steps, within
from kanon_sql.errors import SourceError, UsageError
from kanon_sql.measures.shares import at_most
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.policy.destination import Destination, decided_backup
from kanon_sql.policy.policy import Policy
from kanon_sql.policy.weights import in_json, stated_weights, weights_said
from kanon_sql.release.publish.files import check_file, for_file, require_frame
from kanon_sql.release.publish.publisher import target_table
from kanon_sql.release.publish.route import FETCHES, check_destination, put, to_frame, to_spark
from kanon_sql.release.verify.classes import ModelResult, k_of
from kanon_sql.release.verify.verify import Expected
from kanon_sql.sql.dialects import require_materialized_views, require_views

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from sqlglot import exp

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.engine.keys import Key
    from kanon_sql.engine.progress import Listener, TimedStep
    from kanon_sql.measures.quality import ClassCounts
    from kanon_sql.policy.destination import Kind
    from kanon_sql.policy.tables import TablesPolicy
    from kanon_sql.release.ledger.ledger import Ledger
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.publish.publisher import Published
    from kanon_sql.release.script import Plan, Script
    from kanon_sql.release.verify.classes import Verification
    from kanon_sql.search.prepare import Prepared
    from kanon_sql.search.problem import SearchResult

AnyPolicy = TypeVar("AnyPolicy", bound="Policy | TablesPolicy")
Looked = TypeVar("Looked")


def with_seed(policy: AnyPolicy) -> AnyPolicy:
    """Return a policy with a seed: its own, or a random one for this release."""
    return policy if policy.seed is not None else dataclasses.replace(policy, seed=secrets.randbits(31))


@dataclass(kw_only=True)
class Made(Closing, Generic[AnyPolicy]):
    """The state of a release while its steps run."""

    policy: AnyPolicy
    key: Key = field(repr=False)  # of pseudonyms
    progress: Listener = field(default=silent, repr=False)
    begun: float = field(default_factory=time.monotonic, repr=False)  # the start of its time limit
    seconds: dict[str, float] = field(default_factory=dict)  # by step

    def take(self, steps: Sequence[TimedStep[Self]]) -> None:
        """Run further steps."""
        take_steps(steps, self, self.seconds, self.progress)


@dataclass(kw_only=True, repr=False)
class Release(Made[Policy]):
    """The best recoding that was found for a table, ready to be published.

    Nothing is published yet. ``to_table``, ``to_view``, ``to_file`` and the methods for data frames each make the
    release again, verify the rows that they made, and then return the result. A release holds its source open until
    ``close`` or the end of a ``with`` block.
    """

    prepared: Prepared
    result: SearchResult = field(init=False)
    publication: Publication = field(init=False)
    measures: dict[str, float | None] = field(init=False)
    counts: ClassCounts = field(init=False)
    losses: tuple[float, ...] = field(init=False)  # of each quasi-identifier
    spent: float = 0.0  # used seconds of the time limit
    keeps_source: bool = True  # False for the source of a ``PreparedTable``, which stays open

    # Results

    @property
    def levels(self) -> dict[str, int] | None:
        """The level of each quasi-identifier, 0 for original values; None if a column has several levels."""
        return self.publication.recoding.levels(self.publication.hierarchies)

    @property
    def steps(self) -> list[dict[str, Any]] | None:
        """The steps of a local recoding, each with the levels of its node and the number of rows it publishes."""
        return self.publication.recoding.described_steps(self.publication.hierarchies, self.result.published)

    @property
    def cutting(self) -> dict[str, Any] | None:
        """How Mondrian cut the table, the number of rounds, and how parts are written; None for other algorithms."""
        return self.publication.recoding.described_cutting(self.publication.hierarchies)

    @property
    def path_share(self) -> float | None:
        """The share of the search time that SPOLG used to choose its path, 0 to 1; None for other algorithms."""
        spent = self.result.path_seconds
        return None if spent is None else spent / self.seconds["search"]

    @property
    def rows_in(self) -> int:
        """Number of rows of the table."""
        return self.prepared.frequency.rows

    @property
    def rows_suppressed(self) -> int:
        """Number of rows that are suppressed."""
        return self.counts.suppressed

    @property
    def rows_out(self) -> int:
        """Number of rows that are published."""
        return self.counts.rows

    @property
    def classes(self) -> int:
        """Number of equivalence classes that are published."""
        return self.counts.published

    @property
    def loss(self) -> float:
        """The share of other values that a cell could have, averaged over all cells: 0 to 1."""
        return self.measures["loss"] or 0.0

    @property
    def bound(self) -> float | None:
        """The proven limit of ``policy.measure`` that no release of this kind can beat; None if nothing is proven.

        If this release is proven optimal, the limit is its own value. ``prove`` also proves a limit
        for ``local`` and ``spolg``: for them, "this kind" is any recoding by labels of these hierarchies. Ranges and
        sets, which ``mondrian`` writes by default, can lose less.
        """
        bound = self.result.bound
        return None if bound is None else self.prepared.objective(self.policy).value(bound)

    @property
    def value(self) -> float | None:
        """The value of ``policy.measure`` for this release; None for an average over no classes."""
        return self.measures[self.policy.measure]

    @property
    def gap(self) -> float | None:
        """By what share of its cost a better release of this kind could at most beat this one by ``policy.measure``.

        The cost is the measure itself, or 1 minus it if more is better. The gap is 0 if the release is proven optimal,
        and None if unknown. For ``local`` and ``spolg``, "this kind" is any recoding by labels of these hierarchies.
        """
        return self.result.gap_above(self.prepared.objective(self.policy).least)

    @property
    def optimal(self) -> bool:
        """True if it is proven that no release of this kind is better by ``policy.measure``."""
        return self.result.optimal

    @property
    def labels(self) -> dict[str, int] | None:
        """The number of labels of each quasi-identifier; None for a local recoding."""
        labels = self.counts.labels
        return None if labels is None else dict(zip(self.publication.quasi_identifiers, labels, strict=True))

    @property
    def models_before(self) -> tuple[ModelResult, ...]:
        """The value of each model in its worst class, as measured by the search."""
        return tuple(
            ModelResult(one.name, one.required, measured, holds=True, letter=one.letter, sensitive=one.sensitive)
            for one, measured in zip(self.publication.models, self.counts.worst, strict=True)
        )

    @property
    def emptied(self) -> list[str]:
        """The quasi-identifiers with the root in over half of the published rows, or generalized to a single label.

        If the table is cut into parts, those with the root in all rows. Columns of weight 0 are not listed, because any
        generalization of them is equally good.
        """
        weights = self.prepared.weights(self.policy)
        nodes, published = self.publication.recoding.nodes, self.result.published or (self.rows_out,)
        if not self.rows_out:
            return []
        if not nodes:
            names = self.publication.quasi_identifiers
            return [
                name for name, loss, weight in zip(names, self.losses, weights, strict=True) if weight and loss == 1
            ]
        labels, levels = self.labels or {}, self.levels or {}
        return [
            hierarchy.column.name
            for place, hierarchy in enumerate(self.publication.hierarchies)
            if weights[place]
            and (
                (levels.get(hierarchy.column.name, 0) > 0 and labels.get(hierarchy.column.name) == 1)
                or sum(rows for node, rows in zip(nodes, published, strict=True) if node[place] == hierarchy.height > 0)
                * 2
                > self.rows_out
            )
        ]

    # Publishing

    def to_table(
        self,
        name: str,
        *,
        replace: bool = False,
        ignore_ledger: bool = False,
        lock: str | os.PathLike[str] | None = None,
    ) -> Published:
        """Write the release as a table to the database of its source.

        Args:
            name: of the table.
            replace: whether to replace an existing table or view of that name.
            ignore_ledger: whether to publish regardless of earlier releases; the ledger remembers the release anyway.
            lock: the path of the lock to write. New rows need it to be appended to the table (see ``apply``).

        Raises:
            UsageError: the source is not in a database, or the name is taken.
            UnsuitableError: new rows could not be published with the same rules, so no lock is possible.
            VerificationError: the output failed verification and was removed.
            JointReleaseError: the release reveals too much together with an earlier release, and was removed.
        """
        path = None if lock is None else Path(lock)
        return self.publish(Destination(into=name, replace=replace, lock=path), ignore_ledger=ignore_ledger)

    def to_view(
        self, name: str, *, replace: bool = False, ignore_ledger: bool = False, materialized: bool = False
    ) -> Published:
        """Make the release a view over its source. Convenient, but the raw table stays behind it (see the docs).

        A ``materialized`` view (PostgreSQL) keeps its rows until it is refreshed. All else is as for ``to_table``.
        """
        kind: Kind = "materialized-view" if materialized else "view"
        return self.publish(Destination(into=name, kind=kind, replace=replace), ignore_ledger=ignore_ledger)

    def to_file(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = False,
        ignore_ledger: bool = False,
        spreadsheet_safe: bool = False,
        delimiter: str | None = None,
        encoding: str | None = None,
        decimal: str | None = None,
    ) -> Published:
        """Write the release to a Parquet, CSV, JSON or Excel file, or to a DuckDB file that holds nothing else.

        The database of the source is opened for writing, to remember the release there. If that is not possible,
        ``not_remembered`` of the result gives the reason.

        Settings of CSV files are those of ``Destination``. All else is as for ``to_table``.

        Raises:
            UsageError: the suffix is unknown, the file exists, a setting of CSV files was given for another format, or
                the encoding lacks characters of the release.
            SourceError: the file cannot be written.
        """
        as_csv: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
        where = Destination(out=Path(path), replace=replace, spreadsheet_safe=spreadsheet_safe, **as_csv)
        return self.publish(where, ignore_ledger=ignore_ledger)

    def in_place(
        self,
        *,
        backup: str | os.PathLike[str] | Literal[False] | None = None,
        dry_run: bool = False,
        ignore_ledger: bool = False,
    ) -> Published:
        """Replace the table with the release, and leave no raw value of the table in the file (see docs/in-place.md).

        The release cannot be used afterwards: the rows that it was made from are gone. After an error the file is
        unchanged.

        Args:
            backup: a new file to copy the file to first, with all raw rows; or False for no copy. Required.
            dry_run: whether to make and check everything, and then leave the file unchanged.
            ignore_ledger: as for ``to_table``.

        Raises:
            UsageError: the source is not a table of a file, or something depends on its rows.
            SourceError: a file cannot be written, or another process has it open.
        """
        where = Destination(in_place=True, backup=decided_backup(backup) or False, dry_run=dry_run)
        return self.publish(where, ignore_ledger=ignore_ledger)

    def held_out_to_file(self, path: str | os.PathLike[str], *, replace: bool = False) -> int:
        """Write the rows that were held out, unchanged, to a CSV or Parquet file; return their number.

        They are a control group for ``attack``: people who are not in the release. Protect the file as you protect the
        table.

        Raises:
            UsageError: nothing was held out, or the file may not be written.
            SourceError: the file cannot be written.
        """
        from kanon_sql.release.hold_out import writing_held_out

        source = self.prepared.source
        with writing_held_out(source, Path(path), replace=replace):
            return 0 if source.held_out is None else source.held_out.rows

    def to_pandas(self) -> Any:  # noqa: ANN401 - a pandas.DataFrame, which is imported only here
        """Return the release as a pandas data frame with a new index."""
        return self._frame("pandas")

    def to_polars(self) -> Any:  # noqa: ANN401 - a polars.DataFrame, which may not be installed
        """Return the release as a polars data frame."""
        return self._frame("polars")

    def to_arrow(self) -> Any:  # noqa: ANN401 - a pyarrow.Table, which may not be installed
        """Return the release as an Arrow table."""
        return self._frame("arrow")

    def to_frame(self) -> Any:  # noqa: ANN401 - the kind of data frame that came in
        """Return the release as the kind of data frame that was given; pandas if none was given."""
        kind = self.prepared.source.frame_kind or "pandas"
        return self.to_spark() if kind == "spark" else self._frame(kind)

    def to_spark(self) -> Any:  # noqa: ANN401 - a DataFrame of pyspark, which may not be installed
        """Return the release as a data frame of the Spark session of its source; a UsageError for other sources.

        Spark computes its rows once and keeps them, without their lineage (as by ``localCheckpoint``).
        """
        self.prepared.source.require_rows()
        with self._in_time():
            frame, published = to_spark(self.prepared.source, self.publication, self.expected)
        self.seconds.update(published.seconds)
        return frame

    def verify(self) -> Verification:
        """Make the release in a temporary table, verify it there, and drop the table; return the verification."""
        return self.verified_with(lambda *_: None)[0]

    def verified_with(self, look: Callable[[DuckDBEngine, exp.Table], Looked]) -> tuple[Verification, Looked]:
        """Verify the release as ``verify`` does; also return the result of ``look`` on the verified table."""
        with self._in_time():
            looked, published = to_frame(self.prepared.source, self.publication, self.expected, look)
        self.seconds.update(published.seconds)
        return published.verification, looked

    def publish(self, destination: Destination, *, ignore_ledger: bool = False) -> Published:
        """Publish the release at a destination. A dry run makes and checks everything, and publishes nothing."""
        if not destination.is_somewhere:
            raise UsageError("Say where the release should go: --into NAME, --out FILE or --in-place.")
        source, publication, lock = self.prepared.source, self.publication, destination.lock
        if lock is not None:
            from kanon_sql.release.append.lock import locked_columns, require_lock_file

            source.refuse_held_out("and rows that are appended later would not be: leave the lock out.")
            require_lock_file(lock, source, self.policy, replace=destination.replace)
            locked_columns(publication)
        if destination.out is not None:
            check_file(source, destination.out, replace=destination.replace)
            require_apart(self.policy.key_file, [destination.out], "the release")
        if destination.in_place:
            check_destination(source, destination)
            require_apart(self.policy.key_file, [destination.backup or None], "the backup")
            source.make_writable()
        if (file := source.file if destination.in_place else destination.out) is not None:
            publication = for_file(publication, source, file, destination)
        with self._in_time(), self._ledger(ignore=ignore_ledger) as ledger:
            published = put(source, publication, self.expected, destination, ledger, self.progress)
        self.seconds.update(published.seconds)
        source.gone = destination.in_place and not destination.dry_run
        if lock is not None and not destination.dry_run:
            from kanon_sql.release.append.lock import write_lock

            try:
                target = target_table(source.engine, published.destination)
                write_lock(self.policy, self.prepared, publication, target, lock)
            except SourceError as error:
                raise SourceError(f"The release is there, and has no lock. {error}") from None
        return published

    # SQL and summaries

    def plan(
        self, destination: Destination | None = None, *, stands_alone: bool = False, dialect: str = "duckdb"
    ) -> Plan:
        """Return the statements from source to release: hierarchies, the release, its verification.

        A script that ``stands_alone`` includes hierarchies that are stored in the database, and results that its
        ``dialect`` cannot compute. Without a destination, the statement of the release returns its rows.
        """
        from kanon_sql.release.script import release_plan_of

        where = destination or Destination()
        return release_plan_of(self.prepared, self.publication, where, stands_alone=stands_alone, dialect=dialect)

    def sql(self, dialect: str = "duckdb", destination: Destination | None = None) -> str:
        """Return the script that makes the release: the statements that run here, as text to run elsewhere.

        In a dialect other than that of the source, the script stands alone: the source is expected to exist there, and
        no file is written. See ``script`` for its contents.
        """
        return self.script(dialect, destination).text

    def script(
        self,
        dialect: str = "duckdb",
        destination: Destination | None = None,
        *,
        lookups: str | os.PathLike[str] | None = None,
        replace: bool = False,
    ) -> Script:
        """Return the script that makes the release, and how many values of the table it contains unchanged.

        The script computes labels that follow a rule. Other labels (of hierarchy files, and of the texts and cuts of
        Mondrian) are looked up. The script contains the values that occur in published rows with their labels, or loads
        them from files that are written to the directory ``lookups``.

        Args:
            dialect: of the script.
            destination: of the release; without one, the statement returns its rows.
            lookups: the directory.
            replace: whether to replace existing files in the directory.

        Raises:
            UsageError: the dialect cannot express the release, a file exists, or the script would need values that only
                suppressed rows have.
            SourceError: a file cannot be written.
        """
        from kanon_sql.release.script import script_of

        source, publication = self.prepared.source, self.publication
        source.refuse_held_out("and a script would start from the whole table: run it on a table of the rest.")
        own, kind = source.engine.dialect, "table" if destination is None else destination.kind
        if source.preparation is not None or publication.rules is not None:  # a warehouse has temporary views for these
            source.require(
                "the script, of prepared columns or publish", "A script of prepared columns or publish rules"
            )
        if dialect != own:
            for made, done, option in (
                (publication.pseudonyms, "Pseudonyms are made by", "--pseudonymize"),
                (publication.rules, "Columns are published by rules in", "--publish"),
            ):
                if made is not None:
                    raise UsageError(
                        f"{done} functions that other dialects have under other names and with other types: leave "
                        f"--dialect out, or {option}."
                    )
            source.refuse_prepared("by functions that DuckDB alone has: leave --dialect out.")
            if kind != "table":
                require_views(dialect)
        if kind == "materialized-view":
            require_materialized_views(dialect)
        plan = self.plan(destination, stands_alone=dialect != own, dialect=dialect)
        return script_of(plan, dialect, None if lookups is None else Path(lookups), replace_files=replace)

    def statements_run(self, dialect: str = "duckdb") -> str:
        """Return all statements that ran so far, including node tests, each with its purpose."""
        from kanon_sql.release.script import logged_script, one_line

        script = logged_script(self.prepared.source.engine.statements, dialect)
        weights = stated_weights(self.policy.weights)
        return f"-- Weights of what columns lose: {one_line(weights_said(weights))}\n\n{script}" if weights else script

    def summary(self, published: Published | None = None) -> dict[str, Any]:
        """Return the results as plain values, as ``--format json`` prints them.

        Without a published output, ``k`` and ``models`` are those of the search.
        """
        checked = published.verification if published else None
        models = checked.models if checked else self.models_before
        smallest = checked.smallest_class if checked else self.counts.smallest
        entity = self.prepared.roles.entity
        of_some = known_subsets_of(self.publication.models) is not None
        k = k_of(models, smallest) if checked is None else checked.smallest_members
        if of_some and checked is None and entity is not None:  # the people of classes by all columns were not counted
            k = None
        return {
            "algorithm": self.policy.algorithm,
            "measure": self.policy.measure,
            **in_json(stated_weights(self.policy.weights)),
            "choice": self.policy.choice_made,
            "source": self.prepared.source.name,
            "destination": published.destination if published else None,
            "dry_run": bool(published and (published.dry_run or (published.in_place and not published.in_place.done))),
            "in_place": published.in_place.summary() if published and published.in_place else None,
            "ledger": asdict(published.ledger) if published and published.ledger else None,
            "levels": self.levels,
            "labels": self.labels,
            "steps": self.steps,
            "cutting": self.cutting,
            "instead": self.result.instead,
            "path_share": None if self.path_share is None else round(self.path_share, 4),
            "heights": {hierarchy.column.name: hierarchy.height for hierarchy in self.publication.hierarchies},
            "hierarchies": {
                hierarchy.column.name: {"origin": hierarchy.origin, "chosen": hierarchy.chosen}
                for hierarchy in self.publication.hierarchies
            },
            "rows_in": self.rows_in,
            "rows_out": checked.rows if checked else self.rows_out,
            "rows_suppressed": self.rows_suppressed,
            "classes": checked.classes if checked else self.classes,
            "k": k,
            "smallest_class": smallest,
            "smallest_class_people": checked.fewest_people if of_some and checked else _people(self, models),
            "entity": None if entity is None else entity.name,
            "counted": "rows" if entity is None else "people",
            "count": self.policy.count,
            "findings": [asdict(finding) for finding in self.prepared.findings],
            "models": [
                result.stated(model.entity) for result, model in zip(models, self.publication.models, strict=True)
            ],
            "pseudonyms": _pseudonyms(self, published),
            "publish": [] if self.publication.rules is None else self.publication.rules.summary(),
            "measures": self.measures,
            "optimal": self.optimal,
            "bound": self.bound,
            "gap": self.gap,
            "stopped": self.result.stopped,
            "proof_stopped": self.result.proof_stopped,
            "nodes_tested": self.result.nodes_tested,
            "lattice_size": self.prepared.lattice.size,
            "seed": self.publication.seed,
            "seconds": {step: round(seconds, 4) for step, seconds in self.seconds.items()},
        }

    def close(self) -> None:
        """Close the source and drop the temporary tables, unless a ``PreparedTable`` holds them."""
        if self.keeps_source:
            self.prepared.source.engine.close()

    def __repr__(self) -> str:
        unproven = f"by {self.policy.algorithm}" if self.gap is None else f"gap {at_most(self.gap)}"
        proof = "proven optimal" if self.optimal else unproven
        measure = self.policy.measure
        by = "" if measure == "loss" else f", minimizing {measure}"
        return (
            f"<Release of {self.prepared.source.name}: loss {self.loss:.4f} ({proof}{by}), {self.rows_out:,} of "
            f"{self.rows_in:,} rows in {self.classes:,} classes>"
        )

    @property
    def expected(self) -> Expected:
        """The counts that the output must have, from the search."""
        pseudonyms = self.publication.pseudonyms
        left_out = 0 if pseudonyms is None else pseudonyms.rows_left_out
        return Expected(self.rows_out, self.classes, self.rows_in - left_out, self.counts.squares)

    def _ledger(self, *, ignore: bool) -> Ledger | nullcontext[None]:
        """Return the ledger of the source's database; None if there is none to write to."""
        source = self.prepared.source
        source.require_rows()
        if not source.keeps_tables and source.holder.forgets is None:
            return nullcontext()
        from kanon_sql.release.ledger.ledger import LedgerOfTable

        how: dict[str, Any] = {"ignore": ignore, "unwritable": source.holder.forgets}
        return LedgerOfTable(self.policy, self.prepared, self.publication, self.rows_suppressed, **how)

    def _frame(self, kind: str) -> Any:  # noqa: ANN401 - a data frame of that kind
        source = self.prepared.source
        with self._in_time():
            require_frame(source.engine, self.publication, kind)
            frame, published = to_frame(source, self.publication, self.expected, FETCHES[kind])
        self.seconds.update(published.seconds)
        return frame

    def _in_time(self) -> AbstractContextManager[None]:
        """Return a context limited to what is left of the time limit after making this release."""
        return within(self.policy.time_limit, time.monotonic() - self.spent, found=True)


def _people(release: Release, models: Sequence[ModelResult]) -> int | float | None:
    """Return the fewest people in a class; None if no person is named, or no k is required."""
    for result, model in zip(models, release.publication.models, strict=True):
        if isinstance(model, KAnonymity) and model.entity is not None:
            return result.measured
    return None


def _pseudonyms(release: Release, published: Published | None) -> dict[str, Any] | None:
    """Return the columns published as pseudonyms, the origin of their key, and their verification."""
    pseudonyms = release.publication.pseudonyms
    if pseudonyms is None:
        return None
    verified = () if published is None else published.verification.pseudonyms
    return {
        "columns": pseudonyms.names,
        "key": pseudonyms.key.origin,
        "left_out": {"pseudonyms": pseudonyms.people_left_out, "rows": pseudonyms.rows_left_out},
        "verified": [tied.stated() for tied in verified],
    }
