"""The algorithms, one line each. The command line, kanon.toml, the library and the help read their names from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["full-domain", "local", "multidimensional"]


@dataclass(frozen=True)
class Algorithm:
    kind: Kind
    place: str  # module in ``kanon_sql.search`` and function, separated by a colon; imported when it runs
    options: tuple[str, ...] = ()  # policy settings that it accepts and some other algorithms do not


ALGORITHMS: dict[str, Algorithm] = {
    "optimal": Algorithm("full-domain", "full_domain.optimal:optimal"),
    "incognito": Algorithm("full-domain", "full_domain.incognito:incognito"),
    "samarati": Algorithm("full-domain", "full_domain.samarati:samarati"),
    "samarati-first": Algorithm("full-domain", "full_domain.samarati:samarati_first"),
    "datafly": Algorithm("full-domain", "full_domain.datafly:datafly"),
    "local": Algorithm("local", "local.local:local", ("prove",)),
    "spolg": Algorithm("local", "local.spolg:spolg", ("sample_rate", "prove")),
    "mondrian": Algorithm("multidimensional", "mondrian.mondrian:begin", ("choose", "cut", "labels", "numbers")),
    "mondrian-plus": Algorithm("multidimensional", "mondrian.mondrian:begin", ("cut", "labels", "numbers", "pairs")),
}
"""Every algorithm by name."""


def algorithms_of(kind: Kind) -> tuple[str, ...]:
    return tuple(name for name, algorithm in ALGORITHMS.items() if algorithm.kind == kind)


def options_of_others(name: str) -> list[str]:
    """Return the settings that only other algorithms accept."""
    options = dict.fromkeys(option for algorithm in ALGORITHMS.values() for option in algorithm.options)
    own = ALGORITHMS[name].options if name in ALGORITHMS else ()
    return [option for option in options if option not in own]


ALL_OR_NONE, GREEDY = "all-or-none", "greedy"
Choice = Literal["all-or-none", "greedy"]
CHOICES = get_args(Choice)
"""How models of sensitive values decide about classes (see ``kanon_sql.search.mondrian.all_or_none``)."""
