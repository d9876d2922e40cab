"""How many rows there are of each key: all of it for the price of one count, since a row has one key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kanon_sql.dp.answer import CONFIDENCE, Figure, shown
from kanon_sql.dp.mechanisms import above_threshold, law_of, with_noise
from kanon_sql.dp.questions.keyed import KeyedQuestion, by_key
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.dp.answer import Answer
    from kanon_sql.dp.laws import Law
    from kanon_sql.dp.questions.base import Row
    from kanon_sql.dp.rows import Asked

_NULL, _VALUE = "n", "v"  # what the keys of a map begin with, which has no NULL


@dataclass(frozen=True, kw_only=True)
class Histogram(KeyedQuestion):
    """The number of rows by key; where nobody gave the keys, of those that many people have, under delta."""

    needs_delta: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.has_keys and self.noise == "laplace" and self.delta:
            raise UsageError("The keys are given, so that Laplace noise needs no delta: leave it out.")
        if not self.has_keys and not self.delta:
            raise UsageError(
                "A key could tell by its presence that a person is there: give the keys (--keys F,M, --bins 0,18,65, "
                "or --hierarchy FILE --level 1), or a delta (--delta 1e-6), for those that many people have."
            )
        if not self.has_keys and self.noise == "gaussian":
            raise UsageError("Keys that nobody gave are found with Laplace noise: leave --noise gaussian out.")

    @property
    def words(self) -> str:
        """The question in a few words."""
        return f"histogram of {self.column}"

    def prepare(self, asked: Asked) -> None:
        """Find the noise."""
        if self.has_keys:
            self._law(asked)
        else:
            above_threshold({}, asked.most_rows, *self.price)

    def answer(self, rows: Sequence[Row], asked: Asked) -> Answer:
        """Return the rows of each key with noise: all together change by ``max_rows`` at most with one person."""
        known = self.known(asked)
        if known is None:
            return self._above_threshold(rows, asked)
        counts, other = known.counts(by_key(rows))
        law = self._law(asked)
        noisy = with_noise([*counts, other], law)
        return self._answered([*known.labels, None], noisy, law, asked, "")

    def _above_threshold(self, rows: Sequence[Row], asked: Asked) -> Answer:
        found = {_NULL if key is None else _VALUE + key: n for key, n in by_key(rows).items()}
        kept, law, threshold = above_threshold(found, asked.most_rows, *self.price)
        labels = sorted(kept, key=lambda key: (-kept[key], key))
        why = f"; keys with a noisy count below {threshold:,} are left out"
        named = [None if key == _NULL else key.removeprefix(_VALUE) for key in labels]
        return self._answered(named, [kept[key] for key in labels], law, asked, why)

    def _answered(self, keys: Sequence[str | None], noisy: Sequence[int], law: Law, asked: Asked, why: str) -> Answer:
        bound = law.within(CONFIDENCE)
        return self.told(
            asked,
            figures=tuple(
                Figure(n, key, n - bound, n + bound, other=self.has_keys and key is None)
                for key, n in zip(keys, noisy, strict=True)
            ),
            keyed=True,
            mechanism=law.name + (" above a threshold" if why else ""),
            scale=law.scale,
            expected_error=law.expected_error,
            accuracy=f"each is off by {shown(law.expected_error)} on average, by at most {bound:,} in 95 of 100 "
            f"cases{why}",
        )

    def _law(self, asked: Asked) -> Law:
        return law_of(self.noise, asked.most_rows, *self.price)
