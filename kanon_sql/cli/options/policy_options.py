"""The policy of a command: the policy file, overridden by the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.shared import RequestedModels, with_models, with_options
from kanon_sql.engine.base import name_and_value, split_names
from kanon_sql.engine.sources.preparing import rules_of, with_prepared
from kanon_sql.engine.time_zones import zone_in_force
from kanon_sql.errors import UsageError, counted
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.destination import Destination
from kanon_sql.policy.policy import SETTINGS, Policy, k_apart, read_policy
from kanon_sql.policy.profile.preparing import with_dates
from kanon_sql.policy.publish_rules import KEYED
from kanon_sql.policy.requirements import with_required_models
from kanon_sql.policy.settings import rule_from_anywhere
from kanon_sql.sql.names import folded, with_given

if TYPE_CHECKING:
    from kanon_sql.cli.output.diagnostics import Talk
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.engine.sources.preparing import Rules
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.gate import Finding
    from kanon_sql.policy.roles import NamedColumns
    from kanon_sql.policy.tables import TablesPolicy

_ROLES = ("identifying", "quasi_identifiers", "sensitive", "insensitive", "pseudonymize")
_SETTINGS = tuple(name for name in SETTINGS if name != "time_zone")  # it applies before a table is opened
_OPTIONS: dict[str, Any] = {
    "identifying": shared.IdOption,
    "quasi_identifiers": shared.QiOption,
    "sensitive": shared.SensitiveOption,
    "insensitive": shared.KeepOption,
    "rest": Annotated[
        Literal["keep", "drop"] | None, typer.Option("--rest", help="Publish or drop the columns without a role.")
    ],
    "entity": shared.EntityOption,
    "pseudonymize": shared.PseudonymizeOption,
    "k": shared.KOption,
    **{name: shared.setting_option(SETTINGS[name]) for name in _SETTINGS},
    "prepare": shared.PrepareOption,
    "hierarchy": shared.HierarchyOption,
    "hierarchies": shared.HierarchiesOption,
    "publish": shared.PublishOption,
    "levels": shared.LevelsOption,
    "weight": shared.WeightOption,
    "policy_file": shared.PolicyOption,
}


@dataclass(frozen=True)
class RequestedPolicy:
    said: Mapping[str, Any]  # by parameter, the value of each option; None if it was not given
    models: RequestedModels = field(default_factory=dict)  # requirements on classes beyond k
    population: str | None = None  # the table or file that some models compare with

    @property
    def file(self) -> Path | None:
        path: Path | None = self.said["policy_file"]
        return path

    @property
    def key_file(self) -> Path | None:
        path: Path | None = self.said.get("key_file")
        return path

    def time_limit(self, policy: Policy) -> float | None:
        """Return the time limit of the work, which starts before the columns of the table are known."""
        limit: float | None = self.said["time_limit"]
        return policy.time_limit if limit is None else limit

    def read(self) -> tuple[Policy, Destination]:
        """Read the policy file; without one, return an empty policy."""
        return policy_in(self.file)

    def of_several(self, said: Mapping[str, Any]) -> TablesPolicy:
        """Return a policy file of several tables, overridden by the command line; a place there replaces its place."""
        from kanon_sql.policy.tables import OF_TABLES, read_tables_policy

        policy = read_tables_policy(self.said["policy_file"])
        places = {"into_schema": said.get("into_schema"), "out": said.get("out"), "out_directory": said.get("out_dir")}
        others = OF_TABLES.keys() - {*places, "in_place", "backup"}
        given = {name: said[name] for name in others if said.get(name) is not None}
        if any(one is not None for one in places.values()) or said.get("in_place"):
            in_place = bool(said.get("in_place"))
            given |= {**places, "in_place": in_place, "backup": policy.backup if in_place else None}
        if (backup := False if said.get("no_backup") else said.get("backup")) is not None:
            given["backup"] = backup
        return replace(policy, **{**given, "time_zone": zone_in_force()})

    def prepared(self, opened: Source, policy: Policy) -> tuple[Source, Policy]:
        """Return a table with its columns prepared, and the policy overridden by the command line."""
        policy = self.over(policy)
        return with_dates(with_prepared(opened, policy.prepare), policy)

    def over(self, policy: Policy, *, generalizing: bool = False) -> Policy:
        """Return a policy overridden by the command line: roles add to those of the file, all else replaces it.

        A column with a role on the command line loses the one in the file. No column loses its role in any other way:
        one that is identifying in the file is published only if it is given another role by name. If the policy is for
        ``generalizing`` only, columns without a role do not matter, and no column is published by a rule.
        """
        said: Callable[[str], Any] = self.said.get
        entity: str | None = said("entity")
        named = {role: split_names(texts) for role in _ROLES if (texts := said(role))}
        columns = _with_roles(policy.columns, named, entity)
        if generalizing or said("rest"):
            columns = replace(columns, rest="drop" if generalizing else said("rest"))
        settings: dict[str, Any] = {
            **{name: said(name) for name in _SETTINGS},
            "standards": tuple(said("standard") or ()) or None,
            "hierarchy_directory": said("hierarchies") and said("hierarchies").absolute(),
            "population": self.population,
            "key_file": self.key_file and self.key_file.absolute(),
        }
        given = {name: value for name, value in settings.items() if value is not None}
        if entity is not None:  # the command line overrides a file that counts rows
            given.setdefault("count", "people")
        rules = {} if generalizing else _published_by(policy, named, _by_column(said("publish"), "--publish"))
        keyed = any(rule.partition(":")[0].strip() in KEYED for texts in rules.values() for rule in texts)
        if not columns.pseudonymize and not keyed:  # the column that the file pseudonymizes got another role
            given.setdefault("key_file", None)
        hierarchies = assignments(said("hierarchy"), "--hierarchy")
        hierarchies = {column: rule_from_anywhere(rule) for column, rule in hierarchies.items()}
        levels = assignments(said("levels"), "--levels")
        weights = assignments(said("weight"), "--weight")
        return replace(
            policy,
            columns=columns,
            models=with_required_models(  # each model of the command line replaces one of its kind
                [_with_requirements(model, said("k"), columns.entity) for model in k_apart(policy.models)],
                {name: [text] if isinstance(text, str) else text or [] for name, text in self.models.items()},
            ),
            prepare=with_given(policy.prepare, preparing(said("prepare"))),
            hierarchies=_with_rules(policy, columns, policy.hierarchies, hierarchies),
            levels=_with_rules(policy, columns, policy.levels, levels),
            weights=_with_rules(policy, columns, policy.weights, weights),
            publish=rules,
            **given,
        )


def with_policy(command: Callable[..., None]) -> Callable[..., None]:
    """Add all options of a policy to a command, before its own; it receives them as ``requested``."""

    def call(added: dict[str, Any], given: dict[str, Any]) -> None:
        requested = RequestedPolicy(added, given.pop("models"), given.pop("population"))
        command(**given, requested=requested)

    return with_models(with_options(command, _OPTIONS, call, ("requested",), after="table"))


def policy_in(policy_file: Path | None) -> tuple[Policy, Destination]:
    """Read a policy file, with the time zone of the command; without a file, return an empty policy."""
    policy, destination = (Policy(), Destination()) if policy_file is None else read_policy(policy_file)
    return replace(policy, time_zone=zone_in_force()), destination


def note_unread(source: Source, talk: Talk) -> None:
    """Print how many values are NULL because they could not be read."""
    if source.preparation is None:
        return
    for name, number in source.preparation.unread.items():
        talk.note(f"{name}: {counted(number, 'value')} could not be read by its rule, and are NULL.")
    for name in source.preparation.idle:
        talk.note(f"{name}: its rule null found none of its values.")


def note_findings(findings: Sequence[Finding], talk: Talk) -> None:
    """Print the findings that stop nothing."""
    for finding in findings:
        if not finding.refused:
            talk.note(finding.note())


def preparing(texts: list[str] | None) -> dict[str, Rules]:
    """Return the rules that ``--prepare`` gives to columns, those of one column in order."""
    return rules_of(_by_column(texts, "--prepare"))


def _by_column(texts: list[str] | None, option: str) -> dict[str, tuple[str, ...]]:
    """Return the rules of an option by column; a column may have several."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts or []:
        ((name, rule),) = assignments([text], option).items()
        column = next((known for known in found if folded(known) == folded(name)), name)
        found[column] = (*found.get(column, ()), rule)
    return found


