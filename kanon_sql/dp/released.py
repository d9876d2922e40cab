"""A differentially private release: its public facts, and the functions that publish it.

Exact facts about the table or the sample stay internal: the number of rows, of sampled and of suppressed rows, and the
run time. All reported numbers can be counted in the release itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kanon_sql.dp.sampling import TITLE, unlisted_statement
from kanon_sql.engine.base import Closing
from kanon_sql.errors import UsageError, VerificationError
from kanon_sql.hierarchy.lookup_relation import lookup_statement
from kanon_sql.hierarchy.spec import FromFile
from kanon_sql.policy.destination import Destination
from kanon_sql.release.publish.files import require_frame
from kanon_sql.release.publish.route import FETCHES, put, to_frame
from kanon_sql.release.script import Plan, Step, plan_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from decimal import Decimal

    from sqlglot import exp

    from kanon_sql.dp.safepub import SafePubParameters
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.hierarchy.spec import Rule
    from kanon_sql.release.publication import Publication
    from kanon_sql.release.publish.publisher import Published
    from kanon_sql.release.verify.verify import Expected

Result = TypeVar("Result")

ASSUMPTIONS = (
    "A person is in at most one row of the table: epsilon and delta are about one row more or less.",
    "Hierarchies were not made from this table, nor were levels that somebody chose.",
    "Names and types of columns say nothing about anybody.",
    "Nobody can tell HMAC-SHA256 under a secret key from coins: rows are sampled by it.",
)
"""Assumptions of the guarantee that kanon cannot check."""


@dataclass(frozen=True)
class PublishedSample:
    """The sample and its publication; internal, as much of it is exact.

    The ``statement`` made the sample, with placeholders for its key; the release must match ``expected``.
    """

    source: Source
    publication: Publication
    rules: Mapping[str, Rule]
    statement: exp.Create
    expected: Expected


@dataclass(frozen=True)
class DPRelease(Closing):
    """A differentially private release, sampled and paid for, ready to be published.

    It can be published several times: the sample stays the same and costs no more. It keeps its source open until
    ``close``, or the end of a ``with`` block.

    Attributes:
        parameters: of SafePub: k, and the epsilon and delta of publishing at the levels.
        levels: the level of each column.
        epsilon_search: spent to choose the levels; 0 if they were given.
        smallest_class: number of rows of the smallest class.
    """

    parameters: SafePubParameters
    levels: dict[str, int]
    epsilon_search: Decimal
    rows_out: int
    classes: int
    smallest_class: int
    _drawn: PublishedSample = field(repr=False)

    @property
    def epsilon(self) -> Decimal:
        """The total epsilon: of the choice of levels and of the release at these."""
        return self.parameters.epsilon + self.epsilon_search

    @property
    def delta(self) -> Decimal:
        """The total delta: the choice of levels costs no delta."""
        return self.parameters.delta

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of the guarantee."""
        return ASSUMPTIONS

    def to_table(self, name: str, *, replace: bool = False) -> Published:
        """Write the release to a table in the database of its source.

        Args:
            name: of the table.
            replace: whether to replace an existing object of that name.

        Raises:
            UsageError: the source is in no database, or the name is taken.
            VerificationError: the output was wrong; it was removed.
        """
        return self.publish(Destination(into=name, replace=replace))

    def to_file(self, path: str | os.PathLike[str], *, replace: bool = False) -> Published:
        """Write the release to a Parquet, CSV or JSON file, or to a DuckDB file that contains nothing else.

        Raises:
            UsageError: the suffix is unknown, or the file exists.
            SourceError: the file cannot be written.
            VerificationError: the output was wrong; it was removed.
        """
        return self.publish(Destination(out=Path(path), replace=replace))

    def to_pandas(self) -> Any:  # noqa: ANN401 - a pandas.DataFrame, which is imported only here
        """Return the release as a pandas data frame with a new index."""
        return self._frame("pandas")

    def to_polars(self) -> Any:  # noqa: ANN401 - a polars.DataFrame, which may not be installed
        """Return the release as a polars data frame."""
        return self._frame("polars")

    def to_arrow(self) -> Any:  # noqa: ANN401 - a pyarrow.Table, which may not be installed
        """Return the release as an Arrow table."""
        return self._frame("arrow")

    def publish(self, destination: Destination) -> Published:
        """Write the release to a destination.

        Raises:
            UsageError: the destination is empty, or not possible for such a release.
        """
        require_destination(destination)
        drawn = self._drawn
        where = Destination(into=destination.into, out=destination.out, replace=destination.replace)
        return _quietly(lambda: put(drawn.source, drawn.publication, drawn.expected, where))

    def sql(self, destination: Destination | None = None) -> str:
        """Return the script that makes a similar release: it has its own key, and so another sample."""
        return sample_script(self._drawn, destination or Destination())

    def summary(self, published: Published | None = None) -> dict[str, Any]:
        """Return the public facts of the release as plain values, as ``--format json`` prints them."""
        parameters, source = self.parameters, self._drawn.source
        return {
            "mechanism": "SafePub",
            "source": source.name,
            "destination": None if published is None else published.destination,
            "epsilon": float(self.epsilon),
            "epsilon_search": float(self.epsilon_search),
            "delta": float(self.delta),
            "k": parameters.k,
            "beta": float(parameters.beta),
            "gamma": float(parameters.gamma),
            "levels": self.levels,
            "heights": {tree.column.name: tree.height for tree in self._drawn.publication.hierarchies},
            "hierarchies": {tree.column.name: tree.origin for tree in self._drawn.publication.hierarchies},
            "rows_out": self.rows_out,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "assumptions": list(ASSUMPTIONS),
        }

    def close(self) -> None:
        """Close the source, and drop the sample."""
        self._drawn.source.engine.close()

    def _frame(self, kind: str) -> Any:  # noqa: ANN401 - a data frame of that kind
        drawn = self._drawn
        require_frame(drawn.source.engine, drawn.publication, kind)
        frame, _ = _quietly(lambda: to_frame(drawn.source, drawn.publication, drawn.expected, FETCHES[kind]))
        return frame


