"""Policies: roles, hierarchies, privacy models and limits; and kanon.toml, the file that holds them.

``docs/policy.md`` shows a complete kanon.toml. Paths in the file are relative to its directory.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, get_args

from kanon_sql.classes.recoding import OPTIONS, Choose, Cut, Cutting, Numbers, Texts, cutting_of
from kanon_sql.engine.base import names
from kanon_sql.engine.capabilities import COMMANDS, has, refused
from kanon_sql.engine.files import write_whole
from kanon_sql.engine.sources.addresses import resolved, seen_from
from kanon_sql.engine.sources.layout import READERS_OF, layout_from
from kanon_sql.engine.time_zones import UTC
from kanon_sql.errors import PolicyError, UnsuitableError, UsageError
from kanon_sql.hierarchy.spec import by_column_or_directory, require_in_files
from kanon_sql.measures.shares import read_share
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.models.known_subsets import KnownSubsets, known_subsets_of
from kanon_sql.models.population import PopulationModel
from kanon_sql.models.sensitive import SensitiveModel
from kanon_sql.policy.algorithms import ALGORITHMS, ALL_OR_NONE, CHOICES, algorithms_of, options_of_others
from kanon_sql.policy.destination import DESTINATION, Destination, Origin
from kanon_sql.policy.member import BY_COLUMN, COLUMNS, ROLES, MemberPolicy, member_document, member_in
from kanon_sql.policy.publish_rules import KEYED, parse_publish_rules
from kanon_sql.policy.requirements import from_settings, model_settings, to_settings
from kanon_sql.policy.roles import NamedColumns
from kanon_sql.policy.settings import (
    Setting,
    check_settings,
    checked,
    listed_texts,
    names_in,
    parsed,
    positive,
    require_known,
    setting,
    settings_by_section,
    settings_in,
    settings_of,
    toml_document,
    toml_of,
)
from kanon_sql.policy.weights import stated_weights
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from kanon_sql.hierarchy.spec import Hierarchies
    from kanon_sql.models.base import PrivacyModel

Call = TypeVar("Call", bound="Callable[..., Any]")
SearchOn = Literal["workbench", "warehouse"]
Count = Literal["people", "rows"]
CHOICE_IS_GREEDY_IN_SHORT = (
    "greedy: the models hold in every class. Someone who knows the algorithm may still learn sensitive values"
)
CHOICE_IS_GREEDY = f'The choice is {CHOICE_IS_GREEDY_IN_SHORT} (choice = "all-or-none" prevents that).'
COUNTS_ROWS = "k counts rows, not people (count = rows): a class of k rows may have fewer people, down to one."
Measure = Literal["loss", "gcp", "precision", "nonuniform_entropy", "discernibility", "average_class_size"]
DEFAULT_K = 5
DEFAULT_MAX_SUPPRESSED = 0.02


def suppression_limit(given: float | str) -> float | str:
    """Normalize a limit to a share, ``"<number> rows"`` or ``"k rows"``. Raises a ValueError for anything else."""
    text = str(given).strip().lower()
    if match := re.fullmatch(r"([0-9]{1,18}|k) ?rows?", text):
        return f"{match[1]} rows"
    share = read_share(text)
    if isinstance(given, bool) or not 0 <= share <= 1:
        raise ValueError(given)
    return given if isinstance(given, int | float) else share


def rows_allowed(limit: float | str, rows: int, k: int = 0) -> int:
    """Return how many rows may be suppressed. It is never all of them: an empty table is not a release.

    Shares are exact: 0.29 of 100 rows is 29, not 28 as in binary fractions. ``k`` is that of "k rows".
    """
    if isinstance(limit, str):
        number = limit.split()[0]
        allowed = k if number == "k" else int(number)
    else:
        allowed = int(Fraction(str(limit)) * rows)
    return min(allowed, max(0, rows - 1))


def _sample_rate(given: float | str) -> float:
    share = read_share(given) if isinstance(given, str) else given
    if isinstance(given, bool) or not 0 < share <= 1:
        raise ValueError(given)
    return share


def _passes(given: int) -> int:
    if isinstance(given, bool | str) or given < 0:
        raise ValueError(given)
    return given


class ByDefault(str):
    """The name of a default algorithm. A policy with other models may use another one."""

    __slots__ = ()


@dataclass(frozen=True, kw_only=True)
class SetPolicy:
    """The requirements for tables that are released together, one or several. Each ``setting`` has its help."""

    count: Count = setting(
        "What k counts, if people have several rows.", "privacy", get_args(Count), default="people", is_shown=True
    )
    max_suppressed: float | str = setting(
        "Limit of the rows left out: 5%, '25 rows' or 'k rows'.",
        "search",
        str,
        default=DEFAULT_MAX_SUPPRESSED,
        also=("number",),
        must="between 0 and 1, a share such as 5%, '25 rows' or 'k rows'",
        read=suppression_limit,
        metavar="LIMIT",
        is_written=True,
        is_shown=True,
    )
    algorithm: str = setting(
        "How to search (default: optimal; mondrian with --l, --t and the like).",
        "search",
        tuple(ALGORITHMS),
        default="",
        metavar="ALGORITHM",
        is_written=True,
        is_shown=True,
    )
    measure: Measure = setting("What to minimize.", "search", get_args(Measure), default="loss", is_written=True)
    time_limit: float | None = setting(
        "For all of the work: the search ends in time to publish and verify the best release so far, with its proven "
        "gap. (Default: none, and 10 seconds of search where a lattice has more than 1,000,000 nodes.)",
        "search",
        float,
        must="a number of seconds above 0",
        read=positive,
        metavar="SECONDS",
    )
    sample_rate: float | None = setting(
        "Of rows on which spolg chooses its path (0.01).",
        "search",
        str,
        also=("number",),
        must="a share of rows above 0 and at most 1",
        read=_sample_rate,
        metavar="SHARE",
    )
    prove: bool | None = setting(
        "How much less any recoding by labels of these hierarchies could lose, at most: of local and spolg; within the "
        "time limit, or 60 seconds.",
        "search",
        bool,
    )
    choice: str = setting(
        "How models of sensitive values decide: all-or-none, for mondrian; or greedy, which gives some values away to "
        "someone who knows the algorithm.",
        "search",
        CHOICES,
        default=ALL_OR_NONE,
    )
    choose: str | None = setting(
        "How mondrian chooses the column that it cuts a part in (default: range).", "search", get_args(Choose)
    )
    cut: str | None = setting(
        "Where mondrian cuts: at the median (strict, the default), in half (relaxed), or at a node of the tree.",
        "search",
        get_args(Cut),
    )
    labels: str | None = setting(
        "How mondrian writes the texts of a part (default: their lowest label in the tree).", "search", get_args(Texts)
    )
    numbers: str | None = setting(
        "How mondrian writes the numbers and dates of a part (default: range).", "search", get_args(Numbers)
    )
    pairs: int | None = setting(
        "How often mondrian-plus goes through pairs of parts at the end, to cut them again together (default: 1).",
        "search",
        int,
        must="a number of passes, 0 or more",
        read=_passes,
        metavar="PASSES",
    )
    search_on: SearchOn = setting(
        "Where the search runs when the table is in PostgreSQL or Spark: on the workbench, which fetches distinct "
        "tuples, or on the warehouse itself.",
        "search",
        get_args(SearchOn),
        default="workbench",
    )
    seed: int | None = setting("Of the order of rows, and of random choices.", "release", int, metavar="N")
    time_zone: str = setting(
        "In which labels and texts of a TIMESTAMP WITH TIME ZONE are computed, such as Europe/Berlin.",
        "release",
        str,
        default=UTC,
        metavar="NAME",
    )
    key_file: Path | None = setting(
        "The key of pseudonyms, 16 bytes or more; without it a key is drawn for this release alone.",
        "release",
        Path,
        read=Path,
        metavar="FILE",
    )
    directory: Path = field(default_factory=Path)  # relative paths start here

    @property
    def may_suppress_all(self) -> bool:
        """True if the limit of suppression is a share of 1."""
        return not isinstance(self.max_suppressed, str) and self.max_suppressed >= 1

    def suppressing(self, limit: float | str) -> Self:
        return replace(self, max_suppressed=limit)

    def rows_allowed(self, rows: int, k: int) -> int:
        return rows_allowed(self.max_suppressed, rows, k)


@dataclass(frozen=True, kw_only=True)
class Policy(SetPolicy, MemberPolicy):
    """The requirements for a release of one table: settings of a set of tables and those of its only member.

    Attributes:
        models: the models that every published class must satisfy.
        population: the table or file that k-map and delta-presence compare with.
        origin: the original table, if the policy is for one table.
        standards: names of standards (``standards/*.toml``) whose rules ``check`` and ``report`` apply.
    """

    models: tuple[PrivacyModel, ...] = (KAnonymity(DEFAULT_K),)
    population: str | None = None
    origin: Origin | None = None
    standards: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        MemberPolicy.__post_init__(self)
        check_settings(self, settings_of(type(self)))
        if not self.algorithm or isinstance(self.algorithm, ByDefault):
            by_default = "mondrian" if self.choice_made == ALL_OR_NONE else "optimal"
            object.__setattr__(self, "algorithm", ByDefault(by_default))
        others = options_of_others(self.algorithm)
        if self.sample_rate is not None and "sample_rate" in others:
            raise UsageError(f"sample_rate is for spolg, which draws a sample; {self.algorithm} does not.")
        if self.prove and "prove" in others:
            raise UsageError(
                f"prove is for {' and '.join(algorithms_of('local'))}, of which it says how far from the best any of "
                f"their kind they may be; {self.algorithm} is not one of them."
            )
        _ = self.cutting  # raises an error if a setting is for another algorithm
        self._require_levels()
        if not self.models:
            raise UsageError("A release needs a privacy model: give k.")
        object.__setattr__(self, "models", _with_k_of_known(self.models))
        compared = [model.name for model in self.models if isinstance(model, PopulationModel)]
        if bool(compared) != (self.population is not None):
            raise UsageError(
                f"{compared[0]} compares with a population: name the table or file with --population."
                if compared
                else "A population is for k-map and delta-presence: give --k-map or --presence too."
            )
        self._require_use_of_key()
        self._name_one_entity()
        if self.standards:
            from kanon_sql.policy.standards import standards_named  # imported only if a policy names a standard

            object.__setattr__(self, "standards", standards_named(self.standards))

    @property
    def asked(self) -> dict[str, Any]:
        """The settings of the search, as ledger and report write them."""
        asked = {name: getattr(self, name) for name in ("algorithm", "measure", "max_suppressed")}
        return asked | {"weights": stated_weights(self.weights)}

    @property
    def choice_made(self) -> str | None:
        """How models of sensitive values decide about classes; None if there are no such models."""
        return self.choice if any(isinstance(model, SensitiveModel) for model in self.models) else None

    @property
    def counts_people(self) -> bool:
        return self.count == "people"

    @property
    def guards_sensitive(self) -> bool:
        return self.choice_made == ALL_OR_NONE

    def _require_levels(self) -> None:
        if self.levels and self.algorithm not in algorithms_of("full-domain"):
            raise UnsuitableError(
                "Levels are for full-domain recoding, in which a column has one level in all rows; of "
                f"{self.algorithm}, rows have levels of their own: use --algorithm optimal"
                + (" with --choice greedy" if self.choice_made == ALL_OR_NONE else "")
                + ", or leave --levels out."
            )

    def _name_one_entity(self) -> None:
        """Make columns and models name the same person column, or none."""
        named = {name for name in (self.columns.entity, *(model.entity for model in self.models)) if name is not None}
        if len(named) > 1:
            raise UsageError(f"Several columns are to name the person: {', '.join(sorted(named))}. Name one.")
        if named and self.count == "rows":
            raise UsageError(
                f"{next(iter(named))} names the person, and people are counted by it: leave it out (--entity, "
                'entity = ...) to count rows, or leave out --count rows (count = "rows").'
            )
        if entity := next(iter(named), None):
            object.__setattr__(self, "columns", replace(self.columns, entity=entity))
            object.__setattr__(self, "models", tuple(model.counting(entity) for model in self.models))

    def _require_use_of_key(self) -> None:
        rules = [rule for column, texts in self.publish.items() for rule in parse_publish_rules(column, texts)]
        keyed = self.columns.pseudonymize or any(rule.kind in KEYED for rule in rules)
        if self.key_file is not None and not keyed:
            raise UsageError(
                "A key file is for pseudonyms: say which columns with --pseudonymize (or --publish COLUMN=hash, "
                "COLUMN=shift-dates:DAYS), or leave it out."
            )

    @property
    def cutting(self) -> Cutting | None:
        """How the table is cut into parts; None for algorithms that do not cut."""
        said = {name: getattr(self, name) for name in OPTIONS}
        return cutting_of(self.algorithm, self.measure, **said, seed=self.seed)

    def of_rows(self, *, with_population: bool = True) -> Policy:
        """Return the policy with only its quasi-identifiers, k, and the population that their hierarchies cover."""
        named = self.columns.quasi_identifiers
        known = {folded(name) for name in named}
        compared = [model for model in self.models if isinstance(model, PopulationModel)]
        return replace(
            self,
            columns=NamedColumns(quasi_identifiers=named, rest="drop"),
            models=(KAnonymity(self.k), *(compared if with_population else ())),
            population=self.population if with_population else None,
            count="rows",
            hierarchies={name: rule for name, rule in self.hierarchies.items() if folded(name) in known},
            publish={},
            levels={},
            key_file=None,
        )

    @property
    def population_path(self) -> str:
        """The population from the current directory: a file that is relative to the policy's directory, or a table."""
        name = self.population or ""
        path = self.directory / name
        return str(path) if path.suffix and path.exists() else name

    @property
    def k(self) -> int:
        """The k of k-anonymity, for all quasi-identifiers or some; 1 if it is not required."""
        return max((model.k for model in k_apart(self.models) if isinstance(model, KAnonymity)), default=1)


def models_with_k(models: Iterable[PrivacyModel] | None, k: int | None) -> tuple[PrivacyModel, ...]:
    """Return the models from the arguments ``models`` and ``k`` of a public call; by default, k = 5."""
    if k is None:
        return (KAnonymity(DEFAULT_K),) if models is None else tuple(models)
    others = tuple(models or ())
    if any(isinstance(model, KAnonymity) for model in others):
        raise UsageError("k is given twice: leave k out, or KAnonymity in models.")
    return (KAnonymity(k), *others)


def k_apart(models: Iterable[PrivacyModel]) -> tuple[PrivacyModel, ...]:
    """Split k-anonymity of some columns into k and the number of columns, as files store it."""
    found: list[PrivacyModel] = []
    for model in models:
        if isinstance(model, KnownSubsets) and model.k is not None:
            found += [KAnonymity(model.k, model.entity), KnownSubsets(model.m, entity=model.entity)]
        else:
            found.append(model)
    return tuple(found)


def _with_k_of_known(models: tuple[PrivacyModel, ...]) -> tuple[PrivacyModel, ...]:
    """Merge k and the number of columns into one model, which excludes all others."""
    known = known_subsets_of(models)
    if known is None:
        return models
    k = next((model for model in models if isinstance(model, KAnonymity)), None)
    if k is not None and known.k is not None:
        raise UsageError("k is given twice: leave KAnonymity out, which promises more, or k of KnownSubsets.")
    if others := [model for model in models if model not in (known, k)]:
        raise UsageError(f"{known.name} (--known) stands alone: leave {others[0].name} out, or --known.")
    entity = known.entity if k is None or known.entity is not None else k.entity
    own = known.k if known.k is not None else DEFAULT_K if k is None else k.k
    return (replace(known, k=own, entity=entity),)


def make_policy(
    policy: Policy | str | os.PathLike[str] | None,
    *,
    hierarchies: Hierarchies | None = None,
    k: int | None = None,
    models: Sequence[PrivacyModel] | None = None,
    **settings: Any,  # noqa: ANN401 - settings of a Policy, which checks them, and of its columns
) -> Policy:
    """Return the given policy, or read it from a file, or make it from settings."""
    if isinstance(policy, Policy):
        return policy
    if policy is not None:
        return read_policy(Path(policy))[0]
    rules, directory = by_column_or_directory(hierarchies)
    of_columns: dict[str, Any] = {name: settings.pop(name) for name in COLUMNS - {"proposed"} if name in settings}
    of_columns |= {name: names(one) for name, one in of_columns.items() if name in ROLES}
    by_column: dict[str, Any] = {name: settings.pop(name, None) or {} for name in set(BY_COLUMN) - {"hierarchies"}}
    return Policy(
        columns=NamedColumns(**of_columns),
        models=models_with_k(models, k),
        hierarchies=rules,
        hierarchy_directory=directory,
        **by_column,
        **settings,
    )


SETTINGS = settings_of(Policy)
"""The settings that are one value, by name."""
K = Setting("The smallest class that may be published.", "privacy", int, DEFAULT_K, "k", "k", is_shown=True)
ALL_SETTINGS = {one.key: one for one in (K, *SETTINGS.values(), *DESTINATION.values())}
"""The settings of kanon.toml that are one value, by key."""


def with_settings(call: Call) -> Call:
    """Show each setting as a keyword, with its default, in the signature of a call that takes ``**settings``."""
    own = inspect.signature(call)
    *first, _ = own.parameters.values()
    keywords = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default) for one in SETTINGS.values()
    ]
    call.__signature__ = own.replace(parameters=[*first, *keywords])  # type: ignore[attr-defined]  # what help() shows
    return call


SECTIONS: dict[str, set[str]] = {
    "source": {"from", "table", *READERS_OF},
    "columns": COLUMNS,
    "privacy": {"k", "population", "standards", *model_settings(), *names_in("privacy", SETTINGS)},
    "search": names_in("search", SETTINGS),
    "release": {*names_in("release", DESTINATION), *names_in("release", SETTINGS)},
}
"""The settings of kanon.toml. ``tests/policy/test_settings.py`` compares them with the options, keywords and fields."""
TABLES = "tables"
"""The section of a policy of several tables (see ``kanon_sql.policy.tables``)."""


def read_policy(path: Path) -> tuple[Policy, Destination]:
    """Read the policy and the destination from a kanon.toml, or raise a PolicyError."""
    return parsed(path, None, _from_document)


def time_zone_of(path: Path) -> str:
    """Return the time zone in a kanon.toml, for one table or several."""
    release = toml_document(path).get("release", {})
    return checked(release.get("time_zone", UTC), str, "release.time_zone") if isinstance(release, dict) else UTC


def given_policy(policy: Policy | str | os.PathLike[str] | None) -> tuple[Policy | None, Destination]:
    """Return the policy of a public call, read if it is a file. Only a file has a destination."""
    return (policy, Destination()) if policy is None or isinstance(policy, Policy) else read_policy(Path(policy))


def parse_policy(text: str, path: Path) -> tuple[Policy, Destination]:
    """Parse a kanon.toml. Its relative paths start from the directory of ``path``, which need not exist yet."""
    return parsed(path, text, _from_document)


def write_policy(policy: Policy, destination: Destination, path: Path) -> None:
    """Write a policy and a destination as a kanon.toml that reads back as the same, atomically.

    Raises:
        SourceError: the file cannot be written.
        UsageError: a hierarchy is a mapping or a data frame, which the file cannot name.
    """
    require_in_files(policy.hierarchies, "kanon.toml")
    write_whole(path, policy_text(policy, destination, path.parent), "The policy")


def policy_text(policy: Policy, destination: Destination, directory: Path) -> str:
    """Return the text of a kanon.toml in a directory that reads back as a policy and a destination."""
    origin = policy.origin
    source = {} if origin is None else {"from": seen_from(directory, origin.source), "table": origin.table}
    privacy, search, release = settings_by_section(policy, SETTINGS, directory).values()
    release = settings_by_section(destination, DESTINATION, directory)["release"] | release
    document: dict[str, dict[str, Any]] = {
        "source": source if origin is None else source | origin.layout.stated,
        **member_document(policy, directory),
        "privacy": {
            "k": policy.k,
            **privacy,
            **to_settings(policy.models),
            "population": policy.population,
            "standards": policy.standards or None,
        },
        "search": dict(sorted(search.items())),
        "release": {"into": destination.into, "as": destination.kind, **release} if destination.into else release,
    }
    return toml_of(document)


def _from_document(document: dict[str, Any], directory: Path) -> tuple[Policy, Destination]:
    if TABLES in document:
        able = ", ".join(name for name in COMMANDS if has(name, "several tables"))
        raise UsageError(
            "this is a policy of several tables ([tables.NAME]), and here one of a single table is needed. A policy of "
            f"several tables is for kanon {able}. {refused('report', 'several tables', 'kanon report')}"
        )
    require_known(document, SECTIONS, BY_COLUMN)
    own = member_in(document.get("columns", {}), document, directory)
    privacy = document.get("privacy", {})
    k = checked(privacy.get("k", DEFAULT_K), int, "privacy.k")
    population = checked(privacy.get("population"), str, "privacy.population")
    policy = Policy(
        **own,
        models=(KAnonymity(k, entity=own["columns"].entity), *from_settings(privacy)),
        population=population,
        **settings_in(document, SETTINGS, directory),
        origin=_origin(document.get("source", {}), directory),
        standards=listed_texts(privacy.get("standards", []), 'privacy.standards is a list of names, as in ["wp216"].'),
    )
    return policy, Destination(**settings_in(document, DESTINATION, directory))


def _origin(section: dict[str, Any], directory: Path) -> Origin | None:
    source = checked(section.get("from"), str, "source.from")
    table = checked(section.get("table"), str, "source.table")
    layout = layout_from({name: value for name, value in section.items() if name not in {"from", "table"}}, "[source]")
    if source is None and table is not None:
        raise PolicyError(f"[source] names the table {table!r}, and not where it is: write from too.")
    if source is None and section:
        raise PolicyError("[source] does not say where the table is: write from too.")
    return None if source is None else Origin(resolved(source, directory) if source else "", table, layout)
