"""``kanon anonymize``, ``kanon check`` and ``kanon attack`` of a policy of several tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kanon_sql.cli.options.case_options import end_with
from kanon_sql.cli.options.destination_options import ReportRequest
from kanon_sql.cli.options.shared import given_options
from kanon_sql.cli.output.diagnostics import Talk, interrupted_after
from kanon_sql.cli.output.output import print_json, print_pairs, print_prose, print_sql, print_table, visible
from kanon_sql.cli.output.release_tables import print_in_place
from kanon_sql.cli.output.scripts import say_of_script
from kanon_sql.engine.keys import require_apart
from kanon_sql.engine.sources.addresses import is_warehouse
from kanon_sql.engine.time_zones import zone_in_force
from kanon_sql.errors import UsageError, counted
from kanon_sql.policy.destination import NO_BACKUP_ELSEWHERE, decided_backup
from kanon_sql.policy.tables import OF_TABLES, read_tables_policy
from kanon_sql.release.tables.anonymize import anonymize_tables
from kanon_sql.release.tables.script import NO_SCRIPT

if TYPE_CHECKING:
    from pathlib import Path

    import typer

    from kanon_sql.evidence.tables_attack import TablesAttacked
    from kanon_sql.policy.destination import Backup
    from kanon_sql.policy.tables import TablesPolicy
    from kanon_sql.release.tables.anonymize import TablesRelease
    from kanon_sql.release.tables.publish import PublishedTables
    from kanon_sql.release.tables.verify import TablesVerification

_PLACES = frozenset({"into_schema", "out", "out_directory", "in_place", "backup"})  # see _destination
_ANONYMIZE = frozenset(
    {
        *("source", "policy_file", "into_schema", "out", "out_dir", "file_format", "replace_existing", "dry_run"),
        *("no_backup", "ignore_ledger", *OF_TABLES),
        *("sql", "output_format", "report_file", "asked_by", "quiet", "verbose"),
    }
)
_CHECK = frozenset({"source", "policy_file", "schema", "k", "time_zone", "output_format", "quiet", "verbose"})
_ATTACK = _CHECK | {"original"}


def anonymize_several(context: typer.Context, said: dict[str, Any]) -> None:
    """Release the tables of a policy together: what ``kanon anonymize`` does with a policy of several tables."""
    _require_known(context, _ANONYMIZE)
    policy = _over(read_tables_policy(said["policy_file"]), said)
    place = _destination(policy, said)
    if not place.is_given and said["sql"] is None and not said["dry_run"]:
        raise UsageError("Say where the release should go: --into-schema, --out, --out-dir or --in-place; or --sql.")
    if said["sql"] is not None and is_warehouse(said["source"] or policy.source):
        raise UsageError(NO_SCRIPT)
    written = [place.out, place.directory, place.backup or None]
    require_apart(said["policy_file"], written, "what is written", "the policy")
    reported = ReportRequest(said["report_file"], said["asked_by"], replace=said["replace_existing"])
    reported.check([said["source"] or policy.source, said["policy_file"], place.out, policy.key_file])
    with Talk(quiet=said["quiet"], verbose=said["verbose"]) as talk:
        with anonymize_tables(said["source"], policy, progress=talk) as release:
            _say(release, talk)
            if said["sql"] is not None:
                script = release.script(place.schema or "released", everything=said["sql"] == "all")
                say_of_script(script, said["sql"], talk)
                print_sql(script.text)
                return
            is_tried = said["dry_run"] and not place.in_place
            published = None if is_tried else _published(release, place, said)
            found = release.verified() if published is None else published.verification
            if published is not None:
                with interrupted_after(f"the release is there: {published.destination}"):
                    reported.of_tables(release, published, talk)
        talk.end()
        if published is not None and published.not_remembered is not None:
            talk.warn(f"The ledger does not know of this release: {published.not_remembered}")
    if said["output_format"] == "json":
        print_json(release.summary(published))
        return
    _print_release(release, found, published)
    if published is not None and published.in_place is not None:
        print_in_place(published.in_place.summary())


def _published(release: TablesRelease, place: _Place, said: dict[str, Any]) -> PublishedTables:
    ignore, replaces = said["ignore_ledger"], said["replace_existing"]
    if place.in_place:
        return release.in_place(backup=place.backup, dry_run=said["dry_run"], ignore_ledger=ignore)
    if place.schema is not None:
        return release.to_schema(place.schema, replace=replaces, ignore_ledger=ignore)
    if place.out is not None:
        return release.to_database(place.out, replace=replaces, ignore_ledger=ignore)
    if place.directory is None:
        raise TypeError("A release without a destination is tried only")
    return release.to_directory(place.directory, format_name=said["file_format"] or "csv", ignore_ledger=ignore)


def check_several(context: typer.Context, said: dict[str, Any]) -> None:
    """Tell whether tables keep the promise of a policy of several tables: ``kanon check`` with such a policy."""
    _require_known(context, _CHECK)
    policy = _over(read_tables_policy(said["policy_file"]), said)
    from kanon_sql.evidence.tables import check_tables

    found = check_tables(said["source"], policy, schema=said["schema"])
    end_with(found, lambda found: _print_check(found, policy), said["output_format"], failed=not found.holds)


def attack_several(context: typer.Context, said: dict[str, Any]) -> TablesAttacked:
    """Attack the released tables of a policy of several tables: ``kanon attack`` with such a policy."""
    _require_known(context, _ATTACK)
    policy = _over(read_tables_policy(said["policy_file"]), said)
    from kanon_sql.evidence.tables_attack import attack_tables

    with Talk(quiet=said["quiet"], verbose=said["verbose"]) as talk:
        return attack_tables(said["source"], policy, schema=said["schema"], original=said["original"], progress=talk)


def _require_known(context: typer.Context, known: frozenset[str]) -> None:
    if others := [option for name, option in given_options(context).items() if name not in known]:
        raise UsageError(f"{others[0]} is not for a policy of several tables: settings of a table are in its file.")


def _over(policy: TablesPolicy, said: dict[str, Any]) -> TablesPolicy:
    given = {name: said[name] for name in OF_TABLES if name not in _PLACES and said.get(name) is not None}
    return replace(policy, **{**given, "time_zone": zone_in_force()})


@dataclass(frozen=True)
class _Place:
    """Where a release goes: at most one of these; and where the file is copied to that it takes the place of."""

    schema: str | None
    out: Path | None
    directory: Path | None
    in_place: bool
    backup: Backup = None

    def __post_init__(self) -> None:
        if sum((self.schema is not None, self.out is not None, self.directory is not None, self.in_place)) > 1:
            raise UsageError("A release goes to one place: give one of --into-schema, --out, --out-dir and --in-place.")

    @property
    def is_given(self) -> bool:
        return self != _Place(None, None, None, in_place=False)


def _destination(policy: TablesPolicy, said: dict[str, Any]) -> _Place:
    place = _Place(said["into_schema"], said["out"], said["out_dir"], said["in_place"])
    if not place.is_given:
        place = _Place(policy.into_schema, policy.out, policy.out_directory, policy.in_place)
    backup: Backup = False if said["no_backup"] else said["backup"]
    if not place.in_place:
        if backup is not None:
            raise UsageError(NO_BACKUP_ELSEWHERE)
        return place
    if said["sql"] is not None:
        raise UsageError("--sql shows how the tables of a schema are made: give --into-schema NAME, and no --in-place.")
    if said["report_file"] is not None:
        from kanon_sql.evidence.report.tables import NO_REPORT_IN_PLACE

        raise UsageError(NO_REPORT_IN_PLACE)
    place = replace(place, backup=policy.backup if backup is None else backup)
    decided_backup(place.backup)
    return place


def _say(release: TablesRelease, talk: Talk) -> None:
    for one in release.counts:
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


def _print_release(release: TablesRelease, verification: TablesVerification, published: PublishedTables | None) -> None:
    place = "made and verified, written nowhere" if published is None else visible(published.destination)
    print_prose(f"{visible(release.opened.place)} -> {place}")
    levels = [
        (one.name, column, level, height)
        for one in release.counts
        for (column, level), height in zip(one.levels.items(), _heights(release, one.name), strict=True)
    ]
    print_table(["table", "column", "level", "of"], levels)
    rows = [(one.name, one.rows, one.rows_in, one.rows_out, one.suppressed, one.of_nobody) for one in release.counts]
    print_table(["table", "rows are", "in", "out", "suppressed", "of nobody"], rows)
    proof = "proven optimal" if release.optimal else f"at most {release.gap:.1%} more than the least there is"
    print_pairs(
        [
            ("people", f"{release.people_in:,} in, {release.people_out:,} out"),
            *_promises(verification),
            ("loss", f"{release.loss:.4f}, {proof}"),
            ("seconds", f"{sum(release.seconds.values()):.1f}"),
        ]
    )


def _heights(release: TablesRelease, name: str) -> list[int]:
    return [hierarchy.height for hierarchy in release.opened.member(name).hierarchies]


def _promises(verification: TablesVerification) -> list[tuple[str, str]]:
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


def _print_check(found: TablesVerification, policy: TablesPolicy) -> None:
    where = "" if found.schema is None else f" in schema {visible(found.schema)}"
    promise = f"the promise of the policy (k = {policy.k:,}, km = {policy.km})"
    if found.holds or found.fails:
        print_prose(f"The tables{where} {'keep' if found.holds else 'do NOT keep'} {promise}.")
    else:
        print_prose(f"That the tables{where} keep {promise} IS NOT VERIFIED.")
    print_pairs(_promises(found))
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
        "Nothing is promised of what is known of more events, of how many events a person has, or of columns that are "
        "no quasi-identifiers."
    )
