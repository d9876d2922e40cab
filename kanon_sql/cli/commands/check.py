"""``kanon check``: does a table satisfy a policy? Exit code 1 if not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.case_options import end_with, run_judge, with_case
from kanon_sql.cli.options.destination_options import is_of_several
from kanon_sql.cli.options.policy_options import RequestedPolicy
from kanon_sql.cli.options.shared import RequestedModels, check_options, with_models
from kanon_sql.cli.output.output import (
    about,
    print_pairs,
    print_prose,
    print_table,
    print_text,
    visible,
)
from kanon_sql.cli.output.release_tables import promises
from kanon_sql.errors import counted
from kanon_sql.evidence.check import CheckResult, check_source, check_sql
from kanon_sql.measures.shares import threshold_text
from kanon_sql.models.known_subsets import columns_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kanon_sql.evidence.case import Case
    from kanon_sql.evidence.standards.judge import CheckedStandard
    from kanon_sql.policy.tables import TablesPolicy
    from kanon_sql.release.tables.verify import TablesVerification
    from kanon_sql.release.verify.classes import ModelResult

_AGAINST = {"fails", "not known"}


@with_models
@with_case(
    identifying=shared.IdOption,
    sensitive=shared.SensitiveOption,
    standard=shared.StandardOption,
    schema=shared.SchemaOption,
)
def check_command(
    context: shared.Context,
    *,
    models: RequestedModels,
    population: str | None,
) -> None:
    """Check whether a table satisfies a policy and the rules of standards; exit code 1 if not."""
    said = context.params
    if is_of_several(context, said["policy_file"]):
        from kanon_sql.evidence.tables import check_tables

        check_options(context)
        policy = RequestedPolicy(said).of_several(said)
        found = check_tables(said["source"], policy, schema=said["schema"])
        end_with(found, lambda found: _print_tables(found, policy), said["output_format"], failed=not found.holds)
        return

    def script(case: Case) -> str | None:
        alone = case.beside is None and not case.policy.standards
        return check_sql(case.release, case.policy, said["dialect"]) if alone else None

    run_judge(
        context,
        "for people",
        lambda case, _: check_source(case.release, case.policy, case.beside),
        _print_result,
        lambda result: not result.holds,
        requested=RequestedPolicy(said, models, population),
        script=script,
    )


def _print_result(result: CheckResult) -> None:
    if result.classes is None:
        print_prose(f"{visible(result.table)}: {counted(result.rows, 'row')}")
        if result.identifying:
            print_prose(f"It has columns that must not be there: {', '.join(map(visible, result.identifying))}")
    else:
        _print_policy(result)
    for standard in result.standards:
        _print_standard(standard)


def _print_standard(standard: CheckedStandard) -> None:
    """Print the rules of a standard with their verdicts, then its requirements and the limits of the check."""
    print_text("")
    print_prose(f"{standard.title}: {standard.tally}")
    print_prose(f"Source: {standard.cited}")
    print_table(
        ["rule", "verdict", "measured", "required"],
        [
            (rule.id, rule.verdict.upper() if rule.verdict in _AGAINST else rule.verdict, rule.measured, rule.required)
            for rule in standard.rules
        ],
        prose="measured",
    )
    for rule in standard.rules:
        print_prose(f"- {rule.id}: {rule.text}" + (f" Not looked at: {rule.cannot}." if rule.cannot else ""))


def _print_policy(result: CheckResult) -> None:
    pairs = [("rows", f"{result.rows:,} in {counted(result.classes or 0, 'class', 'classes')}")]
    if result.counts_people and result.smallest_class is not None:
        pairs.append(("smallest class", _smallest(result)))
    of_some = any(columns_named(model.model) for model in result.models)
    for model in result.models:
        if of_some and model.model == "k-anonymity":  # not required
            found = _measured(model, result)
            pairs.append(("by all columns", f"{found}: no promise holds where more columns are known"))
            continue
        verdict = "holds" if model.holds else "DOES NOT HOLD" if model.verified else "IS NOT VERIFIED"
        required = f"{model.letter} = {threshold_text(model.required)} {verdict}"
        pairs.append((about(model.model, model.sensitive), f"{required}: {_measured(model, result)}"))
    if result.classes_failing:
        failing = f"{counted(result.classes_failing, 'class', 'classes')} with {counted(result.rows_failing, 'row')}"
        pairs.append(("failing" if len(result.models) > 1 else "too small", failing))
    for tied in result.pseudonyms:
        alike = "has none" if tied.fewest is None else f"ties what {tied.fewest:,} or more have alike"
        pairs.append(("pseudonyms", f"{tied.column} {alike}" + (": TOO FEW" if tied.failing else "")))
    if (refusal := result.refusal) is not None:
        pairs.append(("refused", visible(refusal.said(result.table))))
    if result.hidden_rows:
        came_later = f"{counted(result.hidden_rows, 'row')} of the table behind the view, with values that came later"
        pairs.append(("left out", f"{came_later}: make the view again (--replace) to show them"))
    pairs += _by_rule(result)
    if result.identifying:
        pairs.append(("identifying", f"columns that must not be there: {', '.join(result.identifying)}"))
    verdict = (
        "satisfies" if result.satisfies_policy else "DOES NOT SATISFY" if result.fails else "IS NOT VERIFIED to satisfy"
    )
    but_for = ", except for the parts not checked" if result.satisfies_policy and result.rules_not_checked else ""
    print_prose(f"{visible(result.table)} {verdict} the policy{but_for}")
    print_pairs(pairs)
    if result.worst:
        print_table(
            ["worst classes by", "measured", "rows"],
            [(about(one.model, one.sensitive), threshold_text(one.measured), one.rows) for one in result.worst],
        )


def _by_rule(result: CheckResult) -> Iterator[tuple[str, str]]:
    for name, number in result.not_by_rule.items():
        yield "by rule", f"{visible(name)}: {counted(number, 'value')} that its rule does not make"
    if result.rules_not_checked:
        unknown = ", ".join(map(visible, result.rules_not_checked))
        yield "by rule", f"not checked, since the table does not tell: {unknown}"


def _smallest(result: CheckResult) -> str:
    """Return the smallest class, in people and in rows: they may be different classes."""
    rows = counted(result.smallest_class or 0, "row")
    if result.smallest_class_people is None:
        return f"{rows}, of how many people is not known"
    return f"{_people(result)}; the one with the fewest rows has {rows}"


def _people(result: CheckResult) -> str:
    fewest, most = result.smallest_class_people, result.smallest_class_people_at_most
    people = counted(fewest or 0, "person", "people")
    by = (
        f" ({visible(result.entity or '')})"
        if result.original is None
        else f" ({visible(result.entity or '')} of {visible(result.original)})"
    )
    if most is not None and most != fewest:
        return f"at least {people}, at most {most:,}{by}: labels do not show which rows were published"
    return f"{people}{by}"


def _measured(model: ModelResult, result: CheckResult) -> str:
    if result.smallest_class is None:
        return "there are no rows"
    if model.measured is None:
        return _not_measured(model, result)
    if model.model == "k-anonymity":
        counts_people = result.smallest_class_people is not None
        return f"smallest class has {_people(result) if counts_people else f'{model.measured:,}'}"
    if columns_named(model.model):
        people = result.counts_people
        members = counted(int(model.measured), "person" if people else "row", "people" if people else "rows")
        return f"smallest class by so many has {members}"
    return f"worst class has {threshold_text(model.measured)}"


def _not_measured(model: ModelResult, result: CheckResult) -> str:
    rows = counted(result.smallest_class or 0, "row")
    if model.verified:
        return f"smallest class has {rows}, and no more people than rows"
    if result.counts_people and result.entity is None:
        return f"a class of {rows} or more may be of one person"
    column = visible(result.entity or "")
    return (
        f"it counts people, and the table has no column {column} to tell them apart; name the table that it was made "
        "from with --original"
    )


def _print_tables(found: TablesVerification, policy: TablesPolicy) -> None:
    where = "" if found.schema is None else f" in schema {visible(found.schema)}"
    promise = f"the promise of the policy (k = {policy.k:,}, km = {policy.km})"
    if found.holds or found.fails:
        print_prose(f"The tables{where} {'keep' if found.holds else 'do NOT keep'} {promise}.")
    else:
        print_prose(f"That the tables{where} keep {promise} IS NOT VERIFIED.")
    print_pairs(promises(found))
    for problem in found.problems():
        print_prose(problem)
    of_people = [table.name for table in policy.tables if table.person is not None and table.rows != "dropped"]
    if not any(found.rows[name] for name in of_people):
        print_prose("No row of a person is released.")
    if found.elsewhere:
        schemas = ", ".join(f"{visible(name)} ({n:,})" for name, n in found.elsewhere.items())
        print_prose(
            f"Not looked at: tables and views in other schemas of the database, {schemas}. Whoever is given the whole "
            "database has them too."
        )
    print_prose(
        "Nothing is promised if more events are known, or how many events a person has, nor about columns that are not "
        "quasi-identifiers."
    )
