"""``known``: the risk of people who are known by a few columns only.

Nobody knows all columns of a wide table about a person. For every subset of at most m quasi-identifiers, count the rows
or people that share each combination of values in the table.

Only the subsets of exactly m columns decide (of all columns, if there are fewer than m). A class by some columns is a
union of classes by more of them, so it has at least as many members: if each class by every m columns has k, so has
each by fewer. Smaller subsets are counted to show where the risk comes from.

Values count as written: NULL, and a label such as ``*``, are values like any other, as everywhere in kanon.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, Unpack

from kanon_sql.engine.base import find_column
from kanon_sql.engine.equality import require_identity
from kanon_sql.engine.progress import Listener, Progress, silent
from kanon_sql.errors import UsageError
from kanon_sql.evidence.case import CaseSettings, Judged, Tables, as_lists, given_case, takes_case
from kanon_sql.evidence.people import findings_on, source_with_people
from kanon_sql.models.known_subsets import known_subsets_of
from kanon_sql.policy.roles import resolve_quasi_identifiers
from kanon_sql.risks.estimators.subsets import code, require_countable, subsets_up_to
from kanon_sql.risks.estimators.tuples import collect

if TYPE_CHECKING:
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.policy.gate import Finding
    from kanon_sql.policy.policy import Policy
    from kanon_sql.risks.estimators.tuples import Tuples


MAX_COLUMNS = 3
"""The default number of columns that an attacker knows about a person."""


@dataclass(frozen=True)
class KnownSubset:
    """The classes by one subset of the quasi-identifiers; ``too_small`` are classes of fewer than k members.

    A person counts in ``in_too_small`` once for each of their classes.
    """

    columns: tuple[str, ...]
    classes: int
    smallest_class: int | None
    too_small: int
    in_too_small: int


@dataclass(frozen=True)
class KnownColumns:
    """The classes by all subsets with one number of columns; None for a table without rows.

    Subsets with a class of fewer than k members are ``too_small``. Rows ``in_too_small`` are in such a class by at
    least one subset; each person counts once.
    """

    columns: int
    subsets: int
    smallest_class: int | None
    too_small: int
    in_too_small: int
    share: float | None


@dataclass(frozen=True)
class KnownResult(Judged):
    """The risk in a table of people who are known by a few columns.

    Attributes:
        max_columns: the maximum number of known columns: as given, or all if there are fewer.
        k: the members that a class must have; unless ``required``, it only defines which classes are too small.
        members: all rows; or distinct people, if rows that name nobody are one person for each combination of values
            that names nobody.
        subsets: the classes by each subset: those with the most columns first, and among these the worst first.
        original: the table by which people were counted; None if the table itself names them.
        nameless: True if the rows of some class by ``max_columns`` columns name nobody (NULL). It counts as one person,
            as in ``measure``; since it is not known that there is one, no k holds, as in ``check``.
        people_known: True if people were counted where they must be; otherwise rows were counted.
        at_least: if they were not, the minimum of people in each class by all columns, from the original. It holds for
            classes by fewer columns too, which are unions of these. None if it is not known.
    """

    table: str
    columns: tuple[str, ...]
    max_columns: int
    k: int
    required: bool
    counted: Literal["rows", "people"]
    members: int
    by_number: tuple[KnownColumns, ...]
    subsets: tuple[KnownSubset, ...]
    entity: str | None = None
    original: str | None = None
    nameless: bool = False
    people_known: bool = True
    at_least: int | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def smallest_class(self) -> int | None:
        """Members of the smallest class by any subset; None for a table without rows."""
        return self.by_number[-1].smallest_class

    @property
    def fails(self) -> bool:
        """True if some class has fewer than k members (so few rows belong to no more people), or names nobody."""
        return self.nameless or (self.smallest_class is not None and self.smallest_class < self.k)

    @property
    def verified(self) -> bool:
        """True if it is known whether every class has k members."""
        enough = self.at_least is not None and self.at_least >= self.k
        return self.fails or ((self.people_known or enough) and self.refusal is None)

    @property
    def holds(self) -> bool | None:
        """True if every class is known to have k members; None if no k is required."""
        return self.verified and not self.fails if self.required else None

    def summary(self) -> dict[str, Any]:
        verdicts = {name: getattr(self, name) for name in ("table", "holds", "verified", "smallest_class")}
        plain = verdicts | asdict(self)
        plain["subsets"] = [as_lists(one) for one in plain["subsets"]]
        del plain["people_known"]
        return as_lists(plain)


@takes_case("identifying", "sensitive", "models")
def known(
    source: Any = None,  # noqa: ANN401 - a path, a connection or a data frame; open_source says which
    table: str | None = None,
    *,
    max_columns: int | None = None,
    progress: Listener | None = None,
    **case: Unpack[CaseSettings],
) -> KnownResult:
    """Count how many rows or people share each combination of a few columns, in a release or a raw table.

    Args:
        source: as for ``check``.
        table: the table in a database.
        max_columns: the maximum number of quasi-identifiers that an attacker knows, 1 or more; all of them if there are
            fewer. By default, the number in the policy, or 3.
        progress: called during the work.
        case: see ``CaseSettings``. Without ``k`` and a policy, nothing is required, and classes of fewer than 5 count
            as too small.

    Raises:
        UsageError: a quasi-identifier does not exist, or none is named; ``max_columns`` or ``k`` is less than 1, or
            there are more than 200,000 subsets.
        SourceError: the source cannot be read.
    """
    if max_columns is not None:
        require_columns(max_columns)
    required = case.get("policy") is not None or case.get("k") is not None
    with given_case(Tables(source, table), case, "for people") as opened:
        return known_source(
            opened.release, opened.policy, max_columns, opened.beside, required=required, progress=progress or silent
        )


def require_columns(max_columns: int) -> None:
    """Raise an error unless ``max_columns`` is valid."""
    if isinstance(max_columns, bool) or not isinstance(max_columns, int) or max_columns < 1:
        raise UsageError(f"Known are 1 column or more (--max-columns), not {max_columns!r}.")


def known_source(
    source: Source,
    policy: Policy,
    max_columns: int | None = None,
    original: Source | None = None,
    *,
    required: bool = True,
    progress: Listener = silent,
) -> KnownResult:
    """Count the combinations of an open source; the original, if given, must be in the same engine."""
    if max_columns is None:
        of_policy = known_subsets_of(policy.models)
        max_columns = MAX_COLUMNS if of_policy is None else of_policy.m
    require_columns(max_columns)
    findings = findings_on(source, policy, original)
    entity = policy.columns.entity
    columns = resolve_quasi_identifiers(policy.columns.quasi_identifiers, source.columns, source.name)
    require_countable(max_columns, len(columns), "--max-columns", " All together: kanon check.")
    require_identity(source.engine, source.relation, columns)
    counted, people = source_with_people(source, policy, original)
    person = find_column(entity, counted.columns) if entity is not None else None
    at_least = None
    if people is not None and not (people.settled or people.one_row_each):
        # A person in two classes may then be two people: nothing is known about the people of their union.
        counted, person, at_least = source, None, people.smallest
    source.bring(columns, person if counted is source else None)
    progress(Progress("Reading the combinations of values"))
    tuples = collect(source.engine, counted.relation, columns, person)
    members, by_number, subsets, nameless = _count(tuples, max_columns, policy.k, progress)
    return KnownResult(
        table=source.name,
        columns=tuple(column.name for column in tuples.columns),
        max_columns=len(by_number),
        k=policy.k,
        required=required,
        counted="people" if tuples.counts_people else "rows",
        members=members,
        by_number=by_number,
        subsets=subsets,
        entity=entity,
        original=None if original is None or people is None or person is None else original.name,
        nameless=nameless,
        people_known=entity is None or person is not None,
        at_least=at_least,
        findings=findings,
    )


def _count(
    tuples: Tuples, max_columns: int, k: int, progress: Listener
) -> tuple[int, tuple[KnownColumns, ...], tuple[KnownSubset, ...], bool]:
    """Return all members, the classes by every number of columns and by every subset, and True if some name nobody.

    The combinations are dropped.
    """
    width, names = len(tuples.columns), [column.name for column in tuples.columns]
    largest = min(max_columns, width)
    coded = code(tuples)
    progress(Progress("Counting the classes by subsets of the columns"))
    nameless, found = False, []
    for places, own in coded.classes(subsets_up_to(largest, width), k):
        known = tuple(names[place] for place in places)
        found.append(KnownSubset(known, own.classes, own.smallest, own.too_small, own.in_too_small))
        nameless = nameless or (tuples.counts_people and len(places) == largest and own.all_members > 0)
    subsets = [
        sorted((one for one in found if len(one.columns) == size), key=_worst_first) for size in range(1, largest + 1)
    ]
    failing = [[tuple(map(names.index, one.columns)) for one in of_size if one.too_small] for of_size in subsets]
    members = coded.members()
    progress(Progress("Finding who is in a class that is too small"))
    above = coded.in_too_small(failing, k)
    coded.drop()
    tuples.drop()
    by_number = tuple(
        KnownColumns(
            size,
            len(of_size),
            min((one.smallest_class for one in of_size if one.smallest_class is not None), default=None),
            sum(one.too_small > 0 for one in of_size),
            inside,
            inside / members if members else None,
        )
        for size, (of_size, inside) in enumerate(zip(subsets, above, strict=True), 1)
    )
    return members, by_number, tuple(itertools.chain(*reversed(subsets))), nameless


def _worst_first(found: KnownSubset) -> tuple[int, float]:
    return -found.in_too_small, math.inf if found.smallest_class is None else found.smallest_class
