"""What is remembered of a release: how it was made, and fingerprints. Nothing in it is a value of the table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from kanon_sql.classes.cutting import OPTIONS
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from datetime import datetime

    from kanon_sql.policy.policy import Policy
    from kanon_sql.policy.roles import Roles

ReleaseKind = Literal["table", "view", "file"]

K_ANONYMITY = "k-anonymity"


@dataclass(frozen=True)
class KeptHierarchy:
    """What is remembered of the hierarchy of a quasi-identifier.

    Attributes:
        column: name of the column.
        rule: the rule, or the path of the file, that a person gave for it; None where it was chosen or stored.
        fingerprint: of its values and labels.
    """

    column: str
    rule: str | None
    fingerprint: str


@dataclass(frozen=True)
class Entry:
    """A release that is remembered.

    Attributes:
        number: that it is called by.
        made_at: when it was made, in UTC.
        source: schema and name of the table that it was made from.
        kind: whether it is a table, a view or a file.
        target: its schema and name; of a file, None and its path.
        rows_in: rows of the table.
        rows_out: rows of the release.
        policy: roles of the columns, models, and how it was searched; without a seed, which nothing here needs.
        levels: the level of each quasi-identifier; None where a column has several.
        hierarchies: of the quasi-identifiers.
        fingerprint: of the rows of the release; of a view, of its definition.
        source_fingerprint: of the quasi-identifiers of the table, as they were.
    """

    number: int
    made_at: datetime
    source: tuple[str, str]
    kind: ReleaseKind
    target: tuple[str | None, str]
    rows_in: int
    rows_out: int
    policy: dict[str, Any]
    levels: dict[str, int] | None
    hierarchies: tuple[KeptHierarchy, ...]
    fingerprint: str
    source_fingerprint: str

    @property
    def name(self) -> str:
        """What it is called in messages: its name as ``--into`` takes it, or its path."""
        schema, name = self.target
        return name if schema in {None, "main"} else f"{schema}.{name}"

    @property
    def source_name(self) -> str:
        """What its table is called in messages."""
        schema, name = self.source
        return name if schema == "main" else f"{schema}.{name}"

    @property
    def k(self) -> int:
        """The k that it promised; 1 if it promised none."""
        return max((model["required"] for model in self.models if model["model"] == K_ANONYMITY), default=1)

    @property
    def models(self) -> list[dict[str, Any]]:
        """The privacy models that it promised: the name of each, what it requires, and its sensitive column."""
        models: list[dict[str, Any]] = self.policy["models"]
        return models

    @property
    def sensitive(self) -> list[str]:
        """Names of its sensitive columns."""
        names: list[str] = self.policy["columns"]["sensitive"]
        return names

    @property
    def only_k(self) -> bool:
        """Whether k-anonymity is all that it promised, so that its classes can be told by their sizes."""
        return all(model["model"] == K_ANONYMITY for model in self.models)

    @property
    def entity(self) -> str | None:
        """The column that named the person, where people were counted."""
        named: str | None = self.policy["columns"]["entity"]
        return named

    @property
    def quasi_identifiers(self) -> list[str]:
        """Names of its quasi-identifiers."""
        return [kept.column for kept in self.hierarchies]

    @property
    def published_as_they_are(self) -> list[str]:
        """Names of the other columns that it published."""
        columns = self.policy["columns"]
        return [*columns["sensitive"], *columns["insensitive"]]

    def is_of(self, source: tuple[str, str]) -> bool:
        """Tell whether it was made from a table."""
        return [folded(part) for part in self.source] == [folded(part) for part in source]

    def alike(self) -> tuple[Any, ...]:
        """Return what releases have in common that say the same: to check one of them is to check all."""
        models = tuple((model["model"], model["required"], model["sensitive"]) for model in self.models)
        return (self.kind, self.fingerprint, self.entity, self.hierarchies, models, tuple(self.sensitive))

    def is_record_of(self, other: Entry) -> bool:
        """Tell whether both are one record of the ledger, as it was written and as it was read."""
        return (self.number, self.made_at, self.target, self.fingerprint) == (
            other.number,
            other.made_at,
            other.target,
            other.fingerprint,
        )

    def says_the_same(self, other: Entry) -> bool:
        """Tell whether another entry of the same table is of the same release under the same name, made again."""
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


def entry_of(row: tuple[Any, ...]) -> Entry:
    """Return the entry that a row of the ledger holds."""
    number, made_at, source_schema, source, kind, target_schema, target, rows_in, rows_out, *texts = row
    policy, levels, hierarchies, fingerprint, source_fingerprint = texts
    return Entry(
        number,
        made_at,
        (source_schema, source),
        kind,
        (target_schema, target),
        rows_in,
        rows_out,
        json.loads(policy),
        None if levels is None else json.loads(levels),
        tuple(KeptHierarchy(**kept) for kept in json.loads(hierarchies)),
        fingerprint,
        source_fingerprint,
    )


def remembered_policy(policy: Policy, roles: Roles) -> dict[str, Any]:
    """Return what is remembered of a policy: names of columns, models with their bounds, how it was searched.

    The seed is left out: no check needs it, and a ledger should say no more of how rows came to stand where they stand,
    and of what was drawn, than it must.
    """
    options = {name: getattr(policy, name) for name in OPTIONS}
    return {
        "columns": {
            "identifying": [column.name for column in roles.identifying],
            "quasi_identifiers": [column.name for column in roles.quasi_identifiers],
            "sensitive": [column.name for column in roles.sensitive],
            "insensitive": [column.name for column in roles.insensitive],
            "entity": None if roles.entity is None else roles.entity.name,
            **_pseudonymized(roles),
        },
        "models": [
            {"model": model.name, "required": _plain(model.required), "sensitive": model.sensitive}
            for model in policy.models
        ],
        "search": {
            "algorithm": policy.algorithm,
            "measure": policy.measure,
            "max_suppressed": policy.max_suppressed,
            **{name: value for name, value in options.items() if value is not None},
        },
    }


def _pseudonymized(roles: Roles) -> dict[str, list[str]]:
    """Return the columns that are published as pseudonyms; of a release without them, nothing, as it always was."""
    names = [column.name for column in roles.pseudonymized]
    return {"pseudonymized": names} if names else {}


def _plain(required: Any) -> Any:  # noqa: ANN401 - what a model requires: a whole number, a share, or several
    return required if isinstance(required, int | float) else str(required)
