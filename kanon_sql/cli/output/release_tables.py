"""Results of ``anonymize``, printed for people."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from kanon_sql.cli.output.output import (
    Share,
    about,
    bound_figure,
    figure,
    print_pairs,
    print_prose,
    print_table,
    visible,
)
from kanon_sql.errors import counted
from kanon_sql.measures.shares import MUCH_LOST, at_most, threshold_text
from kanon_sql.models.known_subsets import columns_named
from kanon_sql.policy.algorithms import GREEDY
from kanon_sql.policy.policy import CHOICE_IS_GREEDY_IN_SHORT
from kanon_sql.policy.weights import stated_weights, weights_said

if TYPE_CHECKING:
    from kanon_sql.cli.output.diagnostics import Talk
    from kanon_sql.release.tables.anonymize import TablesRelease
    from kanon_sql.release.tables.publish import PublishedTables
    from kanon_sql.release.tables.verify import TablesVerification

_STEPS_SHOWN = 12


def print_release(summary: dict[str, Any]) -> None:
    if summary["cutting"] is not None:
        _print_boxes(summary)
    elif summary["levels"] is None:
        _print_steps(summary)
    else:
        _print_levels(summary)
    print_pairs(_findings(summary))
    if summary["in_place"] is not None:
        print_in_place(summary["in_place"])


def _print_levels(summary: dict[str, Any]) -> None:
    rows = [
        (
            column,
            level,
            summary["heights"][column],
            Share(level / summary["heights"][column]),
            summary["labels"][column],
            _origin(summary, column),
        )
        for column, level in summary["levels"].items()
    ]
    print_table(["column", "level", "of", "generalized", "labels", "hierarchy"], rows, spare=("generalized",))


def _print_steps(summary: dict[str, Any]) -> None:
    steps = summary["steps"]
    print_table(
        ["column", "levels", "hierarchy"],
        [(column, height, _origin(summary, column)) for column, height in summary["heights"].items()],
    )
    rows = [(number, *step["levels"].values(), step["rows"]) for number, step in enumerate(steps, start=1)]
    print_prose("Rows are published in steps, each with a level of every column (0: the value as it is).")
    print_table(["step", *summary["heights"], "rows"], rows[:_STEPS_SHOWN])
    if len(steps) > _STEPS_SHOWN:
        print_prose(f"{len(steps):,} steps; --format json has all of them.")


def _print_boxes(summary: dict[str, Any]) -> None:
    written = summary["cutting"]["written"]
    rows = [
        (column, written[column], summary["labels"][column], _origin(summary, column)) for column in summary["heights"]
    ]
    print_table(["column", "written as", "labels", "hierarchy"], rows)


def _origin(summary: dict[str, Any], column: str) -> str:
    hierarchy = summary["hierarchies"][column]
    return str(hierarchy["origin"]) + (" (chosen)" if hierarchy["chosen"] else "")


def _findings(summary: dict[str, Any]) -> list[tuple[str, str]]:
    share = summary["rows_suppressed"] / summary["rows_in"] if summary["rows_in"] else 0.0
    measures = summary["measures"]
    suppressed = f"{summary['rows_suppressed']:,} suppressed ({share:.2%})"
    pairs = [("rows", f"{summary['rows_in']:,} in, {summary['rows_out']:,} out, {suppressed}")]
    for model in summary["models"]:
        if model["measured"] is None:
            found = "no rows"
        elif model["model"] == "k-anonymity":
            found = f"smallest class has {_members(model, summary)}"
        elif columns_named(model["model"]):
            of_people = "" if model["entity"] is None else f" ({visible(model['entity'])})"
            members = (
                counted(model["measured"], "row") if not of_people else counted(model["measured"], "person", "people")
            )
            found = f"smallest class by so many has {members}{of_people}"
        else:
            found = f"worst class has {threshold_text(model['measured'])}"
        verdict = "holds" if model["holds"] else "DOES NOT HOLD"
        required = f"{model['letter']} = {threshold_text(model['required'])}"
        pairs.append((about(model["model"], model["sensitive"]), f"{required} {verdict} in the output: {found}"))
    if summary["choice"] == GREEDY:
        pairs.append(("choice", CHOICE_IS_GREEDY_IN_SHORT))
    if any(columns_named(model["model"]) for model in summary["models"]):
        people = summary["smallest_class_people"]
        by_all = (
            counted(summary["smallest_class"] or 0, "row") if people is None else counted(people, "person", "people")
        )
        by_all = f"smallest class has {by_all}"
        pairs.append(("by all columns", f"{by_all}: no promise holds where more columns are known"))
    if summary["count"] == "rows":
        pairs.append(("counted", "rows, not people (--count rows): a class may have fewer people, down to one"))
    size = measures["average_rows_per_class"]
    pairs += [
        (
            "classes",
            f"{summary['classes']:,}" + (f", {size:,.1f} rows on average" if size is not None else ""),
        ),
        ("loss", f"{measures['loss']:.4f}, {_proof(summary)}"),
        *([("weights", visible(weights_said(summary["weights"])))] if "weights" in summary else []),
        *(
            [(summary["measure"], figure(measures[summary["measure"]]))]
            if summary["measure"] in {"nonuniform_entropy", "average_class_size"}
            else []
        ),
        (
            "precision",
            f"{measures['precision']:.4f}   gcp {measures['gcp']:.4f}   discernibility {measures['discernibility']:,}",
        ),
        (
            "seconds",
            f"{sum(summary['seconds'].values()):.2f}: "
            + ", ".join(f"{step.replace('_', ' ')} {seconds:.2f}" for step, seconds in summary["seconds"].items()),
        ),
    ]
    if summary["pseudonyms"] is not None:
        pairs.append(("pseudonyms", _pseudonyms(summary["pseudonyms"])))
    pairs += [("published by rule", _published_by(one)) for one in summary["publish"]]
    if summary["columns_left_out"]:
        pairs.append(("left out", ", ".join(summary["columns_left_out"])))
    return pairs


def print_remedies(summary: dict[str, Any]) -> None:
    """Print settings with less loss; None was not searched."""
    if summary["remedies"]:
        print_prose("\nWhat would lose less, each tried on this table:")
        rows = [
            (
                visible(shlex.join(one["options"])),
                one["loss"],
                one["instead_of"],
                f"{one['rows_suppressed'] / summary['rows_in']:.2%}",
                one["means"],
            )
            for one in summary["remedies"]
        ]
        print_table(["option", "loss then", "loss now", "suppressed", "effect"], rows, prose="effect")
        if any(one["options"][0] == "--id" for one in summary["remedies"]):
            print_prose("If you give a column to --id, take it out of --qi, --hierarchy, --levels and --weight.")
    elif summary["remedies"] is not None and (summary["columns_emptied"] or summary["measures"]["loss"] > MUCH_LOST):
        print_prose(
            "To lose less information: fewer quasi-identifiers, hierarchies with more levels, or weaker requirements."
        )
    if summary["remedies_untried"]:
        names = ", ".join(visible(shlex.join(option)) for option in summary["remedies_untried"])
        print_prose(f"There was no time to test whether these would lose less: {names}.")


def print_in_place(outcome: dict[str, Any]) -> None:
    """Print the outcome for a file, and for the tables that a release replaced in it."""
    sizes = f"{outcome['bytes_before'] / 1e6:,.1f} MB -> {outcome['bytes_after'] / 1e6:,.1f} MB"
    pairs = [("file", f"{outcome['file']}: {'rewritten' if outcome['done'] else 'would be rewritten'}, {sizes}")]
    if outcome["backup"] is not None:
        made = "a copy of the file as it was, with all raw rows" if outcome["done"] else "would be made first"
        pairs.append(("backup", f"{outcome['backup']}: {made}"))
    titles = {
        "kept": "kept",
        "removed": "removed",
        "hierarchies": "hierarchies removed",
        "views": "views that read changed values",
    }
    pairs += [(title, "; ".join(outcome[name])) for name, title in titles.items() if outcome[name]]
    for name, columns in outcome["siblings"].items():
        same = (
            f"has columns of the same names and kinds of types ({', '.join(columns)}): it may hold the same raw values"
        )
        pairs.append(("other table", f"{name} {same}, and was left as it is"))
    for name, columns in outcome["copies"].items():
        same = f"holds the same values under other names or types ({', '.join(columns)})"
        pairs.append(("other table", f"{name} {same}, and was left as it is"))
    if not outcome["done"]:
        pairs.append(("dry run", "everything was made and checked; nothing was changed"))
    print_pairs(pairs)


def _proof(summary: dict[str, Any]) -> str:
    tested = f"{summary['nodes_tested']:,} of {summary['lattice_size']:,} nodes tested"
    by = "" if summary["measure"] == "loss" else f" by {summary['measure']}"
    least = "can lose less than" if not by else f"can have better {summary['measure']} than"
    gap = None if summary["gap"] is None else f"gap {at_most(summary['gap'])}"
    if summary["optimal"] and summary["steps"] is None:
        than = "no full-domain release loses less" if not by else f"no full-domain release is better{by}"
        return f"proven optimal: {than} ({tested})"
    if summary["stopped"] and summary["gap"] is not None and summary["steps"] is None:
        return (
            f"stopped by {summary['stopped']}: no full-domain release {least} "
            f"{bound_figure(summary['bound'], summary['measure'])} ({gap}, {tested})"
        )
    stopped = f", stopped by {summary['stopped']}" if summary["stopped"] else ""
    if summary["cutting"] is not None:
        return f"by {summary['algorithm']}{stopped}, in {counted(summary['cutting']['rounds'], 'round')} of cuts"
    if summary["steps"] is not None:
        path = "" if summary["path_share"] is None else f" (path: {summary['path_share']:.0%} of the search)"
        taken = "" if summary["instead"] is None else f": what {summary['instead']} found, which loses less"
        proven = ""
        if summary["bound"] is not None:
            bound = bound_figure(summary["bound"], summary["measure"])
            cut_off = "" if summary["proof_stopped"] is None else f"; proof stopped by {summary['proof_stopped']}"
            proven = f"; no recoding by labels of these hierarchies {least} {bound} ({gap}{cut_off})"
        elif summary["proof_stopped"] is not None:
            proven = f"; nothing was proven: the proof was stopped by {summary['proof_stopped']}"
        return f"by {summary['algorithm']}{stopped}, in {counted(len(summary['steps']), 'step')}{path}{taken}{proven}"
    return f"by {summary['algorithm']}{stopped}: others may be better{by} ({tested})"


def _members(model: dict[str, Any], summary: dict[str, Any]) -> str:
    """Return the size of the smallest class in the unit of the model; for people, in rows too."""
    if model["entity"] is None:
        return counted(model["measured"], "row")
    people = f"{counted(model['measured'], 'person', 'people')} ({visible(model['entity'])})"
    return f"{people}; the one of fewest rows has {counted(summary['smallest_class'], 'row')}"


def _published_by(one: dict[str, Any]) -> str:
    by = {None: "", "drawn": ", by a key drawn for this release alone"}.get(one["key"], ", by the key of a file")
    lost = "" if one["sse_sst"] is None else f" (SSE/SST {one['sse_sst']:.4f})"
    return f"{visible(one['column'])}: {one['rule']}{by}: {one['purpose']}{lost}. k does not rest on it"


def _pseudonyms(found: dict[str, Any]) -> str:
    by = "a key drawn for this release alone" if found["key"] == "drawn" else "the key of a file"
    columns = [
        one["column"] + ("" if one["fewest_alike"] is None else f" ({one['fewest_alike']:,} or more alike)")
        for one in found["verified"]
    ]
    left_out = found["left_out"]
    if left_out["pseudonyms"]:
        columns.append(f"{left_out['pseudonyms']:,} left out with {left_out['rows']:,} rows")
    return f"{', '.join(columns)}, by {by}"


def say_of_tables(release: TablesRelease, talk: Talk) -> None:
    """Name empty columns, rows of no person, and hierarchies that were chosen."""
    heights = heights_by_table(release)
    for one in release.counts:
        empty = [
            name
            for (name, level), height in zip(one.levels.items(), heights[one.name], strict=True)
            if level == height > 0
        ]
        if empty and one.rows_out:
            talk.note(f"{one.name}: empty columns (* in all rows): {', '.join(map(visible, empty))}.")
        if one.of_nobody:
            talk.note(
                f"{one.name}: {counted(one.of_nobody, 'row')} that {'leads' if one.of_nobody == 1 else 'lead'} to no "
                "person are left out: nothing can be promised of them."
            )
        if not one.rows_out and one.rows_in:
            talk.note(f"{one.name}: none of its {one.rows_in:,} rows is released.")
    for member in release.opened.members:
        for hierarchy in member.hierarchies:
            if hierarchy.chosen:
                talk.note(f"{hierarchy.column.name}: no hierarchy was given; {hierarchy.origin} was chosen.")
    if release.stopped is not None:
        talk.note(f"The search was stopped ({release.stopped}); this is the best release so far.")


def heights_by_table(release: TablesRelease) -> dict[str, list[int]]:
    return {one.name: [hierarchy.height for hierarchy in one.hierarchies] for one in release.opened.members}


def print_tables(release: TablesRelease, verification: TablesVerification, published: PublishedTables | None) -> None:
    place = "made and verified, written nowhere" if published is None else visible(published.destination)
    print_prose(f"{visible(release.opened.place)} -> {place}")
    heights = heights_by_table(release)
    levels = [
        (one.name, column, level, height)
        for one in release.counts
        for (column, level), height in zip(one.levels.items(), heights[one.name], strict=True)
    ]
    print_table(["table", "column", "level", "of"], levels)
    rows = [(one.name, one.rows, one.rows_in, one.rows_out, one.suppressed, one.of_nobody) for one in release.counts]
    print_table(["table", "rows are", "in", "out", "suppressed", "of nobody"], rows)
    weights = release.policy.weights
    proof = "proven optimal" if release.optimal else f"at most {release.gap:.1%} more than the least there is"
    print_pairs(
        [
            ("people", f"{release.people_in:,} in, {release.people_out:,} out"),
            *promises(verification),
            ("loss", f"{release.loss:.4f}, {proof}"),
            *([("weights", visible(weights_said(stated_weights(weights))))] if weights else []),
            ("seconds", f"{sum(release.seconds.values()):.1f}"),
        ]
    )
    if published is not None and published.in_place is not None:
        print_in_place(published.in_place.summary())


def promises(verification: TablesVerification) -> list[tuple[str, str]]:
    """Return the verdict on each promise, in words."""
    pairs = []
    for one in verification.promises:
        what = "of a person alone" if not one.events else f"and {counted(one.events, 'event')}"
        verdict = "DOES NOT HOLD" if one.too_rare else "holds"
        fewest = (
            "nothing is published"
            if one.fewest is None
            else f"the rarest is of {counted(one.fewest, 'person', 'people')}"
        )
        pairs.append((what, f"k = {verification.k:,} {verdict} in the output: {fewest}"))
    return pairs
