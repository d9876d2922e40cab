"""What a profile says."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.sources.preparing import Rules
    from kanon_sql.policy.destination import Origin
    from kanon_sql.policy.profile.figures import Dependency
    from kanon_sql.policy.profile.proposals import ProposedRole
    from kanon_sql.risks.estimators.subsets import SubsetRisk, Subsets


@dataclass(frozen=True)
class NearlyFitting:
    """A ready-made hierarchy that has most of the distinct values of a column, but not all."""

    rule: str
    missing: int
    distinct: int


@dataclass(frozen=True)
class ColumnProfile:
    """One column: its figures, and the role that is proposed for it.

    Attributes:
        distinct: distinct values in the table, without NULL.
        distinctness: distinct values by rows that have a value.
        separation: the share of pairs of rows that differ in it; None if there is no pair.
        uniques: rows that are alone with their value, of those that were looked at.
        kind: a kind of ``kanon_sql.hierarchy.vocabulary``; None if nothing says one.
        role: the proposed or named role; ``undecided`` if neither name nor values say one.
        named: whether a person named the role.
        hints: what to do about it before it is published.
    """

    name: str
    type: str
    distinct: int
    nulls: int
    null_share: float
    distinctness: float
    separation: float | None
    uniques: int
    kind: str | None
    role: ProposedRole
    reason: str
    named: bool = False
    hints: tuple[str, ...] = ()

    @property
    def awaits_decision(self) -> bool:
        """Whether it would be published as it is, and no person said so: ``kanon init`` does not publish it."""
        return self.role in {"sensitive", "insensitive", "undecided"} and not self.named


@dataclass(frozen=True)
class PreparedColumn:
    """A column that is prepared before all else; the reason is None if a person gave the rules."""

    name: str
    rules: Rules
    reason: str | None


@dataclass(frozen=True)
class ToPrepare:
    """What was found of a table: columns to prepare, and notes about those that a person has to decide about."""

    columns: tuple[PreparedColumn, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """What the columns of a table are, and how many rows they single out.

    Attributes:
        rows_looked_at: rows that figures on uniqueness, separation and patterns are of.
        sampled: whether these are a sample, on which more are unique than in the table.
        entity: the column that names the person, named or proposed; people are counted by it.
        members: rows or people that were looked at.
        subsets: classes by the quasi-identifiers, by every pair and triple of them; None if there are none.
        hierarchies: for each quasi-identifier without a hierarchy in the database a rule, as ``kanon init`` writes it;
            none for a table without rows, of whose values nothing is known.
        nearly_fitting: for those that get a rule by their types, the ready-made hierarchy that has most of the values.
        prepared: the columns that are prepared before figures and roles.
        standards: whose rules the roles take into account.
        undecided: of columns that can be read in two ways, what a person has to decide.
    """

    table: str
    rows: int
    rows_looked_at: int
    sampled: bool
    entity: str | None
    entity_proposed: bool
    counted: Literal["rows", "people"]
    members: int
    columns: tuple[ColumnProfile, ...]
    subsets: Subsets | None
    dependencies: tuple[Dependency, ...] = ()
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    nearly_fitting: Mapping[str, NearlyFitting] = field(default_factory=dict)
    prepared: tuple[PreparedColumn, ...] = ()
    standards: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def of_role(self, role: ProposedRole) -> tuple[str, ...]:
        """Return the names of the columns of a role, in the order of the table."""
        return tuple(column.name for column in self.columns if column.role == role)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that could tell, together, who a row is about."""
        return self.of_role("quasi-identifying")

    @property
    def named(self) -> tuple[str, ...]:
        """The columns whose role a person named."""
        return tuple(column.name for column in self.columns if column.named)

    @property
    def awaiting_decision(self) -> tuple[str, ...]:
        """The columns that would be published as they are, and that ``kanon init`` leaves to a person."""
        return tuple(column.name for column in self.columns if column.awaits_decision)

    def worst(self, size: int) -> tuple[SubsetRisk, ...]:
        """Return the classes by so many quasi-identifiers, those first that single out most."""
        found = () if self.subsets is None else self.subsets.found
        return tuple(subset for subset in found if len(subset.columns) == size)

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values: what ``--format json`` prints."""
        plain = asdict(self)
        if self.subsets is not None:
            for subset in plain["subsets"]["found"]:
                subset["columns"] = list(subset["columns"])
        return plain

    def to_toml(
        self,
        *,
        k: int | None = None,
        into: str | None = None,
        out: str | None = None,
        where: Sequence[str] = ("SOURCE",),
        origin: Origin | None = None,
    ) -> str:
        """Return a commented ``kanon.toml`` with the proposed roles, ready to edit.

        Args:
            k: the smallest class; by default 5.
            into: the name of a table for the release.
            out: the name of a file for the release.
            where: how the table is named in commands that are shown: its file, or a database and a table.
            origin: the table, as the file names it; without it, commands have to.
        """
        from kanon_sql.policy.profile.written import policy_of_table

        return policy_of_table(self, k=k, into=into, out=out, where=where, origin=origin)
