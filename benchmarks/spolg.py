"""The experiments of the SPOLG paper (Wu, Zang & Yu 2016) run again, with Incognito as its rival.

    python benchmarks/spolg.py ../shared/data/adult            # writes benchmarks/spolg-experiments.md and .svg
    python benchmarks/spolg.py ADULT_DIRECTORY --repeat 5 --docs /tmp

Adult without missing values, 30,162 rows, seven quasi-identifiers; k from 5 to 50, three to seven columns at k = 10,
several sampling rates. Incognito suppresses nothing; SPOLG suppresses what is left above its last node. Times are of
the search alone, on one frequency set for both; each is the median of several runs, alternating.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import kanon_sql as kanon

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = ["sex", "race", "marital-status", "education", "workclass", "native-country", "age"]
SIZES = [5, 10, 15, 20, 25, 50]
WIDTHS = [3, 4, 5, 6, 7]
RATES = [0.001, 0.005, 0.01, 0.05, 0.1, 1.0]
K = 10
EARLY = 3  # the steps within which the paper publishes most rows
HALF = 0.5


@dataclass(frozen=True)
class Run:
    """One algorithm at one setting; seconds are of the search."""

    loss: float
    suppressed: int
    seconds: float
    path_share: float
    published: tuple[int, ...]
    rows: int

    @property
    def early(self) -> float:
        """Share of the rows that are published within the first three steps."""
        return sum(self.published[:EARLY]) / self.rows


def run(table: kanon.PreparedTable, repeat: int, **asked: Any) -> Run:  # noqa: ANN401 - settings of a Policy
    """Return a setting's release, verified, with the median of its times."""
    releases = [table.anonymize(**asked) for _ in range(repeat)]
    last = releases[-1]
    last.verify()
    return Run(
        last.loss,
        last.rows_suppressed,
        median(release.seconds["search"] for release in releases),
        median(release.path_share or 0 for release in releases),
        last.result.published,
        last.rows_in,
    )


def both(table: kanon.PreparedTable, k: int, repeat: int) -> tuple[Run, Run]:
    """Return SPOLG and Incognito at one k."""
    models = (kanon.KAnonymity(k),)
    spolg = run(table, repeat, models=models, algorithm="spolg", max_suppressed=1)
    return spolg, run(table, repeat, models=models, algorithm="incognito", max_suppressed=0)


def prepared(directory: Path, columns: list[str]) -> kanon.PreparedTable:
    """Return Adult with some quasi-identifiers."""
    return kanon.prepare(directory / "adult.csv", quasi_identifiers=columns, rest="drop", hierarchies=directory)


def compared_table(name: str, settings: list[int], runs: list[tuple[Run, Run]]) -> str:
    """Return the lines of a table of both algorithms."""
    lines = [
        f"| {name} | SPOLG loss | Incognito loss | SPOLG s | Incognito s | path | within {EARLY} steps | left over |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {setting} | {spolg.loss:.4f} | {incognito.loss:.4f} | {spolg.seconds:.2f} | {incognito.seconds:.2f} "
        f"| {spolg.path_share:.0%} | {spolg.early:.0%} | {spolg.suppressed} |"
        for setting, (spolg, incognito) in zip(settings, runs, strict=True)
    ]
    return "\n".join(lines)


