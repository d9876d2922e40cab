"""Options that several commands share, decorators that add them to a command, and options that exclude each other."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.classes.recoding import Choose, Cut, Numbers, Texts
from kanon_sql.cli.options.keys import SetOption
from kanon_sql.cli.output import diagnostics
from kanon_sql.cli.output.diagnostics import Talk
from kanon_sql.cli.output.output import print_json
from kanon_sql.engine.duckdb.connection import Resources, using
from kanon_sql.engine.files import copied_stream, is_in_private_directory
from kanon_sql.engine.sources.encodings import PACKED
from kanon_sql.engine.sources.layout import READERS, READERS_OF, Layout, layout_of_texts, reading_as
from kanon_sql.engine.time_zones import UTC, computing_in
from kanon_sql.errors import KanonError, UsageError
from kanon_sql.models.options import model_options
from kanon_sql.policy.algorithms import Choice
from kanon_sql.policy.destination import OF_CSV
from kanon_sql.policy.policy import SETTINGS, Count, Measure, time_zone_of

if TYPE_CHECKING:
    from kanon_sql.engine.base import Engine
    from kanon_sql.policy.settings import Setting

# Shell completion for TAB: the tables of a database, the columns of a table. It only reads. A source that cannot be
# opened completes nothing: a shell cannot show an error, and the command reports it later.


def complete_tables(context: typer.Context, incomplete: str) -> list[str]:
    """Return the tables of SOURCE that start with the typed text."""
    from kanon_sql.engine.sources.open_source import is_database, open_database
    from kanon_sql.sql import build as sql

    source = context.params.get("source")
    try:
        if source is None or not is_database(Path(source)):
            return []
        with open_database(Path(source), writable=False) as engine:
            found = [name for _, _, name, *_ in engine.rows(sql.statement("catalog/tables"), "tables of the database")]
    except KanonError:
        return []
    return [name for name in found if name.startswith(incomplete)]


def complete_columns(context: typer.Context, incomplete: str) -> list[str]:
    """Return lists of columns of the table that complete the typed text: ``a``, or ``a,b`` after ``a,``."""
    before, comma, last = incomplete.rpartition(",")
    named = before.split(",")
    return [f"{before}{comma}{name}" for name in _columns(context) if name.startswith(last) and name not in named]


def _columns(context: typer.Context) -> list[str]:
    from kanon_sql.engine.sources.addresses import is_remote
    from kanon_sql.engine.sources.open_source import open_source

    # Behind an option that waits for its value, earlier arguments are still unparsed, in args.
    unread = [*context.args, None, None]
    source = context.params.get("source") or unread[0]
    if source is None or is_remote(source):
        return []
    try:
        with reading_as(_layout(context.params), lambda _: None):
            opened = open_source(source, context.params.get("table") or unread[1])
    except KanonError:
        return []
    with opened.engine:
        return [found.name for found in opened.columns]


Context = typer.Context


def option(name: str, metavar: str, about: str, **more: Any) -> Any:  # noqa: ANN401 - a type of typer
    """Return an option with a value; a shell completes the names of columns."""
    complete = complete_columns if metavar == "COLUMN" else None
    return typer.Option(name, metavar=metavar, help=about, autocompletion=complete, **more)


Format = Literal["table", "json"]
DialectName = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake", "databricks"]

_SOURCE = (
    "A DuckDB, SQLite or data file (CSV, Parquet, JSON, Excel), a directory or pattern of files, an address "
    "(postgresql://, spark:, sc://, s3://, https:// ...), or - for CSV or JSON from stdin."
)
STANDARD = "-"
"""Means stdin as a source, and stdout as a file."""


def _from_stdin(context: typer.Context, source: str | None) -> str | None:
    """Return a source; stdin is copied to a private file, which is deleted after the command."""
    if source != STANDARD or context.resilient_parsing:
        return source
    if sys.stdin is None:
        raise UsageError("There is no stdin to read: name a file instead of -.")
    private, file = copied_stream(sys.stdin.buffer, "stdin")
    context.call_on_close(private.remove)
    return str(file)


SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help=_SOURCE, show_default=False, callback=_from_stdin)
]
NamedSourceArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help=f"{_SOURCE} Optional if the policy file names it.",
        show_default=False,
        callback=_from_stdin,
    ),
]
DpSourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A DuckDB file; Parquet files; a warehouse: postgresql://, spark:, sc://; or another address: "
        "s3://, https://. CSV, JSON and Excel are refused: the types of their columns are guessed from the values.",
        show_default=False,
    ),
]
TableArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TABLE",
        help="The table in a database, or the sheet of an Excel file; optional if there is only one.",
        show_default=False,
        autocompletion=complete_tables,
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="Format of the results on stdout.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing on stderr except errors.")]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="Print each statement on stderr.")]
SqlOption = Annotated[bool, typer.Option("--sql", help="Print the SQL and change nothing.")]
DialectOption = Annotated[
    DialectName,
    typer.Option(
        "--dialect",
        metavar="DIALECT",
        show_default=False,
        help="duckdb, postgres, spark, databricks, snowflake or bigquery.",
    ),
]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Replace what has that name already.")]
IdOption = Annotated[
    list[str] | None, option("--id", "COLUMN", "Identifying columns, never published: a,b; or repeat the option.")
]
QiOption = Annotated[
    list[str] | None, option("--qi", "COLUMN", "Columns that identify people together; releases generalize them.")
]
KeepOption = Annotated[
    list[str] | None, option("--keep", "COLUMN", "Columns published as they are, even if they look identifying.")
]
SensitiveOption = Annotated[
    list[str] | None,
    option("--sensitive", "COLUMN", "Columns whose values nobody may learn; published unchanged."),
]
PseudonymizeOption = Annotated[
    list[str] | None,
    option(
        "--pseudonymize",
        "COLUMN",
        "Identifying, and published as pseudonyms: a keyed hash of each value, which ties the rows of a person.",
        hidden=True,
    ),
]
PrepareOption = Annotated[
    list[str] | None,
    option(
        "--prepare",
        "COLUMN=RULE",
        "What happens to a column of the original before all else: trim  lower  null:-9,NA  decimal:,  "
        "date:%d.%m.%Y  cast:BIGINT, in the order given; or a new column, by an expression over the others.",
        hidden=True,
    ),
]
HierarchyOption = Annotated[
    list[str] | None,
    option("--hierarchy", "COLUMN=FILE", "Hierarchy of a column: a file, or a rule such as mask or flat."),
]
LevelsOption = Annotated[
    list[str] | None,
    option("--levels", "COLUMN=LEVEL", "Levels that the search may choose: zip=1 (only 1), zip=..2 (0 to 2)."),
]
WeightOption = Annotated[
    list[str] | None,
    option("--weight", "COLUMN=WEIGHT", "How much the loss of a column counts (default: 1): zip=3.", hidden=True),
]
HierarchiesOption = Annotated[
    Path | None, option("--hierarchies", "DIR", "Directory with hierarchy files named like their columns.")
]
PublishOption = Annotated[
    list[str] | None,
    option(
        "--publish",
        "COLUMN=RULE",
        "How a column that is kept is published: round:100  top:90  bottom:18  bins:0,18,65  microaggregate:5  "
        "shift-dates:365  redact  hash. No privacy model counts on it.",
        hidden=True,
    ),
]
OriginalOption = Annotated[
    str | None,
    option("--original", "TABLE|FILE", "The original of the release: a table of the same database, or a file."),
]
OriginalTableOption = Annotated[
    str | None, option("--original-table", "TABLE", "The table, where --original is another database.")
]
SchemaOption = Annotated[
    str | None, option("--schema", "NAME", "Of a policy of several tables: the schema that has the released tables.")
]
UtilityOption = Annotated[
    bool,
    typer.Option(
        "--utility", help="Measure the value left for analysis: marginals, queries, what models learn (extra: utility)."
    ),
]
TargetOption = Annotated[
    str | None,
    option("--target", "COLUMN", "With --utility: a column that a model predicts, from release and original."),
]
SpreadOption = Annotated[
    str | None,
    option(
        "--spread",
        "even|marginal",
        "With --utility: how rows of a label are spread over the values that it stands for (default: even).",
    ),
]
PolicyOption = Annotated[
    Path | None, option("--policy", "FILE", "A kanon.toml; command-line options override it, roles add to it.")
]
StandardOption = Annotated[
    list[str] | None,
    option(
        "--standard",
        "NAME",
        "A standard whose rules are checked one by one: hipaa-safe-harbor, ema-0070, wp216, nist-800-188, "
        "cells-11, or gbt-42460:public, :controlled or :enclave. Repeatable.",
    ),
]
KOption = Annotated[
    int | None, typer.Option("-k", help="The smallest class that may be published (default: 5).", show_default=False)
]
EntityOption = Annotated[
    str | None, option("--entity", "COLUMN", "Column that identifies the person: k counts people, not rows.")
]


def of_setting(one: Setting) -> Any:  # noqa: ANN401 - a type of typer
    about = one.about if not one.default else f"{one.about.removesuffix('.')} (default: {one.default})."
    option = OF_CSV.get(one.name, one.option)
    return typer.Option(option, metavar=one.metavar, help=about, hidden=not one.is_shown)


def setting_option(one: Setting) -> Any:  # noqa: ANN401 - a type of typer
    """Return the annotation of the option of a setting, with its type."""
    return Annotated[(Literal[one.takes] if isinstance(one.takes, tuple) else one.takes) | None, of_setting(one)]


# For commands without a policy of their own.
CountOption = Annotated[Count | None, of_setting(SETTINGS["count"])]
MeasureOption = Annotated[Measure | None, of_setting(SETTINGS["measure"])]
ChoiceOption = Annotated[Choice | None, of_setting(SETTINGS["choice"])]
ChooseOption = Annotated[Choose | None, of_setting(SETTINGS["choose"])]
CutOption = Annotated[Cut | None, of_setting(SETTINGS["cut"])]
LabelsOption = Annotated[Texts | None, of_setting(SETTINGS["labels"])]
NumbersOption = Annotated[Numbers | None, of_setting(SETTINGS["numbers"])]
PairsOption = Annotated[int | None, of_setting(SETTINGS["pairs"])]

# Options that a decorator adds to a command, declared once for all commands that have them.


def with_options(
    command: Callable[..., None],
    options: Mapping[str, Any],
    call: Callable[[dict[str, Any], dict[str, Any]], None],
    gathered: tuple[str, ...] = (),
    after: str | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Callable[..., None]:
    """Return a command with more options.

    Args:
        command: the command.
        options: annotations for typer, by parameter; each value is None if it is not given, or its default.
        call: called with the values of these options, and with the other parameters of the command.
        gathered: parameters of the command that ``call`` fills and that are not options.
        after: the parameter of the command after which they appear in its help; None: the last one.
        defaults: by parameter, its value if it is not given.
    """

    @wraps(command)
    def extended(**given: Any) -> None:  # noqa: ANN401 - the parameters of any command
        call({name: given.pop(name) for name in options}, given)

    own = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=(defaults or {}).get(name), annotation=option)
        for name, option in options.items()
    ]
    kept = {
        name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in own.parameters.items()
        if name not in gathered
    }
    place = len(kept) if after is None else [*kept].index(after) + 1
    parameters = [*[*kept.values()][:place], *added, *[*kept.values()][place:]]
    extended.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]  # what typer reads
    extended.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return extended


_RESOURCES = {
    "memory_limit": Annotated[
        str | None,
        option(
            "--memory-limit",
            "SIZE",
            "Memory of the database, such as 300MB or 2GiB (default: 80 % of the machine's).",
            hidden=True,
        ),
    ],
    "threads": Annotated[int | None, option("--threads", "N", "Threads (default: one for each core).", hidden=True)],
    "temp_dir": Annotated[
        Path | None,
        option(
            "--temp-dir",
            "DIR",
            "Where what does not fit in memory goes, in a private directory (default: beside a DuckDB file, else "
            "the system's).",
            hidden=True,
        ),
    ],
}


def with_set(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--set``, which sets the other options, to a command."""
    after = "policy_file" if "policy_file" in inspect.signature(command).parameters else None
    return with_options(command, {"settings": SetOption}, lambda _, given: command(**given), after=after)


