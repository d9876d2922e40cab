"""``kanon measure``: the utility of a published table against its original, and the risk of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.case_options import run_judge, with_case
from kanon_sql.cli.output.output import Share, figure, print_pairs, print_prose, print_table, visible
from kanon_sql.cli.output.utility import print_utility
from kanon_sql.errors import counted
from kanon_sql.evidence.measure import Measured, MeasuredPeople, measure_case
from kanon_sql.measures.shares import read_share
from kanon_sql.policy.weights import weights_said
from kanon_sql.release.utility import utility_settings
from kanon_sql.risks.estimators.assessment import DEFAULT_THRESHOLD, PRESETS, RiskSettings, threshold_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kanon_sql.risks.estimators.assessment import Risk
    from kanon_sql.risks.estimators.estimate import Estimate
    from kanon_sql.risks.estimators.subsets import SubsetRisk
    from kanon_sql.risks.estimators.uniqueness import Uniqueness

_SHOWN = 12  # subsets for each number of columns
_MET = {True: "yes", False: "no", None: "not verified"}
_ESTIMATORS = ("pitman", "zayatz", "snb")


@with_case(weight=shared.WeightOption)
def measure_command(
    context: typer.Context,
    entity: Annotated[
        str | None,
        typer.Option(
            "--entity",
            metavar="COLUMN",
            help="Names the person: the risk is that of people, not of rows. A release is counted by its original.",
        ),
    ] = None,
    threshold: Annotated[
        str,
        typer.Option(
            "--threshold",
            metavar="NAME|RISK",
            help="The risk above which rows are counted: a number such as 0.2, 20% or 1/5, or "
            f"{', '.join(preset.name for preset in PRESETS)}.",
        ),
    ] = DEFAULT_THRESHOLD,
    subsets: Annotated[
        int | None,
        typer.Option(
            "--subsets",
            metavar="N",
            help="Look at all subsets of up to N quasi-identifiers (default: 3, less where that is over 500; 0: none).",
        ),
    ] = None,
    sampling_fraction: Annotated[
        float | None,
        typer.Option(
            "--sampling-fraction",
            metavar="SHARE",
            parser=read_share,
            help="The share of the population that is in the table (or its original), to estimate who is unique in the "
            "population.",
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(
            "--population",
            metavar="TABLE|FILE",
            help="A table of all people that the rows could be about, with values written like those of the table.",
        ),
    ] = None,
    population_table: Annotated[
        str | None,
        typer.Option("--population-table", metavar="TABLE", help="The table, where --population is another database."),
    ] = None,
    suda: Annotated[
        int | None,
        typer.Option(
            "--suda",
            metavar="[=N]",
            help="Score rows by the sets of up to N quasi-identifiers by which they are unique (SUDA2; without N: 3).",
        ),
    ] = None,
    record_weight: Annotated[
        str | None,
        typer.Option(
            "--record-weight",
            metavar="COLUMN",
            help="How many of the population a row stands for: estimates its risk, and who is unique there.",
        ),
    ] = None,
    utility: shared.UtilityOption = False,
    target: shared.TargetOption = None,
    spread: shared.SpreadOption = None,
    control: Annotated[
        str | None,
        typer.Option(
            "--control",
            metavar="TABLE|FILE",
            help="With --target: people who are not in the release, such as those of run.hold_out. Predictions are "
            "tested on their rows, and the original is measured without them.",
        ),
    ] = None,
) -> None:
    """Measure who could be found in a table, and how much of its original it keeps."""
    settings = RiskSettings(threshold_of(threshold), subsets, sampling_fraction, suda, record_weight)
    good_for = utility_settings(utility=utility, target=target, spread=spread, control=control is not None)
    run_judge(
        context,
        "if unnamed",
        lambda case, talk: measure_case(case, entity, settings, good_for, talk),
        _print_measured,
        lambda _: False,
        control=control,
        population=population,
        population_table=population_table,
    )


def _print_measured(result: Measured) -> None:
    against = "" if result.original is None else f" against {visible(result.original)}"
    print_prose(f"{visible(result.table)}{against}")
    if result.levels is not None:
        levels = [(column, "several" if level is None else level) for column, level in result.levels.items()]
        print_table(["column", "level"], levels)
    rows = counted(result.rows_out, "row")
    if result.rows_in:
        suppressed = result.rows_in - result.rows_out
        share = f"{suppressed:,} suppressed ({suppressed / result.rows_in:.2%})"
        rows = f"{result.rows_in:,} in, {result.rows_out:,} out, {share}"
    smallest = "" if result.smallest_class is None else f", the smallest has {_smallest(result)}"
    pairs = [("rows", rows), ("classes", f"{result.classes:,}{smallest}")]
    pairs += [(name, figure(value)) for name, value in result.measures.items() if value is not None]
    if result.weights:
        pairs.append(("weights", visible(weights_said(result.weights))))
    print_pairs(pairs)
    if result.utility is not None:
        print_utility(result.utility)
    _print_risks(result.risk, result.risk_before)
    if result.people is not None and (said := _uncounted(result.people)):
        print_prose(said)
    if (refusal := result.refusal) is not None:
        print_prose(f"No threshold is known to be met: {visible(refusal.note())}")


def _smallest(result: Measured) -> str:
    """Return the smallest class in rows, and in people if they are known: they may be different classes."""
    rows, people = counted(result.smallest_class or 0, "row"), result.people
    if people is None:
        return rows
    if people.smallest_class is None:
        return f"{rows}, of how many people is not known"
    fewest, most = counted(people.smallest_class, "person", "people"), people.smallest_class_at_most or 0
    if most == people.smallest_class:
        return f"{rows}; by people, {fewest} ({visible(people.entity)})"
    return f"{rows}; by people, at least {fewest} and at most {most:,} ({visible(people.entity)})"


def _uncounted(people: MeasuredPeople) -> str | None:
    """Describe what is not known about people, and the consequence for the figures."""
    if people.settled:
        return None
    if people.smallest_class is None:
        return (
            f"The table has no column {people.entity} to count people by: the figures are of rows, and a class of many "
            "rows may be one person. Name the table that it was made from with --original."
        )
    return (
        "Labels do not show which rows were published: the release is counted as if each class had the "
        "fewest people possible, and who may be in two classes is counted in both: shares of people are not known. "
        "Subsets are not looked at, and rows are not scored."
    )


def _print_risks(risk: Risk, before: Risk | None) -> None:
    """Print the risk of a table; with its original, both side by side."""
    risks = [risk] if before is None else [before, risk]
    names = ["table"] if before is None else ["original", "release"]
    print_table(["risk", *names], _right(list(_figures(risks))))
    print_table(
        ["threshold", "risk", "k", *(f"{name} meets it" for name in names)],
        [
            [own[0].name, own[0].risk, own[0].k, *(_MET[one.met] for one in own)]
            for own in zip(*(one.thresholds for one in risks), strict=True)
        ],
    )
    _print_histogram(risks, names)
    _print_subsets(risks, names)
    _print_suda(risks, names)
    _print_weighted(risks, names)
    _print_uniqueness(risks, names)


def _figures(risks: Sequence[Risk]) -> Iterator[list[str]]:
    """Yield a row for each figure of the three attacker models, for a member of the table."""
    by_record = " by record" if any(map(_of_records, risks)) else ""
    several = len({risk.counted for risk in risks}) > 1

    def part(risk: Risk, members: int, share: float | None) -> str:
        # If people and rows of a release without a column of people appear together, each figure has its unit.
        return _part(members, share, f" {risk.counted}" if several else "")

    def attacker(name: str) -> Iterator[list[str]]:
        found = [(risk, getattr(risk, name)) for risk in risks]
        if all(own is None for _, own in found):
            return
        cells = [
            ("", "", "")
            if own is None
            else (figure(own.highest), figure(own.average), part(risk, own.above_threshold, own.share_above_threshold))
            for risk, own in found
        ]
        labels = ("highest", f"average{by_record}", f"above {risks[0].threshold.risk:.4g}")
        for label, *row in zip(labels, *cells, strict=True):
            yield [f"{name}, {label}", *row]

    yield ["counted", *map(_counted, risks)]
    yield from attacker("prosecutor")
    yield ["unique", *(part(risk, risk.prosecutor.uniques, risk.prosecutor.share_unique) for risk in risks)]
    yield [f"marketer{by_record and ','}{by_record}", *(figure(risk.marketer) for risk in risks)]
    yield from attacker("journalist")


def _of_records(risk: Risk) -> bool:
    """Return True if a person is in several classes, so members of classes are not people."""
    return risk.people is not None and risk.people != risk.members


def _counted(risk: Risk) -> str:
    if risk.people is None:
        return counted(risk.members, "row")
    records = f", {counted(risk.members, 'record')}" if _of_records(risk) else ""
    return f"{counted(risk.people, 'person', 'people')}{records}"


def _print_histogram(risks: Sequence[Risk], names: Sequence[str]) -> None:
    members = ["records" if _of_records(risk) else "members" for risk in risks]
    labels = [f"{what}, {name}" for name, own in zip(names, members, strict=True) for what in ("classes", own)]
    most = max((found.members for found in risks[-1].histogram), default=0) or 1
    rows = [
        [own[0].name, *(n for one in own for n in (one.classes, one.members)), Share(own[-1].members / most)]
        for own in zip(*(risk.histogram for risk in risks), strict=True)
    ]
    drawn = f"{members[-1]}, drawn"
    header = ["size of class", *(labels if len(names) > 1 else ["classes", *members]), drawn]
    print_table(header, rows, spare=(drawn,))


def _print_subsets(risks: Sequence[Risk], names: Sequence[str]) -> None:
    """Print the subsets with the most unique rows in the table, for each number of columns; then in the original."""
    subsets = risks[-1].subsets
    if not subsets.found:
        return
    before = {found.columns: found for found in risks[0].subsets.found}
    worst = sorted(subsets.found, key=lambda found: (-found.uniques, -before[found.columns].uniques))
    each = max(1, _SHOWN // subsets.largest)
    shown: list[SubsetRisk] = []
    for size in range(subsets.largest, 0, -1):
        shown += [found for found in worst if len(found.columns) == size][:each]
    suffixes = [f", {name}" for name in names] if len(names) > 1 else [""]
    rows = []
    for found in shown:
        sides = [before[found.columns], found][-len(risks) :]
        rows.append([" + ".join(found.columns), *(cell for side in sides for cell in _of_subset(side))])
    print_table(
        ["known", *(f"{what}{suffix}" for suffix in suffixes for what in ("smallest class", "unique"))], _right(rows)
    )
    looked_at = counted(len(subsets.found), "subset")
    if subsets.not_looked_at or len(subsets.found) > len(shown):
        larger = f"; {counted(subsets.not_looked_at, 'larger one')} not looked at (--subsets)"
        print_prose(
            f"{looked_at} of up to {counted(subsets.largest, 'column')} looked at, {len(shown)} shown"
            f"{larger if subsets.not_looked_at else ''}."
        )


def _of_subset(found: SubsetRisk) -> tuple[str, str]:
    smallest = "" if found.smallest_class is None else f"{found.smallest_class:,}"
    return smallest, _part(found.uniques, found.share_unique)


def _having(risks: Sequence[Risk], names: Sequence[str], part: str) -> tuple[list[Any], list[str]]:
    """Return a part of the risk of each table that has it, and the names of these tables."""
    found = [(getattr(risk, part), name) for risk, name in zip(risks, names, strict=True)]
    return [own for own, _ in found if own is not None], [name for own, name in found if own is not None]


def _print_suda(risks: Sequence[Risk], names: Sequence[str]) -> None:
    """Print the distribution of the scores of all rows, and the contribution of each column."""
    found, names = _having(risks, names, "suda")
    if not found:
        return
    rows = [
        ["scored", *(_part(suda.scored, suda.share_scored) for suda in found)],
        ["score, highest", *(f"{suda.highest:,}" for suda in found)],
        ["score, average", *(figure(suda.average) for suda in found)],
    ]
    for size in range(1, found[0].max_columns + 1):
        unique = (f"{suda.minimal_uniques[size - 1]:,}" for suda in found)
        rows.append([f"minimal uniques of {counted(size, 'column')}", *unique])
    for column in found[0].contributions:
        shares = (suda.contributions[column] for suda in found)
        rows.append([f"scores with {visible(column)}", *("" if share is None else f"{share:.2%}" for share in shares)])
    print_table(["suda", *names], _right(rows))


def _print_weighted(risks: Sequence[Risk], names: Sequence[str]) -> None:
    found, names = _having(risks, names, "weighted")
    if not found:
        return
    rows = [
        ["sum of the weights", *(figure(own.population) for own in found)],
        ["individual risk, highest", *(figure(own.highest) for own in found)],
        ["individual risk, average", *(figure(own.average) for own in found)],
        [f"above {risks[0].threshold.risk:.4g}", *(f"{own.above_threshold:,}" for own in found)],
        ["expected re-identifications", *(figure(own.expected) for own in found)],
        ["unique in the population too", *(figure(own.uniques) for own in found)],
    ]
    print_table([f"by {visible(found[0].column)}", *names], _right(rows))


def _print_uniqueness(risks: Sequence[Risk], names: Sequence[str]) -> None:
    """Print the estimates of how many are unique in the population, or the reason why one is missing."""
    found, names = _having(risks, names, "uniqueness")
    if not found:
        return
    rows = [
        ["members of the population", *(f"{own.population:,}" for own in found)],
        ["share of them in the table", *(f"{own.sampling_fraction:.4g}" for own in found)],
    ]
    for name in _ESTIMATORS:
        texts = (f"{_estimate(getattr(own, name))}{'*' if own.chosen == name else ''}" for own in found)
        rows.append([f"unique, {name}", *texts])
    print_table(["population", *names], _right(rows))
    print_pairs(_reasons(found, names))
    if any(uniqueness.chosen for uniqueness in found):
        print_prose("* the estimate to go by, by the rule of Dankar et al. 2012")


def _reasons(found: Sequence[Uniqueness], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return why there is no estimate: which, of which table, and why; once, if it is the same for all."""
    lines = []
    for label, uniqueness in zip(names, found, strict=True):
        of = f", {label}" if len(names) > 1 else ""
        reasons = {name: getattr(uniqueness, name).reason for name in _ESTIMATORS}
        if len(set(reasons.values())) == 1:
            reasons = {"any": next(iter(reasons.values()))}
        lines += [(f"none by {name}{of}", reason) for name, reason in reasons.items() if reason is not None]
    return lines


def _estimate(estimate: Estimate) -> str:
    if estimate.uniques is None or estimate.share is None:
        return "none"
    return f"{estimate.uniques:,.0f} ({estimate.share:.2%})"


def _part(members: int, share: float | None, unit: str = "") -> str:
    return f"{members:,}{unit}" if share is None else f"{members:,}{unit} ({share:.2%})"


def _right(rows: list[list[str]]) -> list[list[str]]:
    """Return rows with all cells but the first right-aligned."""
    if not rows:
        return rows
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return [[row[0], *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))] for row in rows]