def claims(by_k: dict[int, tuple[Run, Run]], by_width: dict[int, tuple[Run, Run]]) -> str:
    """Return each claim of the paper with what was measured; whether they agree is decided by the figures."""
    few, many = min(by_k), max(by_k)
    (spolg_few, incognito_few), (spolg_many, incognito_many) = by_k[few], by_k[many]
    growth = spolg_many.loss - spolg_few.loss, incognito_many.loss - incognito_few.loss
    slow = (
        f"from {spolg_few.loss:.4f} at k = {few} to {spolg_many.loss:.4f} at k = {many}, by {growth[0]:.4f}; "
        f"Incognito's by {growth[1]:.4f}. As a factor, by {spolg_many.loss / spolg_few.loss:.1f} and "
        f"{incognito_many.loss / incognito_few.loss:.1f}"
    )
    below = [spolg.loss / incognito.loss for spolg, incognito in by_k.values()]
    early = [spolg.early for spolg, _ in by_k.values()]
    over_half = [k for k, (spolg, _) in by_k.items() if spolg.early > HALF]
    soon = (
        f"{max(early):.0%} at k = {few} down to {min(early):.0%} at k = {many}; over half for k up to {max(over_half)}"
    )
    longer = [spolg.seconds / incognito.seconds for spolg, incognito in by_k.values()]
    narrow = [spolg.seconds / incognito.seconds for spolg, incognito in by_width.values()]
    time = (
        f"over seven columns it takes {min(longer):.2f} to {max(longer):.2f} times Incognito's time; at k = {K}, from "
        f"{min(by_width)} to {max(by_width)} columns, {', '.join(f'{ratio:.1f}' for ratio in narrow)} times"
    )
    slowly = _verdict(growth[0] < growth[1], spolg_many.loss < incognito_few.loss)
    found = [
        ("SPOLG's loss grows slowly with k", slowly, slow),
        (
            "SPOLG's loss is far below Incognito's",
            _verdict(max(below) < HALF),
            f"{min(below):.0%} to {max(below):.0%} of it",
        ),
        (
            f"over half of the rows are published within the first {EARLY} steps",
            _verdict(*(share > HALF for share in early)),
            soon,
        ),
        (
            "SPOLG takes somewhat longer than Incognito",
            _verdict(*(ratio > 1 for ratio in [*longer, *narrow])),
            time,
        ),
    ]
    return "\n".join(f"- *{claim}*: {verdict}. {figures[0].upper()}{figures[1:]}." for claim, verdict, figures in found)


def _verdict(*agree: bool) -> str:
    """Return whether all figures agree with a claim, or some, or none."""
    return "agrees" if all(agree) else "agrees in part" if any(agree) else "does not agree"


def draw(
    by_k: dict[int, tuple[Run, Run]], by_width: dict[int, tuple[Run, Run]], by_rate: dict[float, Run], to: Path
) -> None:
    """Draw the figures of the paper."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "kanon", "svg.fonttype": "none"}):
        figure = Figure(figsize=(12, 7), layout="constrained")
        FigureCanvasAgg(figure)
        (loss_k, loss_width, rows), (time_k, time_width, rates) = figure.subplots(2, 3)
        for place, (name, mark) in enumerate((("SPOLG", "o-"), ("Incognito", "s--"))):
            loss_k.plot([*by_k], [pair[place].loss for pair in by_k.values()], mark, label=name)
            time_k.plot([*by_k], [pair[place].seconds for pair in by_k.values()], mark, label=name)
            loss_width.plot([*by_width], [pair[place].loss for pair in by_width.values()], mark, label=name)
            time_width.plot([*by_width], [pair[place].seconds for pair in by_width.values()], mark, label=name)
        for k, (spolg, _) in by_k.items():
            shares = [sum(spolg.published[: step + 1]) / spolg.rows for step in range(len(spolg.published))]
            rows.plot(range(1, len(shares) + 1), shares, ".-", label=f"k = {k}")
        rates.plot(
            [*by_rate], [spolg.path_share for spolg in by_rate.values()], "o-", label="share of time on the path"
        )
        rates.plot([*by_rate], [spolg.loss for spolg in by_rate.values()], "s--", label="loss")
        rates.set_xscale("log")
        _title(loss_k, "loss", "k")
        _title(time_k, "seconds of search", "k")
        _title(loss_width, f"loss, k = {K}", "quasi-identifiers")
        _title(time_width, f"seconds of search, k = {K}", "quasi-identifiers")
        _title(rows, "share of the rows published by SPOLG", "step")
        rows.locator_params(axis="x", integer=True)
        _title(rates, f"SPOLG, k = {K}", "sampling rate")
        figure.savefig(to, format="svg", metadata={"Date": None})


def _title(axes: Axes, title: str, label: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(label)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize=8)


PAGE = """# The SPOLG paper's experiments, run again

