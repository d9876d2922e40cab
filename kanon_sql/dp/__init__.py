"""Differentially private answers and releases: noisy numbers with a budget; no row needs to be published.

    import kanon_sql as kanon

    kanon.dp.set_budget("clinic.duckdb", "patients", epsilon=1)
    answer = kanon.dp.ask("clinic.duckdb", "patients", kanon.dp.Count(epsilon=0.1, where="sex = 'F'"))
    print(answer.value, answer.accuracy)

Each name is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kanon_sql.dp.account import Budget
    from kanon_sql.dp.asking import ask, ask_sql, read_budget, set_budget
    from kanon_sql.dp.questions.base import Answer, Figure, Question
    from kanon_sql.dp.questions.counts import Count, Histogram, MostFrequent
    from kanon_sql.dp.questions.numbers import Mean, Quantile, Sum
    from kanon_sql.dp.released import DPRelease
    from kanon_sql.dp.releaser import release

_NAMES = {
    "asking": ("ask", "ask_sql", "read_budget", "set_budget"),
    "account": ("Budget",),
    "questions.base": ("Answer", "Figure", "Question"),
    "questions.counts": ("Count", "Histogram", "MostFrequent"),
    "questions.numbers": ("Mean", "Quantile", "Sum"),
    "released": ("DPRelease",),
    "releaser": ("release",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "Answer",
    "Budget",
    "Count",
    "DPRelease",
    "Figure",
    "Histogram",
    "Mean",
    "MostFrequent",
    "Quantile",
    "Question",
    "Sum",
    "ask",
    "ask_sql",
    "read_budget",
    "release",
    "set_budget",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    if name not in _HOME:
        raise AttributeError(f"module 'kanon_sql.dp' has no attribute {name!r}")
    return getattr(import_module(f"kanon_sql.dp.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
