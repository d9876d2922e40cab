"""A case: a table to judge and its context, in one engine, for every judge of library and commands."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, cast

from kanon_sql.engine.base import closed_on_error
from kanon_sql.engine.sources.addresses import without_secrets
from kanon_sql.engine.sources.encodings import is_utf8
from kanon_sql.engine.sources.layout import DELIMITER_BY_SUFFIX, Layout, data_file
from kanon_sql.engine.sources.open_source import open_beside, open_named, open_original, open_source
from kanon_sql.engine.sources.preparing import rules_of, with_prepared
from kanon_sql.engine.time_zones import computing_in
from kanon_sql.errors import UsageError
from kanon_sql.policy.destination import named_table
from kanon_sql.policy.gate import PEOPLE, refused_of
from kanon_sql.policy.policy import given_policy, make_policy
from kanon_sql.sql.names import folded, with_given

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Engine
    from kanon_sql.engine.duckdb.connection import Resources
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.sources.preparing import Rules
    from kanon_sql.hierarchy.spec import Hierarchies
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.destination import Destination
    from kanon_sql.policy.gate import Finding
    from kanon_sql.policy.policy import Count, Policy

Wants = Literal["for people", "if unnamed", "always"]
"""When a judge needs the original of the policy: to count people, if the call names no release, or always."""


@dataclass(frozen=True)
class Tables:
    """The tables that a call names: paths, connections or data frames; except for ``source``, names of tables too.

    ``source`` is None for the release of the policy file; ``control`` are people who are not in the release, ``others``
    further releases of the same original, ``population`` all people that its rows could be about.
    """

    source: Any
    table: str | None
    original: Any = None
    original_table: str | None = None
    control: Any = None
    others: Sequence[Any] = ()
    population: Any = None
    population_table: str | None = None


@dataclass(frozen=True)
class Case:
    """A release and its context, in one engine; ``original`` is the release itself if none is known.

    Columns of the original are prepared as they were for the release; the control group has the types of the original.
    """

    policy: Policy
    release: Source
    original: Source
    control: Source | None = None
    others: tuple[Source, ...] = ()
    population: Source | None = None

    @property
    def beside(self) -> Source | None:
        """The original, if it is another table than the release."""
        return None if self.original is self.release else self.original


class Judged(ABC):
    """The result of a judge, with the findings of ``kanon_sql.policy.gate`` and their consequences."""

    findings: tuple[Finding, ...]
    entity: str | None = None

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Return the result as plain values: the output of ``--format json``."""

    @property
    def refusal(self) -> Finding | None:
        """The finding of ``kanon_sql.policy.gate`` that refuses the table, so that its verdict cannot pass."""
        return refused_of(self.findings)

    @property
    def counts_people(self) -> bool:
        """True if people are to be counted: an entity names them, or rows of one person repeat."""
        return self.entity is not None or refused_of(self.findings, PEOPLE) is not None

    @property
    def notes(self) -> list[str]:
        """The findings that stop nothing, as texts."""
        return [finding.note() for finding in self.findings if not finding.refused]


