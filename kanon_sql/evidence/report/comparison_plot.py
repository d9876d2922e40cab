"""A plot of a comparison: the loss of each algorithm at each k, the utility of its release, and its search."""

from __future__ import annotations

import html
import io
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kanon_sql.release.prepared_table import Compared, Comparison

FORMATS = (".svg", ".png", ".html")
_PANES = ((1, 2), (1, 3), (2, 2))  # rows and columns: without utility, with one figure of it, and with two
_MARKS = "osD^vPX*h"  # a mark for each line, for readers who cannot tell the colours apart


def check_plot(path: Path) -> None:
    """Raise an error for an invalid plot file before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"The format of {path} is not known by its suffix. Known are {', '.join(FORMATS)}.")
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent} does not exist.")
    if find_spec("matplotlib") is None:
        raise UsageError("Pictures need matplotlib: pip install 'kanon-sql[plot]'.")


def plot(comparison: Comparison, path: Path) -> None:
    check_plot(path)
    if not any(result.loss is not None for result in comparison.results):
        raise UsageError("No algorithm found a release: there is nothing to draw.")
    drawn = _drawn(comparison, "png" if path.suffix.lower() == ".png" else "svg")
    if path.suffix.lower() == ".html":
        title = html.escape(f"Releases of {comparison.source}, compared by kanon")
        picture = drawn.decode("utf-8")
        drawn = _PAGE.replace("TITLE", title).replace("PICTURE", picture[picture.index("<svg") :]).encode("utf-8")
    try:
        path.write_bytes(drawn)
    except OSError as error:
        raise SourceError(f"{path} cannot be written: {error.strerror}.") from None


_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>TITLE</title>
<style>body { font-family: sans-serif; margin: 2rem; } svg { max-width: 100%; height: auto; }</style></head>
<body><h1>TITLE</h1>
PICTURE
</body>
</html>
"""


def _drawn(comparison: Comparison, file_format: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "kanon", "svg.fonttype": "none"}):
        rows, columns = _PANES[len(_purposes(comparison))]
        figure = Figure(figsize=(5.5 * columns, 4.8 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        _fill(figure, comparison)
        buffer = io.BytesIO()
        figure.savefig(buffer, format=file_format, dpi=150, metadata={"Date": None} if file_format == "svg" else None)
    return buffer.getvalue()


def _fill(figure: Figure, comparison: Comparison) -> None:
    purposes = _purposes(comparison)
    losses, *utilities, seconds = figure.subplots(*_PANES[len(purposes)], squeeze=False).flat
    lines: dict[str, list[Compared]] = {}
    several = len({result.limit for result in comparison.results}) > 1
    for result in comparison.results:
        name = f"{result.algorithm}, {result.limit} suppressed" if several else result.algorithm
        if result.loss is not None:
            lines.setdefault(name, []).append(result)
    # The algorithm with the least loss at the smallest k is first in the legend.
    for place, (name, results) in enumerate(lines.items()):
        points = sorted(results, key=lambda result: result.k)
        color = f"C{place % 10}"
        # Lines may coincide: smaller marks on larger ones show that.
        size = max(4, 13 - 2 * place)
        style = {"marker": _MARKS[place % len(_MARKS)], "markersize": size, "markerfacecolor": "none", "color": color}
        losses.plot([point.k for point in points], [point.loss or 0 for point in points], label=name, **style)
        if comparison.measure == "loss":  # the optimum lies between the proven bound and the result
            open_ones = [point for point in points if point.bound is not None and not point.optimal]
            low, high = ([getattr(point, bound) or 0 for point in open_ones] for bound in ("bound", "loss"))
            losses.vlines([point.k for point in open_ones], low, high, color=color, linestyles="dotted")
        seconds.plot([point.k for point in points], [point.seconds or 0 for point in points], **style)
        for axes, (_, part, what) in zip(utilities, purposes, strict=True):
            found = [(point.k, getattr(own, what)) for point in points if (own := getattr(point.utility, part, None))]
            axes.plot([size for size, _ in found], [own for _, own in found], **style)
    sizes = sorted({result.k for result in comparison.results})
    dotted = "\ndotted: down to what none of its kind can beat" if losses.collections else ""
    _axes(losses, f"loss: 0 is the original table, 1 says nothing{dotted}", sizes)
    for axes, (title, *_) in zip(utilities, purposes, strict=True):
        _axes(axes, title, sizes)
    _axes(seconds, "seconds of search", sizes)
    losses.set_ylim(bottom=0)
    seconds.set_yscale("log")
    figure.suptitle(f"{comparison.source}: {comparison.rows:,} rows")
    figure.legend(*losses.get_legend_handles_labels(), loc="outside lower center", ncols=min(4, len(lines)))


def _purposes(comparison: Comparison) -> list[tuple[str, str, str]]:
    """Return the utility figures to plot, if they were measured: a title, the part of utility, and its figure."""
    utility = next((result.utility for result in comparison.results if result.utility is not None), None)
    if utility is None:
        return []
    drawn = [("3-marginals: 1000 is the original", "marginals", "score")]
    if (prediction := utility.prediction) is not None:
        original = f"learned from the original: {prediction.from_original:.4f}"
        drawn.append((f"accuracy of {prediction.target}; {original}", "prediction", "from_release"))
    return drawn


def _axes(axes: Axes, title: str, sizes: list[int]) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xscale("log")
    axes.set_xticks(sizes, labels=[str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("k")
    axes.grid(visible=True, alpha=0.3)
