"""Options that several commands share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.classes.cutting import Choose, Cut, Numbers, Texts
from kanon_sql.cli.options import completion
from kanon_sql.engine.columns import find_column, split_names
from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.ready import READY
from kanon_sql.hierarchy.rules.prefix_file import PrefixRule
from kanon_sql.hierarchy.spec import FileRule, parse_rule
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.policy.policy import DEFAULT_MAX_SUPPRESSED, Count, Measure
from kanon_sql.policy.requirements import REQUIREMENTS, parse_requirement, replacing, require_one_each, with_distances
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.models.base import PrivacyModel
    from kanon_sql.policy.policy import Policy
    from kanon_sql.policy.roles import NamedColumns

_ROLES = ("identifying", "quasi_identifiers", "sensitive", "insensitive", "pseudonymize")

Format = Literal["table", "json"]
DialectName = Literal[
    "duckdb",
    "postgres",
    "spark",
    "bigquery",
    "snowflake",
    "databricks",
    "trino",
    "clickhouse",
    "tsql",
    "sqlserver",
]

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A DuckDB file; a data file (CSV, Parquet, JSON), or a directory or pattern of several; an SQLite file; "
        "a warehouse: postgresql://, spark:, sc://; or another address: mysql://, duckdb+postgresql://, s3://, gs://, "
        "r2://, az://, abfss://, hf://, https://.",
        show_default=False,
    ),
]
TableArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TABLE",
        help="The table in a database; may be left out where there is one only.",
        show_default=False,
        autocompletion=completion.tables,
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How results are printed on stdout.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing on stderr but errors.")]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="Say on stderr which statement is run.")]
SqlOption = Annotated[bool, typer.Option("--sql", help="Print the SQL and change nothing.")]
DialectOption = Annotated[
    DialectName,
    typer.Option("--dialect", help="The dialect of the SQL that is printed; tsql and sqlserver are the same."),
]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Replace what has that name already.")]
IdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        autocompletion=completion.columns,
        help="Identifying: never published. Repeat it, or separate columns by commas.",
    ),
]
QiOption = Annotated[
    list[str] | None,
    typer.Option(
        "--qi",
        metavar="COLUMN",
        autocompletion=completion.columns,
        help="Quasi-identifying: could tell, together, who a row is about; generalized.",
    ),
]
SensitiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive",
        metavar="COLUMN",
        autocompletion=completion.columns,
        help="Must not be learned about a person; published as it is.",
    ),
]
PseudonymizeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pseudonymize",
        metavar="COLUMN",
        autocompletion=completion.columns,
        help="Identifying, and published as pseudonyms: a keyed hash of each value, which ties the rows of a person.",
    ),
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        help="The key of pseudonyms, 16 bytes or more; without it a key is drawn for this release alone.",
    ),
]
HierarchyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=FILE",
        help="The hierarchy of a column: a file, or a rule such as intervals:5,10,20  mask  date:month,year  "
        "round:1,2  flat  ready:us_state  prefix:3:FILE.",
    ),
]
HierarchiesOption = Annotated[
    Path | None,
    typer.Option("--hierarchies", metavar="DIR", help="Hierarchy files <column>.csv or *_hierarchy_<column>.csv."),
]
ORIGINAL = typer.Option(
    "--original", metavar="TABLE|FILE", help="What it was made from: a table of the same database, or a file."
)
OriginalOption = Annotated[str | None, ORIGINAL]
OriginalTableOption = Annotated[
    str | None,
    typer.Option("--original-table", metavar="TABLE", help="The table, where --original is another database."),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="A kanon.toml. Roles on the command line add to it (a column named there moves to that role); all other "
        "options go before it.",
    ),
]
KOption = Annotated[
    int | None,
    typer.Option("-k", help="The smallest class that may be published (default: 5).", show_default=False),
]
MaxSuppressedOption = Annotated[
    str | None,
    typer.Option(
        "--max-suppressed",
        metavar="LIMIT",
        help="How much may be left out: a share of the rows (0.05 or 5%), or '25 rows', or 'k rows' "
        f"(default: {DEFAULT_MAX_SUPPRESSED}).",
    ),
]
MeasureOption = Annotated[Measure | None, typer.Option("--measure", help="What to minimize (default: loss).")]
ChooseOption = Annotated[
    Choose | None,
    typer.Option("--choose", help="How mondrian chooses the column that it cuts a part in (default: range)."),
]
CutOption = Annotated[
    Cut | None,
    typer.Option(
        "--cut",
        help="Where mondrian cuts: at the median (strict, the default), in half (relaxed), or at a node of the tree.",
    ),
]
LabelsOption = Annotated[
    Texts | None,
    typer.Option("--labels", help="How mondrian writes the texts of a part (default: their lowest label in the tree)."),
]
NumbersOption = Annotated[
    Numbers | None,
    typer.Option("--numbers", help="How mondrian writes the numbers and dates of a part (default: range)."),
]
PairsOption = Annotated[
    int | None,
    typer.Option(
        "--pairs",
        metavar="PASSES",
        help="How often mondrian-plus goes through pairs of parts at the end, to cut them anew together (default: 0).",
    ),
]
EntityOption = Annotated[
    str | None,
    typer.Option(
        "--entity",
        metavar="COLUMN",
        autocompletion=completion.column,
        help="Names the person: k counts people, not rows.",
    ),
]
CountOption = Annotated[
    Count | None,
    typer.Option(
        "--count",
        help="What k counts: people (default), for which a table with several rows of one person needs --entity; or "
        "rows, also where several are of one person.",
    ),
]


def assignments(texts: list[str] | None, option: str, columns: Sequence[Column]) -> dict[str, str]:
    """Return ``COLUMN=VALUE`` arguments as a dictionary.

    Both sides may hold ``=`` themselves: the name ends where a column of the table ends, else at the first one.

    Raises:
        UsageError: an argument has no ``=``, or a column comes twice, in whatever case.
    """
    found: dict[str, str] = {}
    named: set[str] = set()
    for text in texts or []:
        ends = [place for place, character in enumerate(text) if character == "="]
        end = next((place for place in reversed(ends) if find_column(text[:place], columns)), next(iter(ends), 0))
        column, value = text[:end], text[end + 1 :]
        if not column or not value:
            raise UsageError(f"{option} is written COLUMN=FILE or COLUMN=RULE, not {text!r}.")
        if (key := _key(column, columns)) in named:
            raise UsageError(f"{option} names column {column!r} twice.")
        named.add(key)
        found[column] = value
    return found


def refuse_contradictions(*, output_format: str, sql: bool, dialect: str | None, quiet: bool, verbose: bool) -> None:
    """Raise where one option makes another one meaningless.

    Raises:
        UsageError: two of them were given.
    """
    if quiet and verbose:
        raise UsageError("-q says nothing and -v says more: leave one of them out.")
    if sql and output_format == "json":
        raise UsageError("--sql prints SQL, which is no JSON: leave --format json out, or --sql.")
    if not sql and dialect not in {None, "duckdb"}:
        raise UsageError("--dialect is for the SQL that --sql prints: add --sql, or leave --dialect out.")


def overridden(
    policy: Policy,
    columns: Sequence[Column],
    *,
    roles: dict[str, list[str] | None],
    rest: Literal["keep", "drop"] | None = None,
    entity: str | None = None,
    k: int | None = None,
    models: Mapping[str, list[str] | str | None] | None = None,
    hierarchies: dict[str, str] | None = None,
    settings: dict[str, Any] | None = None,
) -> Policy:
    """Return a policy with what was said on the command line: roles add to those of the file, all else goes before it.

    A column that the command line gives a role loses the one that the file gives it, and no column loses its role in
    any other way: one that the file calls identifying is published only if it is named as something else.

    Args:
        policy: what the file says.
        columns: those of the table.
        roles: for each role, the texts of its option: names, or lists of names with commas between.
        rest: what happens to columns without a role.
        entity: the column that names the person; the one of the file stays identifying.
        k: the smallest class.
        models: what else is asked of classes, by the names in ``kanon_sql.policy.requirements``.
        hierarchies: for columns, a rule or a file as it is seen from the working directory.
        settings: other settings of the policy; None was not said.
    """
    named = {role: split_names(texts, columns) for role, texts in roles.items() if texts}
    said = _with_roles(policy.columns, columns, named, entity)
    if rest is not None:
        said = replace(said, rest=rest)
    given = {name: value for name, value in (settings or {}).items() if value is not None}
    if entity is not None:  # the command line goes before the file, which may count rows
        given.setdefault("count", "people")
    if not said.pseudonymize:  # the command line took the column that the file pseudonymizes another role
        given.setdefault("key_file", None)
    return replace(
        policy,
        columns=said,
        models=_with_models([_with_requirements(model, k, said.entity) for model in policy.models], models or {}),
        hierarchies=_with_rules(policy, columns, said, hierarchies or {}),
        **given,
    )


def _with_roles(
    file: NamedColumns, columns: Sequence[Column], named: dict[str, tuple[str, ...]], entity: str | None
) -> NamedColumns:
    """Return the roles of a file with those that the command line names; what it names loses its role in the file."""
    moved = {_key(name, columns) for names in named.values() for name in names}
    of_file = {role: getattr(file, role) for role in _ROLES}
    if entity is not None:
        moved.add(_key(entity, columns))
        if file.entity is not None:  # nobody said that this column may be published now
            of_file["identifying"] = (*file.identifying, file.entity)
    united: dict[str, Any] = {}
    for role, names in of_file.items():
        own = {_key(name, columns): name for name in named.get(role, ())}
        # In the order of the file, also where the command line names a column of the same role again.
        kept = {_key(name, columns): name for name in names if _key(name, columns) not in moved - own.keys()}
        united[role] = tuple((kept | own).values())
    proposed = tuple(name for name in file.proposed if _key(name, columns) not in moved)
    return replace(file, **united, entity=file.entity if entity is None else entity, proposed=proposed)


def _with_requirements(model: PrivacyModel, k: int | None, entity: str | None) -> PrivacyModel:
    """Return a model with the k and the person of the command line, where they were given."""
    if k is not None and isinstance(model, KAnonymity):
        model = replace(model, k=k)
    return model if entity is None else model.counting(entity)


def _with_models(
    of_file: Sequence[PrivacyModel], asked: Mapping[str, list[str] | str | None]
) -> tuple[PrivacyModel, ...]:
    """Return the models of a file with those of the command line, each instead of one of its kind."""
    texts = {name: [text] if isinstance(text, str) else text or [] for name, text in asked.items()}
    new = [parse_requirement(name, text) for name in REQUIREMENTS for text in texts.get(name, [])]
    require_one_each(new, "The command line")
    return with_distances(replacing(of_file, new), texts.get("distance", []))


def _with_rules(
    policy: Policy, columns: Sequence[Column], said: NamedColumns, hierarchies: dict[str, str]
) -> dict[str, str]:
    """Return the rules of a file with those of the command line, without those of columns that it took another role."""
    generalized = {_key(name, columns) for name in said.quasi_identifiers}
    moved = {_key(name, columns) for name in policy.columns.quasi_identifiers} - generalized
    replaced = {_key(name, columns) for name in hierarchies}
    kept = {name: rule for name, rule in policy.hierarchies.items() if _key(name, columns) not in moved | replaced}
    return {**kept, **{column: _from_anywhere(rule) for column, rule in hierarchies.items()}}


def _key(name: str, columns: Sequence[Column]) -> str:
    """Return what is the same for all names of one column."""
    column = find_column(name, columns)
    return folded(name) if column is None else column.name


def _from_anywhere(rule: str) -> str:
    """Return a rule, with the path of a file as it is from wherever a policy's paths start."""
    parsed = parse_rule(rule)
    ready = rule.startswith(READY)  # a saved policy must not name a file inside this installation
    return parsed.absolute() if isinstance(parsed, FileRule | PrefixRule) and not ready else rule