def assignments(texts: list[str] | None, option: str) -> dict[str, str]:
    """Parse ``COLUMN=VALUE`` arguments; a name that contains ``=`` is in double quotes."""
    found: dict[str, str] = {}
    for text in texts or []:
        column, value = name_and_value(text)
        if not column or not value:
            own = {"--prepare": "COLUMN=RULE", "--publish": "COLUMN=RULE", "--levels": "COLUMN=LEVEL"}
            own["--weight"] = "COLUMN=WEIGHT"
            raise UsageError(f"{option} is written {own.get(option, 'COLUMN=FILE or COLUMN=RULE')}, not {text!r}.")
        if folded(column) in map(folded, found):
            raise UsageError(f"{option} names column {column!r} twice.")
        found[column] = value
    return found


def _with_roles(file: NamedColumns, named: dict[str, tuple[str, ...]], entity: str | None) -> NamedColumns:
    """Return the roles of a file with those of the command line. A column named there loses its role in the file."""
    moved = {folded(name) for names in named.values() for name in names}
    of_file = {role: getattr(file, role) for role in _ROLES}
    if entity is not None:
        moved.add(folded(entity))
        if file.entity is not None:  # the column may not be published as a result
            of_file["identifying"] = (*file.identifying, file.entity)
    united: dict[str, Any] = {}
    for role, names in of_file.items():
        own = {folded(name): name for name in named.get(role, ())}
        gone = moved - own.keys()
        if role == "pseudonymize" and entity is not None:  # people are counted by the values behind pseudonyms
            gone -= {folded(entity)}
        # Keep the order of the file, even if the command line names a column of the same role again.
        kept = {folded(name): name for name in names if folded(name) not in gone}
        united[role] = tuple((kept | own).values())
    proposed = tuple(name for name in file.proposed if folded(name) not in moved)
    return replace(file, **united, entity=file.entity if entity is None else entity, proposed=proposed)


def _with_requirements(model: PrivacyModel, k: int | None, entity: str | None) -> PrivacyModel:
    """Return a model with the k and the person column of the command line, if they were given."""
    if k is not None and isinstance(model, KAnonymity):
        model = replace(model, k=k)
    return model if entity is None else model.counting(entity)


def _with_rules(
    policy: Policy, said: NamedColumns, of_file: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the column settings of a file and the command line, except for columns with another role there."""
    generalized = {folded(name) for name in said.quasi_identifiers}
    return with_given(of_file, given, {folded(name) for name in policy.columns.quasi_identifiers} - generalized)


def _published_by(
    policy: Policy, named: Mapping[str, Sequence[str]], publish: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return the publishing rules of a file and the command line, except for columns with another role there."""
    moved = {folded(name) for role, names in named.items() if role != "insensitive" for name in names}
    return with_given(policy.publish, publish, moved)
