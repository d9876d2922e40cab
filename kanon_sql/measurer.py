"""``measure``: what a published table is worth, by itself and against its original."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.anonymizer import make_policy
from kanon_sql.engine.sources import Source, is_database, open_beside, open_source
from kanon_sql.errors import UsageError
from kanon_sql.measures.average_class_size import average_class_size, average_rows
from kanon_sql.measures.cells import CELL_MEASURES
from kanon_sql.measures.published import measure_published
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.preparation import prepare_source
from kanon_sql.progress import Listener, Progress, silent
from kanon_sql.roles import NamedColumns, resolve_quasi_identifiers
from kanon_sql.verify import class_check_query, read_verification

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy import Policy


@dataclass(frozen=True)
class Measured:
    """What was measured in a table.

    Attributes:
        table: what was measured.
        original: what it was made from, if that was given.
        rows_in: rows of the original; None without one.
        rows_out: rows of the table.
        classes: its equivalence classes.
        smallest_class: rows of the smallest class; None for a table without rows.
        levels: the level of each quasi-identifier; None for one whose labels are on several levels, and without an
            original.
        measures: every measure, by name; None where an original is needed and there is none.
    """

    table: str
    original: str | None
    rows_in: int | None
    rows_out: int
    classes: int
    smallest_class: int | None
    levels: dict[str, int | None] | None
    measures: dict[str, float | None]

    @property
    def rows_suppressed(self) -> int | None:
        """Rows of the original that the table does not have."""
        return None if self.rows_in is None else self.rows_in - self.rows_out

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values: what ``--format json`` prints."""
        return {
            "table": self.table,
            "original": self.original,
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "rows_suppressed": self.rows_suppressed,
            "classes": self.classes,
            "smallest_class": self.smallest_class,
            "levels": self.levels,
            "measures": self.measures,
        }


def measure(  # noqa: PLR0913 - the public call: every setting has a name of its own
    source: Any,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    original: Any = None,  # noqa: ANN401 - the same, or the name of a table
    original_table: str | None = None,
    quasi_identifiers: Sequence[str] = (),
    hierarchies: Mapping[str, str | os.PathLike[str]] | str | os.PathLike[str] | None = None,
    models: Sequence[PrivacyModel] | None = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    progress: Listener | None = None,
) -> Measured:
    """Return what a published table is worth: sizes of its classes, and how much of its original it keeps.

    Nothing is known of how it was made: labels are looked up in the hierarchies as they stand in the table.

    Args:
        source: the published table, as for ``anonymize``.
        table: its name in a database.
        original: the table that it was made from: a table in the same database, a path, or a data frame.
        original_table: the name of the original, where ``original`` is a database.
        quasi_identifiers: the columns that were generalized.
        hierarchies: those that it was made with, as for ``anonymize``.
        models: the k in whose units classes are measured.
        policy: a Policy or the path of a kanon.toml, instead of the settings above.
        progress: called as the work goes on.

    Raises:
        UsageError: a column is not there, or the table is no release of the original under these hierarchies.
        SourceError: a source or a hierarchy cannot be read.
    """
    asked = make_policy(
        policy, quasi_identifiers=quasi_identifiers, hierarchies=hierarchies, models=models, rest="drop"
    )
    if original is None:
        if hierarchies is not None or original_table is not None:
            raise UsageError("Hierarchies say what labels stand for in the original: name it, original=.")
        opened = open_source(source, table, as_text=True)
        try:
            return measure_alone(opened, asked)
        finally:
            opened.engine.close()
    opened = open_original(source, original, original_table)
    try:
        return measure_against(opened, open_beside(opened, source, table, as_text=True), asked, progress or silent)
    finally:
        opened.engine.close()


def open_original(
    source: Any,  # noqa: ANN401 - as for ``measure``
    original: Any,  # noqa: ANN401 - as for ``measure``, but for None
    original_table: str | None = None,
) -> Source:
    """Return the original of a published table: a table beside it in its database, or a source of its own.

    Raises:
        UsageError: there is no such table.
        SourceError: it cannot be opened.
    """
    is_name = isinstance(original, str) and original_table is None
    if is_name and not (Path(original).suffix and Path(original).exists()):
        in_file = isinstance(source, str | os.PathLike) and is_database(Path(source))
        if in_file or not isinstance(source, str | os.PathLike):
            return open_source(source, original)
    return open_source(original, original_table)


def measure_alone(source: Source, policy: Policy) -> Measured:
    """Return what can be said of a published table without its original: the sizes of its classes."""
    columns = resolve_quasi_identifiers(policy.columns.quasi_identifiers, source.columns, source.name)
    models = (KAnonymity(policy.k),)
    query = class_check_query(source.relation, columns, models)
    found = read_verification(source.engine.row(query, "sizes of the classes"), models)
    of_classes = {
        "average_class_size": average_class_size(found.rows, found.classes, policy.k),
        "average_rows_per_class": average_rows(found.rows, found.classes),
    }
    return Measured(source.name, None, None, found.rows, found.classes, found.smallest_class, None, of_classes)


def measure_against(original: Source, release: Source, policy: Policy, progress: Listener = silent) -> Measured:
    """Return what a published table is worth against its original, both in one engine."""
    columns = resolve_quasi_identifiers(policy.columns.quasi_identifiers, release.columns, release.name)
    # Only quasi-identifiers are looked at, and rows are what is counted.
    named = NamedColumns(quasi_identifiers=policy.columns.quasi_identifiers, rest="drop")
    policy = replace(policy, columns=named, models=(KAnonymity(policy.k),))
    prepared = prepare_source(original, policy, lambda doing: progress(Progress(doing)))
    progress(Progress("Measuring"))
    found = measure_published(
        prepared.frequency,
        release.relation,
        columns,
        prepared.hierarchies,
        prepared.labels,
        [prepared.costs_of(name) for name in CELL_MEASURES],
        policy.k,
    )
    names = [hierarchy.column.name for hierarchy in prepared.hierarchies]
    return Measured(
        release.name,
        original.name,
        prepared.frequency.rows,
        found.counts.rows,
        found.counts.published,
        found.counts.smallest,
        dict(zip(names, found.levels, strict=True)),
        found.values,
    )
