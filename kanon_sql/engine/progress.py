"""Progress callbacks, seconds by step, and deadlines that statements and loops keep.

A deadline stops the work once, as Ctrl-C does: what undoes the work, or finishes it, is not stopped by the same one.
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
    """How far the work has come; during a search, with what it knows so far."""

    doing: str  # the step, in words
    nodes_tested: int | None = None  # of the lattice
    best: float | None = None  # the measure of the best recoding
    bound: float | None = None  # no recoding is better
    measure: str = "loss"


Listener = Callable[[Progress], None]
"""Called with every piece of progress. Returns quickly, since the work waits."""

State = TypeVar("State")

Tell = Callable[[str], None]
"""Called with the name of each step as it begins."""


def silent(_: object) -> None:
    """Do nothing."""


class DeadlineReachedError(Exception):
    """The work was stopped because its deadline passed. Caught by the search or by ``within``, never shown."""


@dataclass
class _Deadline:
    """When the work stops, on the clock of ``time.monotonic``, and whether it was stopped."""

    at: float
    reached: bool = False


OPENING = "open"
_STEP: ContextVar[str] = ContextVar("kanon_step", default=OPENING)
_DEADLINES: ContextVar[tuple[_Deadline, ...]] = ContextVar("kanon_deadlines", default=())

_GRACE = 0.4  # seconds after a time limit: a release that is nearly published is published
_TO_FINISH = 0.25  # of a time limit: further time for a release that was found, where finishing it was thought quicker


def current_step() -> str:
    """Return the name of the step that is being taken; ``OPENING`` before the first."""
    return _STEP.get()


@contextmanager
def timed(seconds: dict[str, float], step: str) -> Iterator[None]:
    """Add the seconds that the block takes to those of a step, however it ends."""
    begin = time.monotonic()
    try:
        yield
    finally:
        seconds[step] = seconds.get(step, 0.0) + time.monotonic() - begin


@dataclass(frozen=True)
class TimedStep(Generic[State]):
    """A step of a longer work: ``run`` puts its result into the state."""

    name: str  # the key of its seconds
    run: Callable[[State], object]
    doing: str = ""  # the words of its progress; without them it reports none
    needed: Callable[[State], bool] | None = None  # whether it is taken; without it, always


def take_steps(steps: Sequence[TimedStep[State]], state: State, seconds: dict[str, float], progress: Listener) -> None:
    """Take steps one after the other, with their progress and their seconds."""
    for step in steps:
        if step.needed is None or step.needed(state):
            if step.doing:
                progress(Progress(step.doing))
            with timed(seconds, step.name), in_step(step.name):
                step.run(state)


@contextmanager
def having(variable: ContextVar[State], value: State) -> Iterator[None]:
    """Give a variable a value inside the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def in_step(step: str) -> AbstractContextManager[None]:
    """Give a step its name: statements that are run in the block are logged with it."""
    return having(_STEP, step)


def until(at: float | None) -> AbstractContextManager[None]:
    """Stop the statements and loops of the block, once, at a time of ``time.monotonic``; None never does."""
    return having(_DEADLINES, _DEADLINES.get() if at is None else (*_DEADLINES.get(), _Deadline(at)))


@contextmanager
def within(limit: float | None, begun: float, *, found: bool = False) -> Iterator[None]:
    """Stop the block when a time limit in seconds is over; an inner block has the limit of the outer one.

    What is left to do with a release that was ``found`` may take a little longer.
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
    """Stop the work if a deadline has passed: once for each deadline."""
    at = next_deadline()
    if at is not None and time.monotonic() >= at:
        raise stopped(step)


def stopped(step: str) -> DeadlineReachedError:
    """Return the error of work that was stopped because the next deadline has passed, which stops nothing else."""
    waiting = [deadline for deadline in _DEADLINES.get() if not deadline.reached]
    min(waiting, key=lambda deadline: deadline.at).reached = True
    return DeadlineReachedError(step)


def _end_of(limit: float, begun: float, *, found: bool) -> float:
    return begun + limit + _GRACE + (_TO_FINISH * limit if found else 0.0)


def allow_to_finish(limit: float | None, begun: float) -> None:
    """Extend the deadlines a little for what follows the search of a release; calling it twice extends them once."""
    if limit is not None:
        for deadline in _DEADLINES.get():
            deadline.at = max(deadline.at, _end_of(limit, begun, found=True))


def lift_deadlines() -> None:
    """Disable deadlines for the rest of the run: a verified release that takes its name is not stopped half way."""
    for deadline in _DEADLINES.get():
        deadline.reached = True
