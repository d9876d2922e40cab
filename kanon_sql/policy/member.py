"""A member of a policy: the requirements for one table. The policy of one table is its own only member.

In kanon.toml the settings of a member are sections. In a policy of several tables they are below ``[tables.NAME]``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from kanon_sql.engine.files import relative_path
from kanon_sql.engine.sources.preparing import rules_of
from kanon_sql.errors import PolicyError
from kanon_sql.hierarchy.spec import GivenHierarchies, rule_text
from kanon_sql.policy.levels import levels_of
from kanon_sql.policy.roles import NamedColumns, Rest
from kanon_sql.policy.settings import checked, column_names, moved_rules
from kanon_sql.policy.weights import stated_weights, weights_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction
    from pathlib import Path

    from kanon_sql.engine.sources.preparing import Rules

ROLES = ("identifying", "quasi_identifiers", "sensitive", "insensitive", "pseudonymize", "proposed")
"""Settings that are lists of columns."""
COLUMNS = {column.name for column in fields(NamedColumns)}
"""The settings that name columns by role."""
BY_COLUMN = ("prepare", "hierarchies", "publish", "levels", "weights")
"""The settings that are a table with a value for each column."""


@dataclass(frozen=True, kw_only=True)
class MemberPolicy(GivenHierarchies):
    """The requirements for one table.

    Attributes:
        columns: the roles of its columns.
        publish: for kept columns, the rules by which they are published.
        levels: for quasi-identifiers, the level or range of levels that full-domain recoding may choose.
        prepare: the rules that prepare columns of the table, and the expressions of new ones.
        weights: for quasi-identifiers, the weight of their loss; 1 for all others.
    """

    columns: NamedColumns = field(default_factory=NamedColumns)
    publish: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    levels: Mapping[str, str] = field(default_factory=dict)
    prepare: Mapping[str, Rules] = field(default_factory=dict)
    weights: Mapping[str, Fraction] = field(default_factory=dict)

    how_to_count: ClassVar[str] = (
        'Count people with {option} (entity = ...); or, where rows are meant, with --count rows (count = "rows").'
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        publish = {column: _publish_rules(texts, column) for column, texts in self.publish.items()}
        object.__setattr__(self, "prepare", rules_of(self.prepare))
        object.__setattr__(self, "levels", levels_of(self.levels))
        object.__setattr__(self, "publish", publish)
        object.__setattr__(self, "weights", weights_of(self.weights, self.columns.quasi_identifiers))

    @property
    def named(self) -> NamedColumns:
        """The roles of all columns that have one, including those that name people and rows."""
        return self.columns

    @property
    def entity(self) -> str | None:
        """The column that names the person that a row is about."""
        return self.columns.entity

    @property
    def counts_people(self) -> bool:
        """True if k counts people but no column names them, so that people with several rows must be found."""
        return False

    @property
    def guards_sensitive(self) -> bool:
        """True if a refusal must not depend on sensitive values."""
        return False


def member_in(columns: Mapping[str, Any], rules: Mapping[str, Any], directory: Path, where: str = "") -> dict[str, Any]:
    """Return the fields of a member from its settings in a kanon.toml; ``where`` is its section, with a dot."""
    hierarchies, files = _hierarchies(rules.get("hierarchies", {}), where)
    own = where.removesuffix(".") or "columns"
    named = NamedColumns(
        **{role: column_names(columns.get(role, []), f"{own}.{role}") for role in ROLES},
        rest=checked(columns.get("rest"), get_args(Rest), f"{own}.rest"),
        entity=checked(columns.get("entity"), str, f"{own}.entity"),
    )
    return {
        "columns": named,
        "hierarchies": hierarchies,
        "hierarchy_directory": directory / files if files else None,
        **{name: _by_column(rules.get(name, {}), f"{where}{name}") for name in BY_COLUMN if name != "hierarchies"},
        "directory": directory,
    }


def _by_column(section: Any, where: str) -> dict[str, Any]:  # noqa: ANN401 - any TOML value
    if not isinstance(section, dict):
        raise PolicyError(f"{where} is a table with a value for each column.")
    return section


def member_document(member: MemberPolicy, directory: Path) -> dict[str, dict[str, Any]]:
    """Return the sections of a kanon.toml in a directory that read back as a member."""
    hierarchies: dict[str, Any] = moved_rules(member.hierarchies, member.directory, directory)
    if {"directory", "columns"} & set(hierarchies):
        hierarchies = {"columns": hierarchies}
    if member.hierarchy_directory is not None:
        hierarchies["directory"] = relative_path(member.hierarchy_directory, directory)
    return {
        "prepare": {name: _one_or_several(rules) for name, rules in member.prepare.items()},
        "columns": {name: value for name in sorted(COLUMNS) if (value := getattr(member.columns, name))},
        "hierarchies": hierarchies,
        "publish": {name: _one_or_several(rules) for name, rules in member.publish.items()},
        "levels": {name: int(text) if text.isdecimal() else text for name, text in member.levels.items()},
        "weights": stated_weights(member.weights),
    }


def _one_or_several(rules: Sequence[str]) -> str | Sequence[str]:
    return rules[0] if len(rules) == 1 else rules


def _publish_rules(rules: Any, column: str) -> tuple[str, ...]:  # noqa: ANN401 - any TOML value
    """Return the rules that publish a column, from a text or a list of texts."""
    listed = (rules,) if isinstance(rules, str) else rules
    if not isinstance(listed, list | tuple) or not all(isinstance(rule, str) for rule in listed):
        raise PolicyError(f'publish.{column} is a rule such as "round:100", or a list of rules.')
    return tuple(listed)


def _hierarchies(section: Any, where: str) -> tuple[dict[str, str], str | None]:  # noqa: ANN401 - as above
    """Return the rules of columns and the directory of hierarchy files. Rules may be in a table ``columns``."""
    if not isinstance(section, dict):
        raise PolicyError(f'{where}hierarchies has a rule for each column, as in {{ zip = "mask:right" }}.')
    settings = dict(section)
    files = checked(settings.pop("directory", None), str, f"{where}hierarchies.directory")
    apart = settings.pop("columns") if isinstance(settings.get("columns"), dict) else {}
    if twice := sorted(settings.keys() & apart.keys()):
        raise PolicyError(
            f"[{where}hierarchies] and [{where}hierarchies.columns] both give a hierarchy for column {twice[0]!r}."
        )
    return {name: rule_text(rule, f"{where}hierarchies.{name}") for name, rule in (settings | apart).items()}, files
