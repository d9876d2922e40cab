"""What a model learns from a release: to distinguish it from the original, and to predict a column.

**pMSE** (propensity score mean squared error, Snoke et al. 2018): records of original and release are stacked, and a
model learns which of them a record is from. With c the share of records of the release and p_i the probability that
the model gives record i of being one of the release, pMSE = mean((p_i - c)^2): 0 if the model cannot distinguish
them, c (1 - c) if it always can. Two models: a logistic regression with main effects and, if there are few
features, the products of every two; and a tree of depth 5.

**Prediction of a target**: a logistic regression learns to predict the target from the other columns, once from the
original and once from the release. Both are tested on rows of the original that neither learned from. The baseline is
the share of the most frequent value, which is right without any learning.

Features: a number is standardized, with a separate feature for NULL. In other columns the 20 most frequent values are
a feature each, and all others share one. Regression has the penalty of scikit-learn, 1/2 of the sum of squares (C =
1).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kanon_sql.measures.utility.records import Records

    Floats = NDArray[np.float64]

MOST_CATEGORIES = 21  # including one for all others
MOST_FEATURES_OF_PAIRS = 150
TREE_DEPTH = 5
_ITERATIONS = 1000


@dataclass(frozen=True)
class PropensityScore:
    """How well a model distinguishes records of a release from those of its original."""

    logistic: float
    tree: float
    highest: float  # c (1 - c): pMSE if all records are distinguished
    pairs: bool  # whether the regression had products of features
    records: int  # of original and release together


@dataclass(frozen=True)
class Prediction:
    """How often a target was predicted correctly, for rows of the original."""

    target: str
    tested: int
    control: bool  # whether these are of people who are not in the release; else they are in it too
    most_frequent: float  # their share with the most frequent value of the original
    from_original: float  # their share predicted correctly after learning from other rows of the original
    # ... from the release.
    from_release: float


def can_learn() -> bool:
    return find_spec("sklearn") is not None


def propensity_score(original: Records, released: Records) -> PropensityScore:
    """Return how well the records of both are distinguished. Neither may be empty."""
    from sklearn.tree import DecisionTreeClassifier

    known = np.concatenate([_matrix(original), _matrix(released)])
    # A tree cuts between values: it needs only their places in the order of the column.
    places = np.concatenate([np.column_stack(records.places).astype(float) for records in (original, released)])
    of_release = np.repeat([0, 1], [len(original), len(released)])
    share = len(released) / len(of_release)
    pairs = _described(original).fit_transform(known).shape[1] <= MOST_FEATURES_OF_PAIRS

    def pmse(model: Any, known: Floats) -> float:  # noqa: ANN401 - scikit-learn has no types
        likely = model.fit(known, of_release).predict_proba(known)[:, 1]
        return float(np.mean((likely - share) ** 2))

    return PropensityScore(
        pmse(_regression(original, pairs=pairs), known),
        pmse(DecisionTreeClassifier(max_depth=TREE_DEPTH, random_state=0), places),
        share * (1 - share),
        pairs,
        len(of_release),
    )


def predict(number: int, original: Records, released: Records, tested: Records) -> tuple[float, float, float]:
    """Return the shares of ``Prediction``: by the most frequent value, from the original, and from the release."""
    values, counts = np.unique(original.places[number], return_counts=True)
    most_frequent = float(np.mean(tested.places[number] == values[np.argmax(counts)]))
    return most_frequent, _accuracy(number, original, tested), _accuracy(number, released, tested)


def _accuracy(number: int, learned: Records, tested: Records) -> float:
    """Return the share of records whose target is predicted correctly after learning from other records."""
    target, truth = learned.places[number], tested.places[number]
    if (target == target[0]).all():  # nothing to learn: it is always predicted
        return float(np.mean(truth == target[0]))
    known, others = learned.without(number), tested.without(number)
    model = _regression(known).fit(_matrix(known), target)
    return float(np.mean(model.predict(_matrix(others)) == truth))


def _matrix(records: Records) -> Floats:
    """Return a matrix with a column for each column: its numbers, or the places in its order if it has none."""
    columns = zip(records.places, records.numbers, strict=True)
    return np.column_stack([places.astype(float) if numbers is None else numbers for places, numbers in columns])


def _regression(records: Records, *, pairs: bool = False) -> Any:  # noqa: ANN401 - a pipeline of scikit-learn
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures

    products = [PolynomialFeatures(2, interaction_only=True, include_bias=False)] if pairs else []
    return make_pipeline(_described(records), *products, LogisticRegression(max_iter=_ITERATIONS))


def _described(records: Records) -> Any:  # noqa: ANN401 - a transformer of scikit-learn
    """Return the transformer from the matrix of such records to features."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    of_numbers = [place for place, numbers in enumerate(records.numbers) if numbers is not None]
    others = [place for place, numbers in enumerate(records.numbers) if numbers is None]
    null_beside = SimpleImputer(strategy="constant", fill_value=0.0, add_indicator=True)
    frequent = OneHotEncoder(max_categories=MOST_CATEGORIES, handle_unknown="infrequent_if_exist")
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(StandardScaler(), null_beside), of_numbers),
            ("values", frequent, others),
        ]
    )
