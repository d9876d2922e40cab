"""A differentially private release: what may be said of it, and the ways to publish it.

What is exact about the table or about the sample is kept to itself: how many rows there were, how many were sampled or
left out, how long it took. What is said can be counted in the release itself.
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
"""What the promise rests on, and cannot be seen from here."""


@dataclass(frozen=True)
class PublishedSample:
    """The sample and how it is published; kept to itself, as much of it is exact.

    The ``statement`` made the sample, with placeholders for its key; the release must have what is ``expected``.
    """

    source: Source
    publication: Publication
    rules: Mapping[str, Rule]
    statement: exp.Create
    expected: Expected


@dataclass(frozen=True)
class DPRelease(Closing):
    """A differentially private release, sampled and paid for, ready to be published.

    It can be published several times: the sample is the same each time, and costs no more. It holds its source open
    until ``close``, or the end of a ``with`` block.

    Attributes:
        parameters: of SafePub: k, and the epsilon and delta of what is published at the levels.
        levels: the level of each column.
        epsilon_search: spent to choose them; 0 if they were given.
        smallest_class: rows of the smallest class.
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
        """All that is spent: by the choice of levels and by the release at these."""
        return self.parameters.epsilon + self.epsilon_search

    @property
    def delta(self) -> Decimal:
        """All that is spent: the choice of levels costs no delta."""
        return self.parameters.delta

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the promise rests on."""
        return ASSUMPTIONS

    def to_table(self, name: str, *, replace: bool = False) -> Published:
        """Make the release a table in the database of its source.

        Args:
            name: of the table.
            replace: whether something of that name may be replaced.

        Raises:
            UsageError: the source is in no database, or the name is taken.
            VerificationError: the output is not what it should be; it was taken back.
        """
        return self.publish(Destination(into=name, replace=replace))

    def to_file(self, path: str | os.PathLike[str], *, replace: bool = False) -> Published:
        """Write the release to a Parquet, CSV or JSON file, or to a DuckDB file that holds nothing else.

        Raises:
            UsageError: the suffix is not known, or the file exists.
            SourceError: the file cannot be written.
            VerificationError: the output is not what it should be; it was taken back.
        """
        return self.publish(Destination(out=Path(path), replace=replace))

    def to_pandas(self) -> Any:  # noqa: ANN401 - a pandas.DataFrame, which is imported only here
        """Return the release as a pandas data frame with an index of its own."""
        return self._frame("pandas")

    def to_polars(self) -> Any:  # noqa: ANN401 - a polars.DataFrame, which may not be installed
        """Return the release as a polars data frame."""
        return self._frame("polars")

    def to_arrow(self) -> Any:  # noqa: ANN401 - a pyarrow.Table, which may not be installed
        """Return the release as an Arrow table."""
        return self._frame("arrow")

    def publish(self, destination: Destination) -> Published:
        """Put the release where a destination says.

        Raises:
            UsageError: it says nothing, or what no such release can be.
        """
        require_destination(destination)
        drawn = self._drawn
        where = Destination(into=destination.into, out=destination.out, replace=destination.replace)
        return _quietly(lambda: put(drawn.source, drawn.publication, drawn.expected, where))

    def sql(self, destination: Destination | None = None) -> str:
        """Return the script that makes a release like this one: with a key of its own, so of another sample."""
        return sample_script(self._drawn, destination or Destination())

    def summary(self, published: Published | None = None) -> dict[str, Any]:
        """Return what may be said of the release as plain values: what ``--format json`` prints."""
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
        """Let go of the source, and drop the sample."""
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
    """Return what a function returns; what it says of rows that are not as expected is kept back."""
    try:
        return publish()
    except VerificationError:
        raise VerificationError(
            "The release failed the check of its own output and was taken back. Nothing was kept; what it had found is "
            "not said, since it is exact."
        ) from None