def require_destination(destination: Destination) -> None:
    if destination.in_place or destination.kind != "table":
        raise UsageError(
            "A differentially private release is a table or a file: a view would show rows that come later, and would "
            "be another release, with an epsilon of its own, each time that it is read."
        )
    if not destination.is_somewhere:
        raise UsageError("Say where the release should go: --into NAME or --out FILE.")


def sample_script(drawn: PublishedSample, destination: Destination) -> str:
    """Return the statements from the table to the release, with placeholders for the key of the sample."""
    source, publication = drawn.source, drawn.publication

    lookup = partial(lookup_statement, source.engine)
    steps = {step.name: step for step in plan_of(source, publication, destination, lookup).steps}
    trees = publication.hierarchies
    lookups = tuple(map(lookup, trees))
    unlisted = tuple(
        unlisted_statement(publication.source, tree)
        for tree in trees
        if isinstance(drawn.rules[tree.column.name], FromFile)
    )
    made = [
        Step("sample", TITLE, (drawn.statement,)),
        Step("hierarchies", "Hierarchies: each value with its label at every level", lookups),
        Step("unlisted", "Values that a hierarchy does not list count as missing", unlisted),
    ]
    before = [steps.pop("source")] if "source" in steps else []
    steps.pop("hierarchies", None)
    return Plan((*before, *(step for step in made if step.statements), *steps.values())).script()


def _quietly(publish: Callable[[], Result]) -> Result:
    """Return the result of a function; drop details about unexpected rows from its errors."""
    try:
        return publish()
    except VerificationError:
        raise VerificationError(
            "The release failed the check of its own output and was taken back. Nothing was kept; the finding is not "
            "printed, since it is exact."
        ) from None