def as_lists(plain: dict[str, Any]) -> dict[str, Any]:
    """Return plain values with lists in place of tuples, as in JSON."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


class CaseSettings(TypedDict, total=False):
    """The settings that judges accept; each judge refuses those that it does not use.

    Attributes:
        original: the original of the table: a table in the same database, a path, or a data frame. People are counted
            by it if the table does not name them. Optional if a policy file names it.
        original_table: the name of the original, if ``original`` is a database.
        quasi_identifiers: columns whose values together define a class; NULL is a value like any other.
        identifying: columns that the table must not have.
        sensitive: columns that models and attacks are about.
        insensitive: columns that are published unchanged although their name or values may identify people.
        hierarchies: the hierarchies that the table was made with, as for ``anonymize``.
        prepare: rules that prepared the columns of the original, as for ``anonymize``.
        k: the smallest class; 5 if neither ``k`` nor ``models`` sets it.
        models: models that every class must satisfy in addition to ``k``.
        entity: the column that names the person: people are counted, not rows.
        count: "people" (default) verifies nothing in a table with several rows of one person and no entity; "rows"
            counts rows even if several belong to one person.
        time_zone: the time zone of the release, as for ``anonymize``.
        policy: a Policy or the path of a kanon.toml, instead of the columns, hierarchies, models, entity, count and
            time zone.
        resources: limits of memory and threads; a connection has settings of its own.
    """

    original: Any
    original_table: str | None
    quasi_identifiers: Sequence[str]
    identifying: Sequence[str]
    sensitive: Sequence[str]
    insensitive: Sequence[str]
    hierarchies: Hierarchies | None
    prepare: Mapping[str, str | Sequence[str]] | None
    k: int | None
    models: Sequence[PrivacyModel] | None
    entity: str | None
    count: Count
    time_zone: str
    policy: Policy | str | os.PathLike[str] | None
    resources: Resources | None


_OF_TABLES = {"original", "original_table", "prepare", "policy", "resources"}
Call = TypeVar("Call", bound="Callable[..., Any]")


def takes_case(*without: str) -> Callable[[Call], Call]:
    """Return a decorator for a public call of ``**case`` ``without`` some settings; ``help()`` explains the others."""

    def decorated(call: Call) -> Call:
        own = inspect.signature(call)
        *first, _ = own.parameters.values()
        names = [name for name in CaseSettings.__annotations__ if name not in without]
        keywords = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in names]
        taken = own.replace(parameters=[*first, *keywords])

        @wraps(call)
        def judged(*arguments: Any, **settings: Any) -> Any:  # noqa: ANN401 - those of the call
            if unknown := [name for name in settings if name not in taken.parameters]:
                raise TypeError(f"{call.__name__} has no setting {unknown[0]!r}.")
            return call(*arguments, **settings)

        judged.__doc__ = f"{call.__doc__}\n\n    CaseSettings: {CaseSettings.__doc__}"
        judged.__signature__ = taken  # type: ignore[attr-defined]  # what help() shows
        return cast("Call", judged)

    return decorated


@contextmanager
def given_case(tables: Tables, case: CaseSettings, wants: Wants, **settings: Any) -> Iterator[Case]:  # noqa: ANN401 - of a Policy
    """Open the case of a call of the library; ``settings`` are further ones of its policy."""
    policy, in_file = given_policy(case.get("policy"))
    by_original = wants == "if unnamed" and case.get("hierarchies") is not None
    own: Any = {name: value for name, value in case.items() if name not in _OF_TABLES}
    tables = replace(tables, original=case.get("original"), original_table=case.get("original_table"))
    with open_case(
        tables,
        make_policy(policy, **own, **settings),
        in_file,
        rules_of(case.get("prepare") or {}),
        wants,
        by_original=by_original or tables.original_table is not None,
        resources=case.get("resources"),
    ) as opened:
        yield opened


@contextmanager
def open_case(
    tables: Tables,
    policy: Policy,
    in_file: Destination,
    prepare: Mapping[str, Rules],
    wants: Wants,
    *,
    by_original: bool = False,
    resources: Resources | None = None,
    watch: Callable[[Engine], None] | None = None,
) -> Iterator[Case]:
    """Open the tables that a call names; if it names no release, open the one that a policy file makes.

    ``by_original`` is True if a setting is about the original; ``watch`` receives the engine before any other work.
    """
    if policy.columns.rest is None:  # columns without a role do not matter
        policy = replace(policy, columns=replace(policy.columns, rest="drop"))
    named = _named(tables, policy, in_file, wants, by_original=by_original)
    with computing_in(policy.time_zone):
        into = in_file.into if tables.source is None and tables.table is None else None
        original, release = _opened(named, into, resources)
    with original.engine:
        if watch is not None:
            watch(original.engine)
        rules = with_given(policy.prepare, prepare)
        if release is original and prepare:
            raise UsageError("Rules prepare the table that a release was made from: name it with --original.")
        control = None
        if named.control is not None:
            control = with_prepared(opened_control(original, release, named.control), rules)
        prepared = original if release is original else with_prepared(original, rules)
        population = None
        if named.population is not None:
            population = open_named(prepared, named.population, named.population_table, beside=release, as_text=True)
        elif named.population_table is not None:
            raise UsageError("A table of the population was named, but not where it is: name the population too.")
        yield Case(
            policy,
            release,
            prepared,
            control,
            tuple(open_named(prepared, other, beside=release, as_text=True) for other in named.others),
            population,
        )


def _named(tables: Tables, policy: Policy, in_file: Destination, wants: Wants, *, by_original: bool) -> Tables:
    """Return the tables of a call, completed by those of the policy."""
    origin, found = policy.origin, tables
    if tables.source is None:
        found = _release_of(tables, policy, in_file)
    by_people = policy.columns.entity is not None or by_original
    is_wanted = wants == "always" or (tables.source is None and (by_people or wants == "if unnamed"))
    # In place, the table of the policy is the release, whatever the call names.
    if found.original is None and origin is not None and is_wanted and not in_file.in_place:
        # The address in the call has the password; that of the policy file is a path, not the name of a table.
        same = isinstance(tables.source, str) and without_secrets(tables.source) == origin.source
        original = tables.source if same else origin.original
        found = replace(found, original=original, original_table=found.original_table or origin.table)
    if found.original is None and wants == "always":
        which = "a backup of it with --original" if in_file.in_place else "it with --original, or in the policy file"
        raise UsageError(f"An attack needs the table that the release was made from: name {which}.")
    if found.original is None and by_original:
        raise UsageError("Hierarchies say what labels stand for in the original: name it with --original.")
    return found


def _release_of(tables: Tables, policy: Policy, in_file: Destination) -> Tables:
    """Return the tables of a call with the release that a policy file makes."""
    origin = policy.origin
    if in_file.out is not None:
        out, layout = in_file.out, in_file.layout
        if origin is not None and out.suffix.lower() in DELIMITER_BY_SUFFIX:
            encoding = origin.layout.encoding if out.is_file() and not is_utf8(out) else None
            decimal = None if in_file.delimiter == "," else origin.layout.decimal_separator
            layout = layout.over(Layout(encoding=encoding, decimal_separator=decimal))
        return replace(tables, source=data_file(str(out), layout))
    source, table = named_table(None, tables.table or in_file.into, origin)  # its error about the source comes first
    if in_file.into is None and not in_file.in_place:
        raise UsageError("Say which release is meant: SOURCE and TABLE, or out, into or in_place in the policy file.")
    return replace(tables, source=source, table=table)


def _opened(named: Tables, into: str | None, resources: Resources | None) -> tuple[Source, Source]:
    """Open the original and the release, and the original only once. ``into`` is the policy's name of the release."""
    if named.original is None:
        original = release = open_source(named.source, named.table, as_text=True, resources=resources)
    else:
        original = open_original(named.source, named.original, named.original_table, resources)
    with closed_on_error(original.engine):
        if named.original is not None:
            release = open_beside(original, named.source, named.table, as_text=True)
        is_apart = folded(release.relation.db) not in {"", "main"}  # the schema in which an unqualified name is created
        if into is not None and is_apart and "." not in into:
            raise UsageError(
                f"The release {into} was not made yet: there is {release.written_name}. Make it with kanon anonymize."
            )
        return original, release


def opened_control(opened: Source, release: Source, control: Any) -> Source:  # noqa: ANN401 - a source, or a table
    """Open a control group in the types of its original; its columns are not prepared yet."""
    from kanon_sql.evidence.control_group import control_group  # loads the attacks

    return control_group(opened, open_named(opened, control, beside=release, as_text=True))
