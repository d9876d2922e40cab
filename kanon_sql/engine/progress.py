"""Whom long work tells how far it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Progress:
    """How far the work has come.

    Attributes:
        doing: the step, in words.
        nodes_tested: lattice nodes tested so far, during a search.
        best: what the measure says of the best recoding so far, during a search.
        bound: what none can be better than, during a search.
        measure: the measure.
    """

    doing: str
    nodes_tested: int | None = None
    best: float | None = None
    bound: float | None = None
    measure: str = "loss"


class Listener(Protocol):
    """Called with every piece of progress."""

    def __call__(self, progress: Progress, /) -> None:
        """Take note; quickly, for the work waits."""


class Tell(Protocol):
    """Called with the name of each step as it begins."""

    def __call__(self, doing: str, /) -> None:
        """Take note."""


def silent(_: object) -> None:
    """Take no note."""
