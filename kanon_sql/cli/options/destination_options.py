"""Options of ``kanon anonymize`` for the places of a release, its policy and its report, and their checks."""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.cli.options.shared import STANDARD, given_options, of_setting, option, setting_option, with_options
from kanon_sql.engine.capabilities import require_options
from kanon_sql.engine.files import is_in_private_directory, private_directory
from kanon_sql.engine.progress import Progress
from kanon_sql.engine.sources.layout import DELIMITER_BY_SUFFIX
from kanon_sql.errors import NOTHING_WRITTEN, KanonError, SourceError, UsageError
from kanon_sql.policy.destination import DESTINATION, OF_CSV, Destination
from kanon_sql.policy.policy import write_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kanon_sql.cli.output.diagnostics import Talk
    from kanon_sql.engine.sources.open_source import Source
    from kanon_sql.evidence.report.written import Report
    from kanon_sql.policy.policy import Policy
    from kanon_sql.release.publish.publisher import Published
    from kanon_sql.release.release import Release
    from kanon_sql.release.tables.anonymize import TablesRelease
    from kanon_sql.release.tables.publish import PublishedTables

IntoOption = Annotated[str | None, of_setting(DESTINATION["into"])]
OutOption = Annotated[Path | None, of_setting(DESTINATION["out"])]
BackupOption = Annotated[Path | None, of_setting(DESTINATION["backup"])]
_BESIDE_SETTINGS = {
    "no_backup": Annotated[bool, typer.Option("--no-backup", help="With --in-place: keep no copy of the raw rows.")],
    "into_schema": Annotated[
        str | None,
        option(
            "--into-schema",
            "NAME",
            "Of a policy of several tables: put the released tables into this schema of the database.",
            hidden=True,
        ),
    ],
    "out_dir": Annotated[
        Path | None,
        option(
            "--out-dir",
            "DIR",
            "Of a policy of several tables: write a file for each table into this new directory.",
            hidden=True,
        ),
    ],
    "file_format": Annotated[
        Literal["csv", "parquet"] | None,
        typer.Option("--file-format", hidden=True, help="Of the files of --out-dir (default: csv)."),
    ],
}
DryRunOption = Annotated[
    bool, typer.Option("--dry-run", help="Make and verify the release, print all figures, write nothing.")
]