def with_resources(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for resources to a command; they apply to everything that it opens."""

    def call(added: dict[str, Any], given: dict[str, Any]) -> None:
        with using(Resources(**added)):
            command(**given)

    return with_options(command, _RESOURCES, call)


def with_time_zone(command: Callable[..., None]) -> Callable[..., None]:
    """Run a command in the time zone of its option, or of the policy file if it reads one."""
    if "policy_file" not in inspect.signature(command, eval_str=True).parameters:
        return command

    def call(added: dict[str, Any], given: dict[str, Any]) -> None:
        path = given["policy_file"]
        with computing_in(added["time_zone"] or (UTC if path is None else time_zone_of(path))):
            command(**given)

    return with_options(command, {"time_zone": setting_option(SETTINGS["time_zone"])}, call)


_LAYOUT = {
    "read": Annotated[
        list[str] | None,
        option("--read", "KEY=VALUE", "Layout of the file: delim=tab, header=false, encoding=cp1252 ..."),
    ],
    "read_encoding": Annotated[
        str | None, option("--encoding", "NAME", "The same as --read encoding=NAME.", hidden=True)
    ],
    "read_decimal": Annotated[
        str | None,
        option("--decimal", "SIGN", "The same as --read decimal_separator=SIGN: point or comma.", hidden=True),
    ],
}


def _layout(given: Mapping[str, Any]) -> Layout:
    spelt = Layout(encoding=given.get("read_encoding"), decimal_separator=given.get("read_decimal"))
    return spelt.over(layout_of_texts(given.get("read")))


def with_layout(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the layout of files to a command whose SOURCE may be a file.

    They apply to the original if a command names one, otherwise to SOURCE. Encoding and decimal sign apply to files
    beside it too, if these are not UTF-8.
    """
    source = inspect.signature(command, eval_str=True).parameters.get("source")
    if source is None or source.annotation not in {SourceArgument, NamedSourceArgument}:
        return command

    def call(added: dict[str, Any], given: dict[str, Any]) -> None:
        layout = _layout(added)
        named = [str(given[name]) for name in ("source", "original", "population") if given.get(name) is not None]
        for key in layout.stated if given["source"] is not None else ():
            if not any(_may_be(one, layout, key) for one in named):
                raise UsageError(f"{given['source']} is no file that {key} is for: leave --read {key}=... out.")
        with reading_as(layout, (lambda _: None) if given.get("quiet") else diagnostics.note):
            command(**given)

    return with_options(command, _LAYOUT, call)


def _may_be(source: str, layout: Layout, key: str) -> bool:
    """Return True if a key may apply to a source as a file; for a directory or a pattern, that is not known yet."""
    if key == "format":
        return True
    suffixes = [suffix.lower() for suffix in Path(source).suffixes if suffix.lower() not in PACKED]
    reader = READERS.get(layout.suffix or "".join(suffixes[-1:]))
    return reader in READERS_OF[key] or (reader is None and (Path(source).is_dir() or "*" in source))


RequestedModels = Mapping[str, list[str] | str | None]
"""The typed values of privacy models beyond k, by the names in ``kanon_sql.models.options``."""


def with_models(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for privacy models, generated from the declaration of each model, to a command.

    The command receives ``models``, the typed values, and the ``population`` that some models compare with.
    """
    options = {}
    for declared in model_options().values():
        for one in (declared, declared.variant):
            if one is not None:
                is_shown = declared.is_shown and one is declared
                options[one.name] = _model_option(
                    one.name, one.metavar, one.text, of_columns=declared.names_column, is_shown=is_shown
                )
    text = "The population that the table is a part of, with the same columns."
    options["population"] = _model_option("population", "TABLE|FILE", text, of_columns=False)

    def call(added: dict[str, Any], given: dict[str, Any]) -> None:
        population = added.pop("population")
        command(**given, models=added, population=population)

    after = "k" if "k" in inspect.signature(command).parameters else None
    return with_options(command, options, call, ("models", "population"), after=after)


def _model_option(name: str, metavar: str, text: str, *, of_columns: bool, is_shown: bool = False) -> Any:  # noqa: ANN401 - a type of typer
    """Return an option; one that may name a column can be repeated."""
    option = typer.Option(
        f"--{name.replace('_', '-')}",
        metavar=f"[COLUMN=]{metavar}" if of_columns else metavar,
        help=text,
        hidden=not is_shown,
    )
    return Annotated[list[str] | None, option] if of_columns else Annotated[str | None, option]


# Options that would be ignored are refused.


def check_options(context: typer.Context, apart: Mapping[tuple[str, str], str] | None = None) -> None:
    """Raise an error for options of a command that exclude each other.

    Args:
        context: context of the command, with the usual parameter names: sql, dialect, output_format, quiet, verbose.
        apart: further pairs of parameters that exclude each other, and the reason.
    """
    parameters = context.params
    if parameters["quiet"] and parameters["verbose"]:
        raise UsageError("-q says nothing and -v says more: leave one of them out.")
    if parameters["sql"] and parameters["output_format"] == "json":
        raise UsageError("--sql prints SQL, which is no JSON: leave --format json out, or --sql.")
    if parameters["sql"] and is_in_private_directory(parameters.get("source") or ""):
        raise UsageError("--sql names the file that a table is read from, and stdin is none: name a file instead of -.")
    if not parameters["sql"] and parameters["dialect"] not in {None, "duckdb"}:
        raise UsageError("--dialect is for the SQL that --sql prints: add --sql, or leave --dialect out.")
    given = given_options(context)
    for (one, other), reason in (apart or {}).items():
        if one in given and other in given:
            raise UsageError(f"{given[one]} and {given[other]} do not go together: {reason}.")


def given_options(context: typer.Context) -> dict[str, str]:
    """Return the parameters given on the command line or by ``--set``, each with its longest option."""
    return {
        parameter.name: max(parameter.opts, key=len)
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.name != "settings"  # --set gives values of other parameters
        and (source := context.get_parameter_source(parameter.name)) is not None
        and source.name in {"COMMANDLINE", "DEFAULT_MAP"}
    }


OUTPUT: dict[str, Any] = {
    "sql": SqlOption,
    "dialect": DialectOption,
    "output_format": FormatOption,
    "quiet": QuietOption,
    "verbose": VerboseOption,
}
OUTPUT_DEFAULTS: dict[str, Any] = {
    "sql": False,
    "dialect": "duckdb",
    "output_format": "table",
    "quiet": False,
    "verbose": False,
}


@dataclass(frozen=True)
class Output:
    sql: Any
    dialect: str
    output_format: Format
    quiet: bool
    verbose: bool

    @property
    def is_json(self) -> bool:
        return self.output_format == "json"

    def show(self, plain: Any, print_found: Callable[..., None], *found: Any) -> None:  # noqa: ANN401 - plain values
        """Print a result: as JSON, or with a function for people."""
        if self.is_json:
            print_json(plain)
        else:
            print_found(*found)

    def talk(self, engine: Engine | None = None) -> Talk:
        """Return the messages of the command on stderr while an engine works."""
        return Talk(engine, quiet=self.quiet, verbose=self.verbose)


def with_output(
    apart: Mapping[tuple[str, str], str] | None = None,
    **own: Any,  # noqa: ANN401 - a type of typer
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds --sql, --dialect, --format, -q and -v to a command, as ``output``.

    Options that exclude each other are refused; ``apart`` has further ones (see ``check_options``). ``own`` are options
    of the command that replace these.
    """

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        def call(added: dict[str, Any], given: dict[str, Any]) -> None:
            check_options(given["context"] if has_context else added.pop("context"), apart)
            command(**given, output=Output(**added))

        has_context = "context" in inspect.signature(command).parameters
        options = {**OUTPUT, **own} if has_context else {**OUTPUT, **own, "context": typer.Context}
        return with_options(command, options, call, ("output",), defaults=OUTPUT_DEFAULTS | dict.fromkeys(own))

    return extended
