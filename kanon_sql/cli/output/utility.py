"""The utility of a release, printed for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.cli.output.output import figure, print_pairs, print_prose, visible
from kanon_sql.errors import counted

if TYPE_CHECKING:
    from kanon_sql.measures.utility.learned import Prediction, PropensityScore
    from kanon_sql.measures.utility.marginals import Marginals
    from kanon_sql.measures.utility.utility import Utility

_SPREAD = {
    "even": "evenly over the values that it stands for",
    "marginal": "over the values that it stands for, each as frequent as in the original",
}


def print_utility(utility: Utility) -> None:
    pairs = [("utility", f"of {', '.join(utility.columns)}; the rows of a label are spread {_SPREAD[utility.spread]}")]
    if (found := utility.marginals) is not None:
        pairs.append((f"{found.columns_each}-marginals", _of_marginals(found)))
    if (errors := utility.queries) is not None:
        queries = counted(errors.queries, "counting query", "counting queries")
        most = f"{figure(errors.ninth_decile)} at most in nine of ten"
        pairs.append(("query error", f"{figure(errors.median)} median, {most}, of {queries}"))
    if (score := utility.propensity_score) is not None:
        pairs.append(("pMSE", _of_propensity_score(score)))
    if (prediction := utility.prediction) is not None:
        pairs.append((f"accuracy, {prediction.target}", _of_prediction(prediction)))
    if utility.missing is not None:
        pairs.append(("not measured" if utility.marginals is None else "pMSE", utility.missing))
    print_pairs(pairs)
    if prediction is not None and not prediction.control:
        print_prose(
            "The rows that predictions were tested on are of people who are in the release too, which may flatter it: "
            "--control tests them on others."
        )


def utility_cells(utility: Utility) -> dict[str, str]:
    """Return the figures that compare releases, in column order; missing figures are empty.

    Releases of one table have the same columns.
    """
    found, errors, score, prediction = utility.marginals, utility.queries, utility.propensity_score, utility.prediction
    cells = {
        "3-marginals": "" if found is None else f"{found.score:.0f}",
        "query error": "" if errors is None else figure(errors.median),
        "pMSE": "" if score is None else figure(score.logistic),
    }
    return cells if prediction is None else {**cells, "accuracy": figure(prediction.from_release)}


def about_cells(utility: Utility) -> str:
    """Describe the figures of ``utility_cells`` in sentences."""
    spread = f"Rows of a label are spread {_SPREAD[utility.spread]}."
    said = [f"3-marginals: 1000 is the original. Query error: the median. {spread}"]
    if utility.propensity_score is not None:
        said.append(
            "pMSE: 0 if the release cannot be distinguished from the original by logistic regression; at most 0.25."
        )
    if (prediction := utility.prediction) is not None:
        original, frequent = figure(prediction.from_original), figure(prediction.most_frequent)
        rows = f"{prediction.tested:,} rows of the original, which releases have too"
        said.append(
            f"Accuracy: {visible(prediction.target)} is predicted of {rows}; it is {original} if learned from other "
            f"rows of the original, and {frequent} by its most frequent value."
        )
    if utility.missing is not None:
        said.append(f"pMSE: {utility.missing}.")
    return " ".join(said)


def _of_marginals(found: Marginals) -> str:
    looked_at, furthest = counted(len(found.found), "marginal"), found.found[0]
    of = f" of {found.possible:,}" if found.possible > len(found.found) else ""
    said = f"{found.score:.0f} of 1000, the mean of {looked_at}{of}"
    if not furthest.difference:
        return said
    return f"{said}; furthest apart: {' + '.join(furthest.columns)}, {furthest.score:.0f}"


def _of_propensity_score(score: PropensityScore) -> str:
    pairs = " with pairs" if score.pairs else ""
    by_model = f"{figure(score.logistic)} by logistic regression{pairs}, {figure(score.tree)} by a tree"
    return f"{by_model}; 0 if release and original cannot be distinguished, {figure(score.highest)} if they always can"


def _of_prediction(prediction: Prediction) -> str:
    learned = (
        f"{figure(prediction.from_release)} from the release, {figure(prediction.from_original)} from the original"
    )
    rows = f"{prediction.tested:,} rows of the {'control' if prediction.control else 'original'}"
    return f"{learned}, {figure(prediction.most_frequent)} by the most frequent value; of {rows}"
