"""The state of the application: its URL, as changes to the initial policy. There is no other state.

The key of a parameter names a column: ``role.zip=sensitive``, ``rule.zip=mask``, ``level.zip=2``, ``most.zip=3``. The
URL contains only differences from the policy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlencode

from kanon_sql.errors import UsageError
from kanon_sql.measures.cell_measures import CELL_MEASURES
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import KnownSubsets
from kanon_sql.policy.algorithms import ALGORITHMS, algorithms_of, options_of_others
from kanon_sql.policy.policy import SETTINGS, Count, Policy, k_apart
from kanon_sql.policy.publish_rules import KEYED
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.policy.settings import rule_from_anywhere
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

    from kanon_sql.engine.base import Column
    from kanon_sql.models.base import PrivacyModel

LEFT_OUT = "left-out"
ROLES = {
    "quasi": "quasi-identifier",
    "sensitive": "sensitive",
    "kept": "published as it is",
    "pseudonym": "published as a pseudonym",
    "identifying": "identifying, not published",
    "person": "names the person, not published",
    "person-pseudonym": "names the person, published as a pseudonym",
    LEFT_OUT: "not published",
}
_PERSON = ("person", "person-pseudonym")
RISKS = {"highest": "largest risk", "average": "average risk", "share": "share above the threshold"}
_SMALLEST_K = 2  # below it, a label of one person would be shown
_DIGITS = 9


@dataclass(frozen=True)
class Base:
    policy: Policy  # the initial policy
    columns: tuple[Column, ...]  # of the table
    roles: Mapping[str, str]  # of each column under the policy

    @classmethod
    def of(cls, policy: Policy, columns: Iterable[Column]) -> Base:
        named = policy.columns
        found = tuple(columns)
        taken = {
            "quasi": named.quasi_identifiers,
            "sensitive": named.sensitive,
            "kept": named.insensitive,
            "identifying": named.identifying,
            "pseudonym": named.pseudonymize,
        }
        by_name = {folded(name): role for role, names in taken.items() for name in names}
        if named.entity is not None:
            person = folded(named.entity)
            by_name[person] = "person-pseudonym" if by_name.get(person) == "pseudonym" else "person"
        rest = "kept" if named.rest == "keep" else LEFT_OUT
        roles = {column.name: by_name.get(folded(column.name), rest) for column in found}
        # No person named the columns that are kept as the rest.
        unnamed = [name for name in roles if named.rest == "keep" and folded(name) not in by_name]
        named = replace(named, proposed=(*named.proposed, *unnamed))
        return cls(replace(policy, columns=named), found, roles)

    @property
    def start(self) -> State:
        policy = self.policy
        return State(
            self,
            roles=dict(self.roles),
            k=max(policy.k, _SMALLEST_K),
            limit=str(policy.max_suppressed),
            algorithm=policy.algorithm,
            count=policy.count,
        )


@dataclass(frozen=True)
class State:
    base: Base
    roles: Mapping[str, str]  # of each column of the table
    k: int  # the smallest class
    limit: str  # of suppression
    algorithm: str
    count: Count  # the unit of k if no column names the person
    # hierarchies that replace those of the policy
    rules: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, int] = field(default_factory=dict)  # chosen levels of quasi-identifiers
    # pins: the highest levels that the search may choose
    most: Mapping[str, int] = field(default_factory=dict)
    confirmed: bool = False  # True if a person confirmed the proposed roles
    measure: str = "loss"  # shown in the trade-off
    risk: str = "highest"  # shown in the trade-off

    @classmethod
    def read(cls, base: Base, parameters: Iterable[tuple[str, str]]) -> State:
        """Parse the parameters of a URL or a form. Raises an error for anything that does not belong to a state."""
        plain: dict[str, Any] = {}
        by_column: dict[str, dict[str, Any]] = {"role": dict(base.roles), "rule": {}, "level": {}, "most": {}}
        # A browser sends any line end in the name of a field as CR LF.
        names = {_one_line_end(column.name): column.name for column in base.columns}
        names |= {folded(column.name): column.name for column in base.columns}
        for key, value in parameters:
            kind, dot, name = key.partition(".")
            if dot and kind in by_column:
                if (column := names.get(folded(name), names.get(_one_line_end(name)))) is None:
                    raise UsageError(f"There is no column {name!r} in the table.")
                if value:
                    by_column[kind][column] = value if kind in {"role", "rule"} else _number(value, "A level", 0)
            elif key in {"limit", "algorithm", "count", "measure", "risk", "k", "confirmed"}:
                plain[key] = value
            else:
                raise UsageError(f"There is no setting {key!r}.")
        if wrong := set(by_column["role"].values()) - set(ROLES):
            raise UsageError(f"There is no role {min(wrong)!r}. There is: {', '.join(ROLES)}.")
        found = replace(
            base.start,
            roles=by_column["role"],
            rules=by_column["rule"],
            **{name: _setting(name, value) for name, value in plain.items()},
        )
        if found.algorithm not in algorithms_of("full-domain"):  # it does not give each column a level
            return found
        return replace(found, levels=by_column["level"], most=by_column["most"])

    def parameters(self) -> list[tuple[str, str]]:
        start = self.base.start
        plain = [
            (name, str(getattr(self, name)))
            for name in ("k", "limit", "algorithm", "count", "measure", "risk")
            if getattr(self, name) != getattr(start, name)
        ]
        roles = [(f"role.{name}", role) for name, role in self.roles.items() if start.roles[name] != role]
        others = [
            (f"{kind}.{name}", str(value))
            for kind, values in (("rule", self.rules), ("level", self.levels), ("most", self.most))
            for name, value in values.items()
        ]
        return [*roles, *plain, *([("confirmed", "1")] if self.confirmed else []), *others]

    def href(self, page: str, **changed: Any) -> str:  # noqa: ANN401 - of any field
        """Return the URL of a page for this state, with some fields changed."""
        query = urlencode(replace(self, **changed).parameters())
        return f"{page}?{query}" if query else page

    def of_role(self, *roles: str) -> tuple[str, ...]:
        """Return the columns of some roles: those of the policy in its order, then the others in table order."""
        named = self.base.policy.columns
        listed = (*named.quasi_identifiers, *named.sensitive, *named.insensitive, *named.identifying)
        order = {folded(name): place for place, name in enumerate(listed)}
        found = [name for name, role in self.roles.items() if role in roles]
        return tuple(sorted(found, key=lambda name: order.get(folded(name), len(order))))

    @property
    def proposed(self) -> tuple[str, ...]:
        """The columns whose role was proposed and not confirmed or changed by a person."""
        base = self.base.roles
        same = {folded(name) for name, role in self.roles.items() if base[name] == role}
        return () if self.confirmed else tuple(one for one in self.base.policy.columns.proposed if folded(one) in same)

    @property
    def no_longer_counts_people(self) -> bool:
        """True if k counts rows although it counts people in the initial policy."""
        return self.base.policy.count == "people" and self.count == "rows" and not self.of_role(*_PERSON)

    @property
    def chosen_levels(self) -> dict[str, str]:
        """The levels that the search may choose, as in a policy. A chosen level takes precedence over a pin."""
        generalized = {folded(name) for name in self.of_role("quasi")}
        of_policy = {name: text for name, text in self.base.policy.levels.items() if folded(name) in generalized}
        pins = {name: f"..{level}" for name, level in self.most.items()}
        own = pins | {name: str(level) for name, level in self.levels.items()}
        said = {folded(name) for name in own}
        kept = {name: text for name, text in of_policy.items() if folded(name) not in said}
        return kept | {name: text for name, text in own.items() if folded(name) in generalized}

    @property
    def weights(self) -> dict[str, Fraction]:
        """The policy's weights of generalized columns."""
        generalized = {folded(name) for name in self.of_role("quasi")}
        return {name: weight for name, weight in self.base.policy.weights.items() if folded(name) in generalized}

    def policy(self) -> Policy:
        base, roles = self.base.policy, self.roles
        people = self.of_role(*_PERSON)
        if len(people) > 1:
            raise UsageError(f"Several columns are to name the person: {', '.join(people)}. Name one.")
        entity = people[0] if people else None
        pseudonyms = self.of_role("pseudonym", "person-pseudonym")
        unchanged = {folded(name) for name, role in roles.items() if self.base.roles[name] == role}
        rules = {name: rule for name, rule in base.hierarchies.items() if folded(name) in unchanged}
        given = {folded(name) for name in self.rules}
        rules = {name: rule for name, rule in rules.items() if folded(name) not in given}
        generalized = set(self.of_role("quasi"))
        rules |= {name: rule_from_anywhere(rule) for name, rule in self.rules.items() if name in generalized}
        publish = {name: texts for name, texts in base.publish.items() if folded(name) in unchanged}
        keyed = bool(pseudonyms) or any(
            rule.partition(":")[0].strip() in KEYED for texts in publish.values() for rule in texts
        )
        models = [replace(one, k=self.k) if isinstance(one, KAnonymity) else one for one in k_apart(base.models)]
        if not any(isinstance(one, KAnonymity) for one in models):
            models.insert(0, KAnonymity(self.k))
        settings: dict[str, Any] = dict.fromkeys(options_of_others(self.algorithm))
        return replace(
            base,
            columns=NamedColumns(
                identifying=self.of_role("identifying"),
                quasi_identifiers=self.of_role("quasi"),
                sensitive=self.of_role("sensitive"),
                insensitive=self.of_role("kept"),
                rest="drop",
                entity=entity,
                pseudonymize=pseudonyms,
                proposed=self.proposed,
            ),
            models=tuple(_counting(one, entity) for one in models),
            hierarchies=rules,
            publish=publish,
            key_file=base.key_file if keyed else None,
            max_suppressed=SETTINGS["max_suppressed"].value(self.limit),
            algorithm=self.algorithm,
            count="people" if entity is not None else self.count,
            levels=self.chosen_levels,
            weights=self.weights,
            **settings,
        )

    @property
    def by_levels(self) -> State:
        """This state with an algorithm that gives each column a level."""
        full_domain = self.algorithm in algorithms_of("full-domain")
        return self if full_domain else replace(self, algorithm="optimal")

    def searched(self) -> State:
        """Return this state without chosen levels: the settings for the search of the optimum."""
        return replace(self.by_levels, levels={})


