"""Progress callbacks, seconds by step, and deadlines for statements and loops.

A deadline stops the work once, like Ctrl-C: it does not stop the cleanup or completion of that work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from kanon_sql.errors import TimeLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager


@dataclass(frozen=True)
class Progress:
    """The progress of the work; during a search, with its results so far."""

    doing: str  # a description of the step
    nodes_tested: int | None = None  # of the lattice
    best: float | None = None  # the measure of the best recoding
    bound: float | None = None  # no recoding is better
    measure: str = "loss"


Listener = Callable[[Progress], None]
"""Called with every progress event. Must return quickly: the work blocks on it."""

State = TypeVar("State")

Tell = Callable[[str], None]
"""Called with the name of each step when it starts."""


def silent(_: object) -> None:
    """Do nothing."""


class DeadlineReachedError(Exception):
    """The work was stopped because its deadline passed. The search or ``within`` catches it; it is never shown."""


@dataclass
class _Deadline:
    """The time at which the work stops, on the clock of ``time.monotonic``, and whether it was stopped."""

    at: float
    reached: bool = False


OPENING = "open"
_STEP: ContextVar[str] = ContextVar("kanon_step", default=OPENING)
_DEADLINES: ContextVar[tuple[_Deadline, ...]] = ContextVar("kanon_deadlines", default=())

_GRACE = 0.4  # seconds after a time limit: a release that is nearly published is published
_TO_FINISH = 0.25  # share of a time limit: extra time to finish a release, if that was expected to be faster


def current_step() -> str:
    """Return the name of the current step; ``OPENING`` before the first."""
    return _STEP.get()


@contextmanager
def timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the seconds of the block to those of a step, however it ends."""
    begin = time.monotonic()
    try:
        yield
    finally:
        seconds[step] = seconds.get(step, 0.0) + time.monotonic() - begin


@dataclass(frozen=True)
class TimedStep(Generic[State]):
    """A step of longer work: ``run`` puts its result into the state."""

    name: str  # the key of its seconds
    run: Callable[[State], object]
    doing: str = ""  # the text of its progress; without it, none is reported
    needed: Callable[[State], bool] | None = None  # whether to take it; by default, always


def take_steps(steps: Sequence[TimedStep[State]], state: State, seconds: dict[str, float], progress: Listener) -> None:
    for step in steps:
        if step.needed is None or step.needed(state):
            if step.doing:
                progress(Progress(step.doing))
            with timed(seconds, step.name), in_step(step.name):
                step.run(state)


@contextmanager
def having(variable: ContextVar[State], value: State) -> Iterator[None]:
    """Set a variable to a value inside the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def in_step(step: str) -> AbstractContextManager[None]:
    """Set the current step: statements run in the block are logged with it."""
    return having(_STEP, step)


def until(at: float | None) -> AbstractContextManager[None]:
    """Stop the statements and loops of the block, once, at a time of ``time.monotonic``; None means never."""
    return having(_DEADLINES, _DEADLINES.get() if at is None else (*_DEADLINES.get(), _Deadline(at)))


@contextmanager
def within(limit: float | None, begun: float, *, found: bool = False) -> Iterator[None]:
    """Stop the block after a time limit in seconds; an inner block has the limit of the outer one.

    Finishing a release that was ``found`` may take a little longer.
    """
    if limit is None or _DEADLINES.get():
        yield
        return
    try:
        with until(_end_of(limit, begun, found=found)):
            yield
    except DeadlineReachedError as error:
        step = f" during this step: {error}" if str(error) else ""
        raise TimeLimitError(
            f"The time limit of {limit:g} seconds ended{step}; nothing was written. Allow more time, or name fewer "
            "quasi-identifiers."
        ) from None


def next_deadline() -> float | None:
    deadlines = _DEADLINES.get()
    return min((deadline.at for deadline in deadlines if not deadline.reached), default=None) if deadlines else None


def check_deadline(step: str = "") -> None:
    """Stop the work if a deadline has passed, once for each deadline."""
    at = next_deadline()
    if at is not None and time.monotonic() >= at:
        raise stopped(step)


def stopped(step: str) -> DeadlineReachedError:
    """Return the error of work stopped by the next deadline, which then stops nothing else."""
    waiting = [deadline for deadline in _DEADLINES.get() if not deadline.reached]
    min(waiting, key=lambda deadline: deadline.at).reached = True
    return DeadlineReachedError(step)


def _end_of(limit: float, begun: float, *, found: bool) -> float:
    return begun + limit + _GRACE + (_TO_FINISH * limit if found else 0.0)


def allow_to_finish(limit: float | None, begun: float) -> None:
    """Extend the deadlines a little for the work after the search; a second call has no effect."""
    if limit is not None:
        for deadline in _DEADLINES.get():
            deadline.at = max(deadline.at, _end_of(limit, begun, found=True))


def lift_deadlines() -> None:
    """Disable deadlines for the rest of the run: renaming a verified release is not stopped halfway."""
    for deadline in _DEADLINES.get():
        deadline.reached = True