def with_destination(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a destination, except --replace, to a command; it receives them as ``place``."""
    said = {name: one for name, one in DESTINATION.items() if name != "replace"}
    options = {name: setting_option(one) for name, one in said.items()} | _BESIDE_SETTINGS
    defaults = {name: False for name, one in said.items() if one.takes is bool} | {"no_backup": False}

    def call(added: dict[str, Any], given: dict[str, Any]) -> None:
        command(**given, place=added)

    return with_options(command, options, call, ("place",), after="table", defaults=defaults)


def instead_of_stdout(context: typer.Context, out: Path | None) -> Path | None:
    """Return the path of an output file; for stdout, a private file in which the release is verified first."""
    if out is None or str(out) != STANDARD:
        return out
    given = given_options(context)
    for name in ("sql", "report_file"):
        if name in given:
            raise UsageError(f"{given[name]} is not for a release that goes to stdout: name a file after --out.")
    if context.params["output_format"] == "json":
        raise UsageError("--format json goes to stdout, as the release does: name a file after --out.")
    private = private_directory(Path(tempfile.gettempdir()))
    context.call_on_close(private.remove)
    return private.path / "stdout.csv"


def _goes_to_stdout(destination: Destination) -> bool:
    return destination.out is not None and is_in_private_directory(destination.out)


def what_is_there(destination: Destination, published: Published) -> str:
    """Return the message for an interrupt after a release was published."""
    if destination.dry_run:
        return NOTHING_WRITTEN
    if _goes_to_stdout(destination):
        return "the release went to stdout, whole or in part"
    return f"the release is there: {published.destination}"


def sent_to_stdout(destination: Destination, published: Published) -> Published:
    """Write a verified release to stdout if that is its destination."""
    if destination.out is None or not _goes_to_stdout(destination):
        return published
    if not destination.dry_run:
        with destination.out.open("rb") as release:
            shutil.copyfileobj(release, sys.stdout.buffer)
        sys.stdout.flush()
    return replace(published, destination="stdout")


@contextmanager
def figures_apart(destination: Destination, *, quiet: bool) -> Iterator[None]:
    """Redirect output to stderr, or with ``quiet`` discard it, if the release goes to stdout."""
    with ExitStack() as stack:
        if _goes_to_stdout(destination):
            stack.enter_context(redirect_stdout(io.StringIO() if quiet else sys.stderr))
        yield


def asked_destination(
    in_file: Destination, place: Mapping[str, Any], *, dry_run: bool, replace_existing: bool, policy_file: Path | None
) -> Destination:
    """Return the destination of the release: the policy file, overridden by the command line."""
    said: dict[str, Any] = {}
    if place["into"] is not None:
        said |= {"out": None, "in_place": False, "backup": None}
    if place["out"] is not None:
        said |= {"into": None, "in_place": False, "backup": None, "lock": None}
    if place["in_place"]:
        said |= {"into": None, "out": None, "lock": None}
    given = {name: value for name, value in place.items() if name in DESTINATION}
    given |= {"backup": False if place["no_backup"] else place["backup"]}
    given |= {"dry_run": dry_run, "replace": replace_existing}
    said |= {
        name: value for name, value in given.items() if value or (name, value) in {("backup", False), ("into", "")}
    }
    # A CSV setting of the policy does not apply to another destination on the command line.
    file = said.get("out", in_file.out)
    if file is None or file.suffix.lower() not in DELIMITER_BY_SUFFIX:
        said = {**{name: DESTINATION[name].default for name in OF_CSV}, **said}
    destination = replace(in_file, **said)
    if policy_file is not None:
        from kanon_sql.engine.keys import require_apart

        written = [destination.out, destination.backup or None]
        require_apart(policy_file, written, "a file that is written", "the policy")
    if destination.into is not None and not destination.into.strip():
        raise UsageError("The name of the release is empty: give one after --into.")
    if place["kind"] is not None and destination.into is None:
        raise UsageError("--as says what --into makes: give --into NAME too, or leave it out.")
    return destination


def check_policy_file(path: Path, others: list[Path | None], *, replace_existing: bool) -> None:
    """Raise an error for an invalid policy file before any work is done."""
    if not path.parent.is_dir():
        raise SourceError(f"The directory {path.parent}, where --save-policy should write, does not exist.")
    if path.is_dir():
        raise SourceError(f"{path} is a directory: say after --save-policy which file in it.")
    if any(other is not None and other.resolve() == path.resolve() for other in others):
        raise UsageError(f"{path} cannot be the policy too: give another name after --save-policy.")
    if path.exists() and not replace_existing:
        raise UsageError(f"{path} exists already: give another name after --save-policy, or replace it (--replace).")


def save_policy_as(policy: Policy, destination: Destination, path: Path) -> None:
    """Write a policy atomically, after the release exists."""
    try:
        write_policy(policy, Destination() if _goes_to_stdout(destination) else destination, path)
    except SourceError as error:
        raise SourceError(f"The release is there. {error}") from None


def check_key_file(policy: Policy, destination: Destination, save_policy: Path | None) -> None:
    """Raise an error if pseudonyms or rules of columns cannot be applied, before any work is done."""
    if policy.key_file is not None:
        from kanon_sql.engine.keys import require_apart

        require_apart(policy.key_file, [destination.out], "the release")
        require_apart(policy.key_file, [destination.backup or None], "the backup")
        require_apart(policy.key_file, [save_policy], "the policy")
    if policy.columns.pseudonymize and destination.into is not None and destination.kind == "view":
        from kanon_sql.release.statements.view import NO_VIEW_OF_PSEUDONYMS

        raise UsageError(NO_VIEW_OF_PSEUDONYMS)
    if policy.publish and destination.into is not None and destination.kind != "table":
        from kanon_sql.release.statements.view import NO_VIEW_OF_RULES

        raise UsageError(NO_VIEW_OF_RULES)


AskedByOption = Annotated[
    str | None, option("--asked-by", "TEXT", "Who asked for the release; printed in the report.", hidden=True)
]


@dataclass(frozen=True)
class HoldOutRequest:
    """The held-out rows that the command line requests: their share and their file."""

    share: float | None
    file: Path | None
    replace: bool

    def __post_init__(self) -> None:
        if (self.share is None) != (self.file is None):
            raise UsageError(
                "--hold-out SHARE keeps people out of the release, and --control FILE is where their rows go as they "
                "are: give both, or neither."
            )

    def rest_of(self, source: Source, policy: Policy, others: list[Path | None]) -> Source:
        """Return a table without the held-out rows. Their file must be writable and not one of ``others``."""
        if self.share is None or self.file is None:
            return source
        from kanon_sql.release.hold_out import check_control_file, held_out

        check_control_file(source, self.file, others, replace=self.replace)
        return held_out(source, policy, self.share)


@dataclass(frozen=True)
class ReportRequest:
    """The report that the command line requests; none without a ``file``."""

    file: Path | None
    asked_by: str | None
    replace: bool

    def check(self, others: list[str | Path | None]) -> None:
        """Raise an error for an invalid report before any work is done."""
        if self.file is None:
            if self.asked_by is not None:
                raise UsageError("--asked-by is printed in a report: give --report FILE too, or leave it out.")
            return
        from kanon_sql.evidence.report.written import check_report

        require_own_file(self.file, others)
        check_report(self.file, replace=self.replace)

    def before(self, release: Release, destination: Destination, talk: Talk) -> Report | None:
        """Measure a release before publication as far as needed: completely, if it replaces its table."""
        if self.file is None or not destination.in_place:
            return None
        from kanon_sql.evidence.report.gather import report_of

        return report_of(release, asked_by=self.asked_by, progress=talk)

    def after(
        self,
        release: Release,
        source: str,
        destination: Destination,
        published: Published,
        draft: Report | None,
        talk: Talk,
    ) -> None:
        """Write the report of a published release; if that fails, the error mentions that the release exists."""
        if self.file is None:
            return
        from kanon_sql.evidence.report.reporter import report_in_place, report_published

        with _said_to_be_there():
            if draft is not None and published.in_place is not None:
                found = report_in_place(draft, release, destination, published.in_place.file)
            else:
                found = report_published(release, source, destination, asked_by=self.asked_by, progress=talk)
            found.write(self.file, replace=self.replace)

    def of_tables(self, release: TablesRelease, published: PublishedTables, talk: Talk) -> None:
        """Write the report of several published tables, as ``after`` does."""
        if self.file is None:
            return
        from kanon_sql.evidence.report.tables import report_tables

        talk(Progress("Counting who is found"))
        with _said_to_be_there():
            report_tables(release, published, asked_by=self.asked_by).write(self.file, replace=self.replace)


@contextmanager
def _said_to_be_there() -> Iterator[None]:
    """Add to the error of a report that the release exists."""
    try:
        yield
    except KanonError as error:
        raise type(error)(f"The release is there; the report is not: {error}") from None


def require_own_file(out: Path, others: list[str | Path | None]) -> None:
    """Raise an error if the file for a report is one of its inputs."""
    for other in others:
        if other is not None and Path(other).resolve() == out.resolve():
            raise UsageError(f"{out} cannot be the report too: give it another name.")


def is_of_several(context: typer.Context, policy_file: Path | None) -> bool:
    """Return True if a policy file is for several tables. Raises an error for options that do not suit the policy."""
    several = False
    if policy_file is not None:
        from kanon_sql.policy.tables import has_tables

        several = has_tables(policy_file)
    require_options(given_options(context), context.command.name or "", several=several)
    return several
