"""Roles of columns: identifying, quasi-identifying, sensitive or insensitive.

Every column of a table gets a role. A column without one is an error unless the policy has a rule for the rest: a
column published by oversight harms people.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from kanon_sql.engine.base import _in_short, resolve_columns
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kanon_sql.engine.base import Column

Rest = Literal["keep", "drop"]

NO_QUASI_IDENTIFIER = "No quasi-identifier was named: say with --qi which columns could tell who a row is about."


@dataclass(frozen=True)
class NamedColumns:
    """Columns as a person named them, by role.

    Attributes:
        identifying: never published.
        quasi_identifiers: generalized until classes are large enough.
        sensitive: published unchanged; an attacker must not learn them about a person.
        insensitive: published unchanged; naming a sensitive column here too confirms that.
        rest: the treatment of unnamed columns: ``keep`` (insensitive), ``drop``, or None (an error).
        entity: the column that names the person that a row is about; never published.
        pseudonymize: identifying columns that are published as pseudonyms.
        proposed: columns whose role ``kanon init`` proposed and no person has confirmed.
    """

    identifying: tuple[str, ...] = ()
    quasi_identifiers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    rest: Rest | None = None
    entity: str | None = None
    pseudonymize: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Roles:
    """The columns of a table by role; each column is in exactly one of the first five."""

    quasi_identifiers: tuple[Column, ...]  # in the order given; other roles are in table order
    sensitive: tuple[Column, ...]
    insensitive: tuple[Column, ...]
    identifying: tuple[Column, ...]  # never published unchanged; includes the entity column
    dropped: tuple[Column, ...]  # not published because the rest is dropped
    entity: Column | None = None
    pseudonymized: tuple[Column, ...] = ()  # identifying columns that are published as pseudonyms
    # published in a role that ``kanon init`` proposed and no person has confirmed
    proposed: tuple[Column, ...] = ()
    without_role: tuple[Column, ...] = ()  # published unchanged although no person gave them a role

    @property
    def left_out(self) -> list[str]:
        never = (*self.identifying, *self.dropped)
        return [column.name for column in never if column not in self.pseudonymized]


def assign_roles(named: NamedColumns, columns: Sequence[Column], table: str, *, may_have_none: bool = False) -> Roles:
    """Return the role of every column of a table. With ``may_have_none``, it may lack quasi-identifiers."""
    given: dict[str, str] = {}

    def take(names: Iterable[str], role: str) -> tuple[Column, ...]:
        taken = []
        for column in resolve_columns(names, columns, table):
            if given.setdefault(column.name, role) != role:
                raise UsageError(f"Column {column.name!r} was given two roles: {given[column.name]} and {role}.")
            taken.append(column)
        return tuple(dict.fromkeys(taken))

    quasi_identifiers = take(named.quasi_identifiers, "quasi-identifying")
    if not quasi_identifiers and not may_have_none:
        raise UsageError(NO_QUASI_IDENTIFIER)
    pseudonymized = take(named.pseudonymize, "identifying")
    identifying = take((*named.identifying, *named.pseudonymize), "identifying")
    entity = None if named.entity is None else resolve_columns([named.entity], columns, table)[0]
    if entity is not None and given.setdefault(entity.name, "identifying") != "identifying":
        raise UsageError(f"Column {entity.name!r} names the person; it cannot be {given[entity.name]} too.")
    sensitive = take(named.sensitive, "sensitive")
    confirmed = [column.name for column in resolve_columns(named.insensitive, columns, table)]
    insensitive = take([name for name in confirmed if given.get(name) != "sensitive"], "insensitive")
    rest = tuple(column for column in columns if column.name not in given)
    if named.rest not in {None, *get_args(Rest)}:
        raise UsageError(f"rest is 'keep' or 'drop', not {named.rest!r}.")
    if rest and named.rest is None:
        raise UsageError(
            f"{'This column has' if len(rest) == 1 else 'These columns have'} no role: "
            f"{_in_short([repr(column.name) for column in rest])}. Name them with --id, --qi or --sensitive, or say "
            "what happens to the rest: --rest drop leaves them out, --rest keep publishes them as they are."
        )
    kept = {column.name for column in (*insensitive, *(rest if named.rest == "keep" else ()))}
    proposed = resolve_columns(named.proposed, columns, table)
    published = {column.name for column in (*quasi_identifiers, *sensitive, *pseudonymized)} | kept
    sensitive = tuple(column for column in columns if column in sensitive)
    insensitive = tuple(column for column in columns if column.name in kept)
    return Roles(
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
        insensitive=insensitive,
        identifying=tuple(dict.fromkeys([*identifying, *([entity] if entity else [])])),
        dropped=rest if named.rest == "drop" else (),
        entity=entity,
        pseudonymized=tuple(column for column in columns if column in pseudonymized),
        proposed=tuple(column for column in columns if column in proposed and column.name in published),
        without_role=tuple(one for one in (*sensitive, *insensitive) if one.name not in given or one in proposed),
    )


def resolve_quasi_identifiers(names: Iterable[str], columns: Sequence[Column], table: str) -> tuple[Column, ...]:
    """Return the named quasi-identifiers, each once, for a table that is measured without a policy."""
    resolved = resolve_columns(names, columns, table)
    if not resolved:
        raise UsageError(NO_QUASI_IDENTIFIER)
    return tuple(dict.fromkeys(resolved))