MEASURES = (*CELL_MEASURES, "discernibility", "average_class_size")
"""Measures that compare releases in the trade-off."""


def _counting(model: PrivacyModel, entity: str | None) -> PrivacyModel:
    """Return a model whose members are people, or rows if no column names the person."""
    if entity is None and isinstance(model, KAnonymity | KnownSubsets):
        return replace(model, entity=None)
    return model if entity is None else model.counting(entity)


def _setting(name: str, value: str) -> Any:  # noqa: ANN401 - of the kind of its field
    known = {"algorithm": ALGORITHMS, "count": get_args(Count), "measure": MEASURES, "risk": RISKS}
    if name in known and value not in known[name]:
        raise UsageError(f"There is no {name} {value!r}. There is: {', '.join(known[name])}.")
    if name == "k":
        return _number(value, "k", _SMALLEST_K)
    if name == "limit":
        return str(SETTINGS["max_suppressed"].value(value))
    return value == "1" if name == "confirmed" else value


def _one_line_end(name: str) -> str:
    return folded(name.replace("\r\n", "\n").replace("\r", "\n"))


def _number(text: str, what: str, least: int) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else -1
    if number < least:
        raise UsageError(f"{what} is a whole number from {least} to {10**_DIGITS - 1:,}, not {text!r}.")
    return number
