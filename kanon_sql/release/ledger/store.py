"""The stored record of a release: an entry of the table ``kanon.releases`` beside the data.

An entry describes how the release was made, and has fingerprints. It contains no value of the table.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.classes.recoding import OPTIONS
from kanon_sql.engine.sources.open_source import RELEASES
from kanon_sql.errors import NoRightError, SourceError, UsageError
from kanon_sql.hierarchy.given import SCHEMA
from kanon_sql.models.known_subsets import columns_named
from kanon_sql.policy.publish_rules import parse_publish_rules
from kanon_sql.sql import build as sql
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from sqlglot import exp

    from kanon_sql.engine.duckdb.engine import DuckDBEngine
    from kanon_sql.policy.policy import Policy
    from kanon_sql.policy.roles import Roles

ReleaseKind = Literal["table", "view", "file"]
_K_ANONYMITY = "k-anonymity"
_OF_A_RECORD = ("id", "made_at", "target_schema", "target_name", "fingerprint")
"""Columns that distinguish the records of the ledger."""
OF_SEVERAL_TABLES = "together"
"""Key in the remembered policy: the table was released together with others, which it lists."""
HOLD_OUT = "hold_out"
"""Key in the remembered policy: rows were held out. It has their number and a fingerprint of the other rows."""


@dataclass(frozen=True)
class KeptHierarchy:
    """The hierarchy of a quasi-identifier; its rule is None if it was chosen or stored."""

    column: str
    rule: str | None
    fingerprint: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A release in the ledger."""

    number: int
    made_at: datetime  # in UTC
    source: tuple[str, str]  # schema and name of the source table
    kind: ReleaseKind  # table, view or file
    target: tuple[str | None, str]  # its schema and name; for a file, None and its path
    rows_in: int  # rows of the table
    rows_out: int  # rows of the release
    policy: dict[str, Any]  # roles of the columns, models, and settings of the search
    levels: dict[str, int] | None  # the level of each quasi-identifier; None if a column has several
    hierarchies: tuple[KeptHierarchy, ...]  # of the quasi-identifiers
    # Of its quasi-identifiers and sensitive columns (in 0.1.0, of the quasi-identifiers only); for a view, of its
    # definition; for a file, the SHA-256 of the file.
    fingerprint: str
    # Of the quasi-identifiers, the sensitive columns and the entity in the table; for a warehouse, and in 0.1.0, of the
    # quasi-identifiers only.
    source_fingerprint: str

    @property
    def name(self) -> str:
        """Its name in messages: as ``--into`` takes it, or its path."""
        schema, name = self.target
        return name if schema in {None, "main"} else f"{schema}.{name}"

    @property
    def source_name(self) -> str:
        """The name of its table in messages."""
        schema, name = self.source
        return name if schema == "main" else f"{schema}.{name}"

    @property
    def k(self) -> int:
        """The k that it promised, for all quasi-identifiers or for some; 1 if it promised none."""
        of_k = (
            model["required"]
            for model in self.models
            if model["model"] == _K_ANONYMITY or columns_named(model["model"])
        )
        return max(of_k, default=1)

    @property
    def of_columns(self) -> int | None:
        """The number of quasi-identifiers that k was promised for; None if for all of them together."""
        return next((m for model in self.models if (m := columns_named(model["model"])) is not None), None)

    @property
    def together(self) -> bool:
        """True if it was released together with other tables, whose people and events decide what to leave out."""
        return OF_SEVERAL_TABLES in self.policy

    @property
    def hold_out(self) -> dict[str, Any] | None:
        """How many ``rows`` were held out, and the ``fingerprint`` of ``columns`` of the others; None if none were."""
        apart: dict[str, Any] | None = self.policy.get(HOLD_OUT)
        return apart

    @property
    def models(self) -> list[dict[str, Any]]:
        """The privacy models that it promised: name, requirement, and sensitive column of each."""
        return list(self.policy["models"])

    @property
    def sensitive(self) -> list[str]:
        return list(self.policy["columns"]["sensitive"])

    @property
    def prepared(self) -> dict[str, str]:
        """For each prepared column, an identifier of its preparation."""
        return dict(self.policy["columns"].get("prepared", {}))

    @property
    def time_zone(self) -> str | None:
        """The time zone of its labels and texts; None if no column of its table has one, or in earlier versions."""
        zone: str | None = self.policy.get("time_zone")
        return zone

    @property
    def entity(self) -> str | None:
        """The column that named the person, if people were counted."""
        named: str | None = self.policy["columns"]["entity"]
        return named

    @property
    def quasi_identifiers(self) -> list[str]:
        return [kept.column for kept in self.hierarchies]

    @property
    def fingerprinted_source(self) -> list[str]:
        """Names of the columns of the table in its source fingerprint."""
        named = [] if self.entity is None else [self.entity]
        return list(dict.fromkeys([*self.quasi_identifiers, *self.sensitive, *named]))

    @property
    def published_as_they_are(self) -> list[str]:
        """Names of the other columns that it published, including those published by a rule."""
        columns = self.policy["columns"]
        return [*columns["sensitive"], *columns["insensitive"]]

    @property
    def published_by_rule(self) -> dict[str, tuple[str, ...]]:
        """The rules by which it published some of these columns, by the folded name of the column."""
        rules: dict[str, list[str]] = self.policy.get("publish", {})
        return {folded(name): tuple(sorted(texts)) for name, texts in rules.items()}

    def is_of(self, source: tuple[str, str]) -> bool:
        """Return True if a table is its source."""
        return [folded(part) for part in self.source] == [folded(part) for part in source]

    def alike(self) -> tuple[Any, ...]:
        """Return a key that is equal for equivalent releases: to check one of them is to check all."""
        models = tuple((model["model"], model["required"], model["sensitive"]) for model in self.models)
        shown = (
            *sorted(self.published_as_they_are),
            *sorted(self.prepared.items()),
            *sorted(self.published_by_rule.items()),
        )
        rows = self.hold_out and self.hold_out["fingerprint"]
        return (self.kind, self.fingerprint, self.entity, self.hierarchies, models, tuple(self.sensitive), shown, rows)

    def is_record_of(self, other: Entry) -> bool:
        """Return True if both are the same record of the ledger, one as written and one as read."""
        ours, theirs = (one.values() for one in (self, other))
        return all(ours[name] == theirs[name] for name in _OF_A_RECORD)

    def says_the_same(self, other: Entry) -> bool:
        """Return True if another entry of the same table is the same release under the same name, made again."""
        return self.target == other.target and self.policy == other.policy and self.alike() == other.alike()

    def values(self) -> dict[str, Any]:
        """Return it as the columns of the ledger."""
        return {
            "id": self.number,
            "made_at": self.made_at.isoformat(sep=" ", timespec="seconds"),
            "source_schema": self.source[0],
            "source_name": self.source[1],
            "kind": self.kind,
            "target_schema": self.target[0],
            "target_name": self.target[1],
            "rows_in": self.rows_in,
            "rows_out": self.rows_out,
            "policy": json.dumps(self.policy, ensure_ascii=False),
            "levels": None if self.levels is None else json.dumps(self.levels, ensure_ascii=False),
            "hierarchies": json.dumps([asdict(kept) for kept in self.hierarchies], ensure_ascii=False),
            "fingerprint": self.fingerprint,
            "source_fingerprint": self.source_fingerprint,
        }


