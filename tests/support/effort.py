"""How much a test does: little before every commit, more of it with `pytest --thorough` in CI.

A test marked `thorough` does not run in the quick suite. A test marked `deeper` repeats the same for many examples,
pairs or moments: the quick suite does a few, `--thorough` a tenth, `--thorough --all-examples` all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable

PROFILES = {"quick": 20, "thorough": 30, "all": 30}
"""By name, the number of examples of a property that gives none."""
QUICK_PART = 5
LEAST_QUICK_EXAMPLES, MOST_QUICK_EXAMPLES = 2, 8
THOROUGH_PART = 10
"""`--thorough` does one of so many examples; `--hypothesis-seed`, which `.ci/run` prints, decides which."""

for _name, _examples in PROFILES.items():
    # A run of the whole tool takes a tenth of a second.
    settings.register_profile(
        _name, max_examples=_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


_turn = 0
"""Which tenth of the seeds `--thorough` does: the last digit of `--hypothesis-seed`, which `.ci/run` prints."""


def load_profile(*, thorough: bool, all_examples: bool, seed: str | None) -> None:
    """Choose how much is done, before any test is imported."""
    global _turn  # noqa: PLW0603 - said once, before tests are imported
    _turn = int(seed[-1]) if seed and seed[-1].isdigit() else 0
    settings.load_profile(("all" if all_examples else "thorough") if thorough else "quick")


def is_thorough() -> bool:
    """Return True in a thorough run."""
    return settings.get_current_profile_name() != "quick"


def count(thorough: int, *, quick: int) -> int:
    """Return the number of repetitions of a test marked `deeper`."""
    return thorough if is_thorough() else quick


def part_of(whole: int, *, quick: int) -> int:
    """Return the number of repetitions of a test marked `deeper` that needs minutes for the ``whole``."""
    everything = settings.get_current_profile_name() == "all"
    return count(whole if everything else max(quick, whole // THOROUGH_PART), quick=quick)


def seeds_of(whole: int, *, quick: int) -> range:
    """Return the seeds of a test marked `deeper` whose every seed takes a second: of the ``whole``, another part."""
    number = part_of(whole, quick=quick)
    start = _turn * number % whole if is_thorough() and number * THOROUGH_PART <= whole else 0
    return range(start, start + number)


def is_spread(place: int, number: int, *wanted: object) -> bool:
    """Return True if a place is one of those wanted, spread evenly over a number of places."""
    return any(place == 0 or place * n // number > (place - 1) * n // number for n in wanted if isinstance(n, int))


def examples(thorough: int, *, quick: int | None = None, **others: Any) -> Callable[[Any], Any]:
    """Return the decorator that sets the number of examples of a property.

    Args:
        thorough: the number with `--all-examples`.
        quick: the number in the quick suite; by default a fifth, at least 2 and at most 8.
        others: other settings of hypothesis.
    """
    part = (
        min(thorough, max(LEAST_QUICK_EXAMPLES, min(MOST_QUICK_EXAMPLES, thorough // QUICK_PART)))
        if quick is None
        else quick
    )
    repetitions = part_of(thorough, quick=part)

    def decorate(test: Any) -> Any:
        limited = settings(max_examples=repetitions, **others)(test)
        return pytest.mark.deeper(limited) if part < repetitions else limited

    return decorate
