"""Which key most rows have, by the exponential mechanism: the counts themselves are not told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kanon_sql.dp.answer import CONFIDENCE, Figure
from kanon_sql.dp.mechanisms import choice_bound, choice_scale, choose
from kanon_sql.dp.questions.base import unit_of
from kanon_sql.dp.questions.keyed import KeyedQuestion, by_key
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.dp.answer import Answer
    from kanon_sql.dp.questions.base import Row
    from kanon_sql.dp.rows import Asked


@dataclass(frozen=True, kw_only=True)
class MostFrequent(KeyedQuestion):
    """The key of most rows, of those that were given."""

    has_noise: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.has_keys:
            raise UsageError(
                "One of the keys that you give is chosen: --keys F,M, --bins 0,18,65, or --hierarchy FILE --level 1."
            )

    @property
    def words(self) -> str:
        """The question in a few words."""
        return f"most frequent {self.column}"

    def prepare(self, asked: Asked) -> None:
        """Try the mechanism on nothing."""
        choose([0], asked.most_rows, self.price[0], monotone=True)

    def answer(self, rows: Sequence[Row], asked: Asked) -> Answer:
        """Return a key: the more rows it has, the likelier. All counts change in the same direction with one person."""
        known = self.known(asked)
        if known is None:
            raise TypeError("Nobody gave keys")
        counts, _ = known.counts(by_key(rows))
        epsilon, _ = self.price
        chosen = choose(counts, asked.most_rows, epsilon, monotone=True)
        scale = choice_scale(asked.most_rows, epsilon, monotone=True)
        off = math.ceil(choice_bound(len(counts), scale, CONFIDENCE))
        return self.told(
            asked,
            figures=(Figure(None, known.labels[chosen]),),
            keyed=True,
            mechanism="exponential mechanism (permute and flip)",
            scale=scale,
            accuracy=f"in 95 of 100 answers, no other key of the {len(counts):,} has more than {off:,} "
            f"{unit_of(asked)} more",
        )
