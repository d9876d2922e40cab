"""How long a step will still take, told from the pace at which it has come so far."""

from __future__ import annotations

from collections import deque

_WINDOW = 20.0  # seconds that are looked back on: what was fast long ago says little about what is left
_LEAST = 2.0  # seconds that must have been seen before anything is said
_LONGEST = 24 * 3600.0  # seconds; a pace of nearly nothing says nothing


class Pace:
    """The shares of a step that were done, and when."""

    def __init__(self) -> None:
        """Begin with nothing known."""
        self._seen: deque[tuple[float, float]] = deque()

    def note(self, share: float, now: float) -> None:
        """Take note of how much is done.

        Args:
            share: 0 to 1; less than before where another step has begun, which forgets the one before.
            now: seconds on any clock that does not go back.
        """
        if self._seen and share < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, share))
        while now - self._seen[0][0] > _WINDOW:
            self._seen.popleft()

    def left(self) -> float | None:
        """Return how many seconds are left if it goes on like this; None where nothing can be said yet."""
        if not self._seen:
            return None
        (began, first), (now, share) = self._seen[0], self._seen[-1]
        if now - began < _LEAST or share <= first:
            return None
        left = (1 - share) * (now - began) / (share - first)
        return left if left < _LONGEST else None


def spoken(seconds: float) -> str:
    """Return a time as people say it where it is an estimate: 5 s, 40 s, 3 min, 2 h."""
    minute, hour = 60, 3600
    if seconds < minute:
        step = 1 if seconds < 10 else 5  # noqa: PLR2004 - seconds from which nobody counts single ones
        return f"{max(1, round(seconds / step) * step)} s"
    return f"{round(seconds / minute)} min" if seconds < 1.5 * hour else f"{round(seconds / hour)} h"
