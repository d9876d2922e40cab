"""``kanon known``: how many rows share each combination of a few columns? Exit code 1 if fewer than k."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kanon_sql.cli.options.case_options import run_judge, with_case
from kanon_sql.cli.output.output import print_pairs, print_prose, print_table, visible
from kanon_sql.errors import counted
from kanon_sql.evidence.known import KnownResult, known_source, require_columns

if TYPE_CHECKING:
    from kanon_sql.evidence.known import KnownSubset

_SHOWN = 12  # subsets for each number of columns


@with_case()
def known_command(
    context: typer.Context,
    max_columns: Annotated[
        int | None,
        typer.Option(
            "--max-columns",
            metavar="N",
            help="How many of the columns are known of a person at most; by default what the policy says, or 3.",
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option(
            "-k",
            help="The smallest class that is allowed. Without it, and without a policy, nothing is required, and "
            "classes of fewer than 5 are counted.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Count who shares each combination of values of a few columns; exit code 1 if fewer than k do."""
    if max_columns is not None:
        require_columns(max_columns)
    required = k is not None or context.params["policy_file"] is not None
    run_judge(
        context,
        "for people",
        lambda case, talk: known_source(
            case.release, case.policy, max_columns, case.beside, required=required, progress=talk
        ),
        _print_result,
        lambda result: result.holds is False,
    )


def _print_result(result: KnownResult) -> None:
    fewer = f"fewer than {result.k:,}"
    print_prose(f"{visible(result.table)}: {_columns(result)}")
    last = result.by_number[-1]
    share = "" if last.share is None else f" ({last.share:.2%})"
    pairs = [
        ("counted", _members(result, result.members)),
        ("smallest class", _smallest(result)),
        (fewer, f"{_members(result, last.in_too_small)}{share} in a class of {fewer} by some of these subsets"),
    ]
    if result.required:
        pairs.append(("known", _verdict(result)))
    if (refusal := result.refusal) is not None:
        pairs.append(("refused", visible(refusal.said(result.table))))
    print_pairs(pairs)
    of_them = f"{result.counted} in them"
    in_each = "rows in them" if result.counted == "rows" else "records in them"  # one for each class of a person
    print_table(
        ["columns known", "subsets", "smallest class", f"with classes of {fewer}", of_them],
        [
            (one.columns, one.subsets, _number(one.smallest_class), one.too_small, one.in_too_small)
            for one in result.by_number
        ],
    )
    shown = _worst(result)
    print_table(
        ["worst subsets", "smallest class", f"classes of {fewer}", in_each],
        [
            (" + ".join(map(visible, one.columns)), _number(one.smallest_class), one.too_small, one.in_too_small)
            for one in shown
        ],
    )
    if len(result.subsets) > len(shown):
        print_prose(f"{counted(len(result.subsets), 'subset')} looked at, {len(shown)} shown.")


def _columns(result: KnownResult) -> str:
    """Describe the known columns: the subsets with the most columns decide, and those with fewer follow."""
    width, known = len(result.columns), result.max_columns
    or_fewer = ", or fewer of them" if known > 1 else ""
    if known == width:
        return f"{'all ' if width > 1 else ''}{counted(width, 'column')} known{or_fewer}"
    subsets = counted(result.by_number[-1].subsets, "subset")
    return f"any {counted(known, 'column')} of {width:,} known ({subsets}){or_fewer}"


def _smallest(result: KnownResult) -> str:
    if result.smallest_class is None:
        return "there are no rows"
    return _members(result, result.smallest_class)


def _members(result: KnownResult, number: int) -> str:
    if result.counted == "rows":
        return counted(number, "row")
    by = visible(result.entity or "") + ("" if result.original is None else f" of {visible(result.original)}")
    return f"{counted(number, 'person', 'people')} ({by})"


def _verdict(result: KnownResult) -> str:
    required = f"k = {result.k:,}"
    if result.fails:
        nobody = ": there are classes whose rows name nobody" if result.nameless else ""
        return f"{required} DOES NOT HOLD{nobody}"
    column = visible(result.entity or "")
    if not result.people_known and result.verified:
        return (
            f"{required} holds: each class by all columns has {result.at_least:,} people ({column}) at least, and so "
            "has each by fewer columns. Who they are is not known, so that rows were counted below"
        )
    if not result.people_known:
        ways = "" if result.at_least is not None else " Name the table that it was made from with --original."
        least = "" if result.at_least is None else f": by its original, {result.at_least:,} at least"
        return (
            f"{required} IS NOT VERIFIED: how many people ({column}) the classes have is not known{least}. Rows were "
            f"counted, and a class of many rows may be one person.{ways}"
        )
    if result.refusal is not None:
        return f"{required} IS NOT VERIFIED: see refused below"
    return f"{required} holds: every combination of values is shared by {result.k:,} {result.counted} or more"


def _worst(result: KnownResult) -> list[KnownSubset]:
    """Return the worst subsets, the same number for each number of columns."""
    each = max(1, _SHOWN // result.max_columns)
    sizes = range(result.max_columns, 0, -1)
    return [one for size in sizes for one in [one for one in result.subsets if len(one.columns) == size][:each]]


def _number(value: int | None) -> str | int:
    return "" if value is None else value
