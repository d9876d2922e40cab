"""What every attack says of itself."""

from __future__ import annotations

from typing import Any, Protocol


class Attack(Protocol):
    """The outcome of an attack: counts and column names, never a value."""

    @property
    def name(self) -> str:
        """What the attack is called."""

    @property
    def succeeded(self) -> bool:
        """Whether it found out what the release should hide."""

    @property
    def stopped_by(self) -> str:
        """What would have stopped it, or makes it harder: a sentence with the option."""

    def figures(self) -> dict[str, Any]:
        """Return what it found, as plain values."""