The measurements of Wu, Zang and Yu (2016) by `python benchmarks/spolg.py`, with our
[SPOLG](../docs/algorithms.md#spolg) and [Incognito](../docs/algorithms.md#incognito) on Adult without missing values
({rows:,} rows). Quasi-identifiers: {columns}.
Incognito suppresses nothing and finds the optimum of [loss](../docs/measures.md) (LM); SPOLG suppresses the rows that
remain.
Times are of the search alone, on one frequency set, medians of {repeat} runs on two cores.

![Loss and time over k and over the number of columns, rows by step, sampling rates](spolg-experiments.svg)

## What the paper says, and what we see

{claims}

## Over k, seven columns

{by_k}

*path*: share of SPOLG's time spent on choosing its path; *within 3 steps*: share of the rows published by then;
*left over*: rows that it suppresses.

## Over the number of columns, k = {k}

The first three to seven of the columns above.

{by_width}

## Over the sampling rate, k = {k}, seven columns

{by_rate}

The sample decides only the order in which columns are generalized. {samples}
"""


def samples(by_rate: dict[float, Run], rows: int) -> str:
    """Return from which sample on the steps are those of the whole table."""
    whole = by_rate[max(by_rate)].published
    rate = next(rate for rate in by_rate if all(spolg.published == whole for r, spolg in by_rate.items() if r >= rate))
    return f"From {int(rate * rows):,} rows on it decides as the whole table does."


def main() -> None:
    """Read the arguments, run everything, and write the page and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("adult", type=Path, help="directory with adult.csv and its hierarchies")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--docs", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    by_width = {}
    for width in WIDTHS:
        with prepared(arguments.adult, COLUMNS[:width]) as table:
            by_width[width] = both(table, K, arguments.repeat)
            print(f"{width} columns: loss {by_width[width][0].loss:.4f} and {by_width[width][1].loss:.4f}")
    with prepared(arguments.adult, COLUMNS) as table:
        by_k = {k: both(table, k, arguments.repeat) for k in SIZES}
        print("k:", {k: (round(spolg.loss, 4), round(incognito.loss, 4)) for k, (spolg, incognito) in by_k.items()})
        models = (kanon.KAnonymity(K),)
        asked: dict[str, Any] = {"models": models, "algorithm": "spolg", "max_suppressed": 1}
        by_rate = {rate: run(table, arguments.repeat, sample_rate=rate, **asked) for rate in RATES}
        rows = table.prepared.frequency.rows
    rates = ["| rate | rows sampled | loss | s | path | steps |", "|---|---|---|---|---|---|"]
    rates += [
        f"| {rate:g} | {int(rate * rows):,} | {spolg.loss:.4f} | {spolg.seconds:.2f} | {spolg.path_share:.0%} "
        f"| {len(spolg.published)} |"
        for rate, spolg in by_rate.items()
    ]
    page = PAGE.format(
        rows=rows,
        columns=", ".join(COLUMNS),
        repeat=arguments.repeat,
        claims=claims(by_k, by_width),
        samples=samples(by_rate, rows),
        by_k=compared_table("k", [*by_k], [*by_k.values()]),
        by_width=compared_table("columns", [*by_width], [*by_width.values()]),
        by_rate="\n".join(rates),
        k=K,
    )
    (arguments.docs / "spolg-experiments.md").write_text(page, encoding="utf-8")
    draw(by_k, by_width, by_rate, arguments.docs / "spolg-experiments.svg")


if __name__ == "__main__":
    main()
