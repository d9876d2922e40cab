"""All measures of the utility of a release, in the order of the report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kanon_sql.errors import UsageError
from kanon_sql.measures.utility.learned import Prediction, PropensityScore, can_learn, predict, propensity_score
from kanon_sql.measures.utility.marginals import Marginals, QueryErrors, marginals_of
from kanon_sql.measures.utility.records import Records, original_records, other_records, released_records
from kanon_sql.measures.utility.spread import MOST_BINS, Comparable, Spread, UtilitySettings, make_comparable
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Engine
    from kanon_sql.measures.utility.spread import ComparedColumn

SEED = 0
"""Of random choices: the same tables have the same figures."""
HELD_OUT = 0.25
"""The share of the original that a prediction is tested on, if no other rows are given."""
NEEDS_LEARNING = "needs scikit-learn, which is not here: pip install 'kanon-sql[utility]'"


@dataclass(frozen=True)
class Utility:
    columns: tuple[str, ...]
    spread: Spread
    marginals: Marginals | None
    # errors of counting queries; None if there are no rows, or no query matches enough of them
    queries: QueryErrors | None
    # how well a model distinguishes release and original; None without rows or without scikit-learn
    propensity_score: PropensityScore | None
    prediction: Prediction | None  # how well a target is predicted; None if none was named, or without rows
    missing: str | None  # why there is no ``propensity_score``; None if there is one

    def rounded(self) -> Utility:
        """Return figures with four digits. All digits could reveal the values of a row that was left out."""
        found: Utility = _rounded(self)
        return found

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values: the output of ``--format json``."""
        plain = asdict(self)
        if self.marginals is not None:
            plain["marginals"] = {"score": round(self.marginals.score, 4), **plain["marginals"]}
        return plain


def _rounded(value: Any) -> Any:  # noqa: ANN401 - figures, and what holds them
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{field.name: _rounded(getattr(value, field.name)) for field in fields(value)})
    return value


def utility_of(
    engine: Engine,
    original: exp.Table,
    release: exp.Table,
    columns: Sequence[ComparedColumn],
    settings: UtilitySettings,
    *,
    control: exp.Subquery | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Utility:
    """Return the utility of a release. All tables are in one engine.

    ``columns``: the columns to compare; quasi-identifiers come first, in their order; ``settings``: the target is one
    of ``columns``; ``control``: a table like the original, of people who are not in the release, to test predictions
    on; ``tell``: called with each step of the work.

    Raises:
        UsageError: a label matches no value, or the target cannot be predicted.
    """
    number = next((place for place, column in enumerate(columns) if column.name == settings.target), None)
    if number is not None and not can_learn():
        raise UsageError(f"Predicting a target {NEEDS_LEARNING}.")
    names = tuple(column.name for column in columns)
    tell("Comparing values")
    compared = make_comparable(engine, original, release, columns, settings.spread)
    try:
        if number is not None:
            _require_classes(compared, number)
        if not compared.rows_in or not compared.rows_out:
            side = "release" if compared.rows_in else "original"
            return Utility(names, settings.spread, None, None, None, None, f"the {side} has no rows")
        marginals, errors = marginals_of(compared, SEED, lambda done, of: tell(f"Marginal {done + 1} of {of}"))
        if not can_learn():
            return Utility(names, settings.spread, marginals, errors, None, None, NEEDS_LEARNING)
        tell("Learning from both")
        chosen = np.random.default_rng(SEED)
        own, released = original_records(compared, chosen), released_records(compared, chosen)
        score = propensity_score(own, released)
        prediction = None
        if number is not None:
            tell(f"Predicting {names[number]}")
            others = None if control is None else other_records(compared, control, chosen)
            prediction = _predicted(names[number], number, own, released, others)
        return Utility(names, settings.spread, marginals, errors, score, prediction, None)
    finally:
        compared.drop()


def _predicted(target: str, number: int, own: Records, released: Records, others: Records | None) -> Prediction:
    """Return how well a target is predicted: of ``others``, or of a part of the original that is not learned from."""
    held_out = 0 if others is not None else round(HELD_OUT * len(own))
    learned = own.take(np.arange(held_out, len(own)))
    tested = own.take(np.arange(held_out)) if others is None else others
    if not len(learned) or not len(tested):
        raise UsageError(
            f"There are {len(learned):,} rows to learn from, and {len(tested):,} to predict {target!r} of: too few."
        )
    return Prediction(target, len(tested), others is not None, *predict(number, learned, released, tested))


def _require_classes(compared: Comparable, number: int) -> None:
    """Raise unless the target has more than one value, and not too many."""
    target = compared.dimensions[number]
    if len(compared.dimensions) == 1:
        raise UsageError(f"Only {target.name!r} is compared: there is no other column to predict it from.")
    (values,) = compared.engine.row(sql.select_count(target.bins), f"values of {target.name}")
    if values == 1:
        raise UsageError(f"Column {target.name!r} has one value only: there is nothing to predict.")
    if values > MOST_BINS:
        raise UsageError(
            f"Column {target.name!r} has {values:,} different values. A target has at most {MOST_BINS}, such as groups."
        )
