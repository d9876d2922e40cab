"""What privacy models beyond k cost: the search on Adult, next to that of k = 5 alone.

    python benchmarks/models.py ../shared/data/adult
    python benchmarks/models.py ../shared/data/adult --algorithm optimal --repeat 5

Seven quasi-identifiers (the eight of PEERS.md but occupation, which is sensitive), k = 5, at most 2 % suppressed: for
each algorithm and model the seconds of the search and of the whole run, each the median of several, the ratio of the
search to that of k alone, node tests, loss and suppressed rows. Every output is verified.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import kanon_sql as kanon

if TYPE_CHECKING:
    from kanon_sql.models.base import PrivacyModel

QUASI_IDENTIFIERS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
MODELS: dict[str, list[PrivacyModel]] = {
    "k = 5 alone": [],
    "distinct l = 3": [kanon.DistinctLDiversity(l=3)],
    "entropy l = 3": [kanon.EntropyLDiversity(l=3)],
    "recursive (3,3)": [kanon.RecursiveCLDiversity(c=3, l=3)],
    "alpha = 0.5": [kanon.AlphaKAnonymity(alpha=0.5)],
    "t = 0.2, equal": [kanon.TCloseness(t=0.2, distance="equal")],
    "t = 0.2, ordered": [kanon.TCloseness(t=0.2, distance="ordered")],
    "t = 0.2, hierarchical": [kanon.TCloseness(t=0.2, distance="hierarchical")],
    "basic beta = 2": [kanon.BasicBetaLikeness(beta=2)],
    "delta = 2": [kanon.DeltaDisclosure(delta=2)],
}


def once(adult: Path, algorithm: str, models: list[PrivacyModel]) -> tuple[float, float, kanon.Release]:
    """Return the seconds of the search and of the whole run up to a data frame, and the release."""
    rules = {name: str(adult / f"adult_hierarchy_{name}.csv") for name in QUASI_IDENTIFIERS}
    if any(isinstance(model, kanon.TCloseness) and model.distance == "hierarchical" for model in models):
        rules["occupation"] = str(adult / "adult_hierarchy_occupation.csv")
    begin = time.perf_counter()
    with kanon.anonymize(
        str(adult / "adult.csv"),
        quasi_identifiers=QUASI_IDENTIFIERS,
        sensitive=["occupation"],
        rest="drop",
        hierarchies=rules,
        models=[kanon.KAnonymity(5), *models],
        algorithm=algorithm,
        **({"choice": "greedy"} if models and algorithm != "mondrian" else {}),  # only mondrian chooses otherwise
        seed=1,
    ) as release:
        release.to_pandas()
        seconds = time.perf_counter() - begin
    return release.seconds["search"], seconds, release


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adult", type=Path, help="the directory of adult.csv and its hierarchies")
    parser.add_argument("--algorithm", nargs="*", default=["optimal", "local", "mondrian"])
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    for algorithm in arguments.algorithm:
        print(f"\n{algorithm:<24}{'search':>8}{'ratio':>7}{'whole':>8}{'nodes':>7}{'loss':>8}{'suppressed':>12}")
        alone = 0.0
        for name, models in MODELS.items():
            runs = [once(arguments.adult, algorithm, models) for _ in range(arguments.repeat)]
            search, whole = (median(run[place] for run in runs) for place in (0, 1))
            release = runs[-1][2]
            alone = alone or search
            print(
                f"{name:<24}{search:>8.2f}{search / alone:>7.1f}{whole:>8.2f}{release.result.nodes_tested:>7}"
                f"{release.loss:>8.4f}{release.rows_suppressed:>12,}",
                flush=True,
            )


if __name__ == "__main__":
    main()
