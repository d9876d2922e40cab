"""What a release of one table and one of several tables have in common."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from kanon_sql.engine.base import Closing
from kanon_sql.engine.progress import silent, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.keys import Key
    from kanon_sql.engine.progress import Listener, TimedStep
    from kanon_sql.policy.policy import Policy
    from kanon_sql.policy.tables import TablesPolicy

AnyPolicy = TypeVar("AnyPolicy", bound="Policy | TablesPolicy")


def with_seed(policy: AnyPolicy) -> AnyPolicy:
    """Return a policy with a seed: its own, or one that is drawn for this release."""
    return policy if policy.seed is not None else replace(policy, seed=secrets.randbits(31))


@dataclass(kw_only=True)
class Made(Closing, Generic[AnyPolicy]):
    """A release: the state of the steps that make it.

    Attributes:
        key: of pseudonyms.
        begun: when its time limit began.
        seconds: by step.
    """

    policy: AnyPolicy
    key: Key = field(repr=False)
    progress: Listener = field(default=silent, repr=False)
    begun: float = field(default_factory=time.monotonic, repr=False)
    seconds: dict[str, float] = field(default_factory=dict)

    def take(self, steps: Sequence[TimedStep[Self]]) -> None:
        """Take further steps."""
        take(steps, self, self.seconds, self.progress)
