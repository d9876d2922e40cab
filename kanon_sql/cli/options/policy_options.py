"""All that can be said of a policy on the command line: of the commands that make a release, or make one again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.cli.options.added_options import with_options
from kanon_sql.cli.options.command_line_policy import assignments, overridden
from kanon_sql.cli.options.model_options import RequestedModels, with_models
from kanon_sql.cli.options.options import (
    ChooseOption,
    CountOption,
    CutOption,
    EntityOption,
    HierarchiesOption,
    HierarchyOption,
    IdOption,
    KeyFileOption,
    KOption,
    LabelsOption,
    MaxSuppressedOption,
    MeasureOption,
    NumbersOption,
    PairsOption,
    PolicyOption,
    PseudonymizeOption,
    QiOption,
    SensitiveOption,
)
from kanon_sql.measures.shares import read_share
from kanon_sql.policy.algorithms import ALGORITHMS
from kanon_sql.policy.destination import Destination
from kanon_sql.policy.policy import Policy, SearchOn, read_policy

if TYPE_CHECKING:
    from kanon_sql.engine.base import Column

_OPTIONS: dict[str, Any] = {
    "identifying": IdOption,
    "quasi_identifiers": QiOption,
    "sensitive": SensitiveOption,
    "rest": Annotated[
        Literal["keep", "drop"] | None, typer.Option("--rest", help="What happens to columns without a role.")
    ],
    "entity": EntityOption,
    "count": CountOption,
    "pseudonymize": PseudonymizeOption,
    "key_file": KeyFileOption,
    "k": KOption,
    "max_suppressed": MaxSuppressedOption,
    "algorithm": Annotated[
        Literal[tuple(ALGORITHMS)] | None, typer.Option("--algorithm", help="How to search (default: optimal).")
    ],
    "measure": MeasureOption,
    "time_limit": Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="For all of the work: the search ends in time to publish and verify the best release so far, with its "
            "proven gap.",
        ),
    ],
    "sample_rate": Annotated[
        float | None,
        typer.Option(
            "--sample-rate", metavar="SHARE", parser=read_share, help="Of rows on which spolg chooses its path (0.01)."
        ),
    ],
    "choose": ChooseOption,
    "cut": CutOption,
    "labels": LabelsOption,
    "numbers": NumbersOption,
    "pairs": PairsOption,
    "search_on": Annotated[
        SearchOn | None,
        typer.Option(
            "--search-on",
            help="Where the search runs when the table is in PostgreSQL or Spark: on the workbench, which fetches "
            "distinct tuples, or on the warehouse itself (default: workbench).",
        ),
    ],
    "seed": Annotated[int | None, typer.Option("--seed", help="Of the order of rows, and of random choices.")],
    "hierarchy": HierarchyOption,
    "hierarchies": HierarchiesOption,
    "policy_file": PolicyOption,
}
_ROLES = ("identifying", "quasi_identifiers", "sensitive", "pseudonymize")
_SETTINGS = (
    *("count", "max_suppressed", "algorithm", "measure", "time_limit", "sample_rate"),
    *("choose", "cut", "labels", "numbers", "pairs", "search_on", "seed"),
)


@dataclass(frozen=True)
class RequestedPolicy:
    """What the command line says of a policy.

    Attributes:
        said: by parameter, the value of each option; None was not given.
        models: what is asked of classes beyond k.
        population: the table or file that some models compare with.
    """

    said: Mapping[str, Any]
    models: RequestedModels
    population: str | None

    @property
    def file(self) -> Path | None:
        """The policy file."""
        path: Path | None = self.said["policy_file"]
        return path

    @property
    def key_file(self) -> Path | None:
        """The file with the key of pseudonyms."""
        path: Path | None = self.said["key_file"]
        return path

    def time_limit(self, policy: Policy) -> float | None:
        """Return the time limit of the work, which begins before the columns of the table are known."""
        limit: float | None = self.said["time_limit"]
        return policy.time_limit if limit is None else limit

    def read(self) -> tuple[Policy, Destination]:
        """Return what the policy file says; without one, an empty policy.

        Raises:
            PolicyError: it cannot be read, or says something that cannot be meant.
        """
        return (Policy(), Destination()) if self.file is None else read_policy(self.file)

    def over(self, policy: Policy, columns: Sequence[Column]) -> Policy:
        """Return a policy with what the command line says of a table with these columns (see ``overridden``).

        Raises:
            UsageError: that is nothing that can be meant.
        """
        said = self.said
        return overridden(
            policy,
            columns,
            roles={role: said[role] for role in _ROLES},
            rest=said["rest"],
            entity=said["entity"],
            k=said["k"],
            models=self.models,
            hierarchies=assignments(said["hierarchy"], "--hierarchy", columns),
            settings={
                **{name: said[name] for name in _SETTINGS},
                "hierarchy_directory": said["hierarchies"] and said["hierarchies"].absolute(),
                "population": self.population,
                "key_file": self.key_file and self.key_file.absolute(),
            },
        )


def with_policy(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes all options of a policy, before its own; it gets them as ``asked``."""

    def call(asked: dict[str, Any], given: dict[str, Any]) -> None:
        models, population = given.pop("models"), given.pop("population")
        command(**given, asked=RequestedPolicy(asked, models, population))

    return with_models(with_options(command, _OPTIONS, call, ("asked",), after="table"))
