"""How much a test does: little before every commit, more of it with ``pytest --thorough``, which ``.ci/run`` runs too.

A test that is long by nature is marked ``thorough``: the quick run leaves it out. A test that does the same for many
examples, pairs or moments is marked ``deeper``: the quick run does a few of them, the thorough run more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable

PROFILES = {"quick": 20, "thorough": 30}
"""By name, how many examples a property has for which no number is given."""
LEAST, PART, MOST = 2, 5, 8
OF_A_RUN = 4
"""The thorough run does one in so many examples of a property, others each time: CI ends after 90 minutes."""

for _name, _examples in PROFILES.items():
    # A run of the whole tool takes a tenth of a second.
    settings.register_profile(
        _name, max_examples=_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


def load_profile(*, thorough: bool) -> None:
    """Choose how much is done, before any test is imported."""
    settings.load_profile("thorough" if thorough else "quick")


def is_thorough() -> bool:
    """Tell whether this is the thorough run."""
    return settings.get_current_profile_name() == "thorough"


def count(thorough: int, *, quick: int) -> int:
    """Return how many there are of what a test marked ``deeper`` repeats."""
    return thorough if is_thorough() else quick


def examples(thorough: int, *, quick: int | None = None, **others: Any) -> Callable[[Any], Any]:
    """Return the decorator that gives a property so many examples; a part of them in the quick run.

    Args:
        thorough: how many in the thorough run.
        quick: how many in the quick run; a fifth of them, at least 2 and at most 8, where nothing is said.
        others: other settings of hypothesis.
    """
    part = min(thorough, max(LEAST, min(MOST, thorough // PART))) if quick is None else quick

    def decorate(test: Any) -> Any:
        limited = settings(max_examples=count(max(part, thorough // OF_A_RUN), quick=part), **others)(test)
        return pytest.mark.deeper(limited) if part < thorough else limited

    return decorate