def _entry_of(row: tuple[Any, ...]) -> Entry:
    number, made_at, source_schema, source, kind, target_schema, target, rows_in, rows_out, *texts = row
    policy, levels, hierarchies, fingerprint, source_fingerprint = texts
    return Entry(
        number=number,
        made_at=made_at,
        source=(source_schema, source),
        kind=kind,
        target=(target_schema, target),
        rows_in=rows_in,
        rows_out=rows_out,
        policy=json.loads(policy),
        levels=None if levels is None else json.loads(levels),
        hierarchies=tuple(KeptHierarchy(**kept) for kept in json.loads(hierarchies)),
        fingerprint=fingerprint,
        source_fingerprint=source_fingerprint,
    )


def remembered_policy(
    policy: Policy, roles: Roles, time_zone: str | None, prepared: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the remembered part of a policy: column names, models with their bounds, settings of the search.

    The seed is left out. No check needs it, and a ledger should reveal as little as possible about the order of rows
    and about random choices.
    """
    options = {name: getattr(policy, name) for name in OPTIONS}
    pseudonymized = [column.name for column in roles.pseudonymized]
    by_rule = {name: [rule.text for rule in parse_publish_rules(name, texts)] for name, texts in policy.publish.items()}
    return {
        "columns": {
            "identifying": [column.name for column in roles.identifying],
            "quasi_identifiers": [column.name for column in roles.quasi_identifiers],
            "sensitive": [column.name for column in roles.sensitive],
            "insensitive": [column.name for column in roles.insensitive],
            "entity": None if roles.entity is None else roles.entity.name,
            **({"pseudonymized": pseudonymized} if pseudonymized else {}),
            **({"prepared": dict(prepared)} if prepared else {}),
        },
        **({"publish": by_rule} if by_rule else {}),
        **({"time_zone": time_zone} if time_zone else {}),
        "models": [
            {"model": model.name, "required": _plain(model.required), "sensitive": model.sensitive}
            for model in policy.models
        ],
        "search": {
            **policy.asked,
            **{name: value for name, value in options.items() if value is not None},
        },
    }


def _plain(required: Any) -> Any:  # noqa: ANN401 - the requirement of a model: a whole number, a share, or several
    return required if isinstance(required, int | float) else str(required)


# The table of the ledger. A workbench has a copy of the ledger of its warehouse.


def _ledger_table() -> exp.Table:
    return sql.relation(RELEASES, SCHEMA)


def entries_of(engine: DuckDBEngine) -> list[Entry]:
    """Return the releases that a database remembers, oldest first."""
    newest = engine.newest_entries
    if engine.kind_of(_ledger_table()) is None and not newest:
        return []
    _require_readable(engine)
    try:
        rows = engine.rows(sql.statement("ledger/entries"), "earlier releases") if newest is None else newest
        return [_entry_of(row) for row in rows]
    except (SourceError, ValueError, KeyError, TypeError):
        raise SourceError(
            f"Table {SCHEMA}.{RELEASES} cannot be read as the ledger of releases: rename or drop it if it is yours."
        ) from None


def _require_readable(engine: DuckDBEngine) -> None:
    if not engine.may_read(_ledger_table()):
        raise NoRightError(f"The ledger, {SCHEMA}.{RELEASES}, may not be read by this user: ask its owner.")


@contextmanager
def alone(engine: DuckDBEngine) -> Iterator[None]:
    """Lock the ledger for other runs until the end, and reread it.

    Other runs may have written to a warehouse's ledger since it was read.
    """
    _require_readable(engine)
    with engine.alone(_ledger_table(), sql.query("ledger/entries")):
        yield


def remember(engine: DuckDBEngine, entry: Entry) -> None:
    """Write an entry into the ledger, and make the ledger if there is none."""
    for place in engine.keepers:
        place.run(sql.statement("ledger/schema"), "the schema of the ledger")
        place.run(sql.statement("ledger/create"), "the ledger")
        place.run(sql.statement("ledger/record", values=entry.values()), "remember the release")


def take_back(engine: DuckDBEngine, entry: Entry) -> None:
    """Remove an entry that was just written from the ledger; another run's entry with the same number stays."""
    written = entry.values()
    values = {name: written[name] for name in _OF_A_RECORD}
    for place in engine.keepers:
        place.run(sql.statement("ledger/take_back", values=values), "forget the release")


def forget_statements(entries: list[Entry]) -> list[exp.Expr]:
    return [sql.statement("ledger/forget", values={"id": entry.number}) for entry in entries]


def forgotten(entries: list[Entry], which: str) -> list[Entry]:
    """Return the entries with a name or path, or else with that number; and those that were released with them."""
    named = [entry for entry in entries if folded(which) in {folded(entry.name), folded(entry.target[1])}]
    found = named or [entry for entry in entries if str(entry.number) == which]
    if not found:
        known = ", ".join(dict.fromkeys(entry.name for entry in entries)) or "none"
        raise UsageError(f"The ledger has no release {which!r}. Remembered: {known}.")
    together = {entry.made_at for entry in found if entry.together}
    return [entry for entry in entries if entry in found or (entry.together and entry.made_at in together)]
