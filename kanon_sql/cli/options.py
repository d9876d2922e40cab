"""Options that several commands share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kanon_sql.errors import UsageError
from kanon_sql.hierarchy.spec import FileRule, parse_rule
from kanon_sql.models.k_anonymity import KAnonymity
from kanon_sql.roles import find_column, split_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kanon_sql.engine.base import Column
    from kanon_sql.policy import Policy

Format = Literal["table", "json"]
DialectName = Literal["duckdb", "postgres", "spark"]

SourceArgument = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="A DuckDB file, or a data file (CSV, Parquet, JSON).", show_default=False),
]
TableArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="TABLE",
        help="The table in a database; may be left out where there is one only.",
        show_default=False,
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How results are printed on stdout.")]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing on stderr but errors.")]
VerboseOption = Annotated[bool, typer.Option("-v", "--verbose", help="Say on stderr which statement is run.")]
SqlOption = Annotated[bool, typer.Option("--sql", help="Print the SQL and change nothing.")]
DialectOption = Annotated[DialectName, typer.Option("--dialect", help="The dialect of the SQL that is printed.")]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Replace what has that name already.")]
IdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Identifying: never published. Repeat it, or separate columns by commas.",
    ),
]
QiOption = Annotated[
    list[str] | None,
    typer.Option(
        "--qi",
        metavar="COLUMN",
        help="Quasi-identifying: could tell, together, who a row is about; generalized.",
    ),
]
HierarchyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="COLUMN=FILE",
        help="The hierarchy of a column: a file, or a rule such as intervals:5,10,20  mask  date:month,year  "
        "round:1,2  flat  ready:us_state.",
    ),
]
HierarchiesOption = Annotated[
    Path | None,
    typer.Option("--hierarchies", metavar="DIR", help="Hierarchy files <column>.csv or *_hierarchy_<column>.csv."),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option("--policy", metavar="FILE", help="A kanon.toml; options on the command line go before it."),
]
KOption = Annotated[
    int | None,
    typer.Option("-k", help="The smallest class that may be published (default: 5).", show_default=False),
]
EntityOption = Annotated[
    str | None,
    typer.Option("--entity", metavar="COLUMN", help="Names the person: k counts people, not rows."),
]


def assignments(texts: list[str] | None, option: str, columns: Sequence[Column]) -> dict[str, str]:
    """Return ``COLUMN=VALUE`` arguments as a dictionary.

    Both sides may hold ``=`` themselves: the name ends where a column of the table ends, else at the first one.

    Raises:
        UsageError: an argument has no ``=``, or a column comes twice.
    """
    found: dict[str, str] = {}
    for text in texts or []:
        ends = [place for place, character in enumerate(text) if character == "="]
        end = next((place for place in reversed(ends) if find_column(text[:place], columns)), next(iter(ends), 0))
        column, value = text[:end], text[end + 1 :]
        if not column or not value:
            raise UsageError(f"{option} is written COLUMN=FILE or COLUMN=RULE, not {text!r}.")
        if column in found:
            raise UsageError(f"{option} names column {column!r} twice.")
        found[column] = value
    return found


def overridden(
    policy: Policy,
    columns: Sequence[Column],
    *,
    roles: dict[str, list[str] | None],
    rest: Literal["keep", "drop"] | None = None,
    entity: str | None = None,
    k: int | None = None,
    hierarchies: dict[str, str] | None = None,
    settings: dict[str, Any] | None = None,
) -> Policy:
    """Return a policy with what was said on the command line in the place of what the file says.

    Args:
        policy: what the file says.
        columns: those of the table.
        roles: for each role, the texts of its option: names, or lists of names with commas between.
        rest: what happens to columns without a role.
        entity: the column that names the person.
        k: the smallest class.
        hierarchies: for columns, a rule or a file as it is seen from the working directory.
        settings: other settings of the policy; None was not said.
    """
    named = {role: split_names(texts, columns) for role, texts in roles.items() if texts}
    others: dict[str, Any] = {name: value for name, value in (("rest", rest), ("entity", entity)) if value is not None}
    said = replace(policy.columns, **{**named, **others})
    models = tuple(KAnonymity(k if k is not None else model.required, entity=said.entity) for model in policy.models)
    rules = {
        **policy.hierarchies,
        **{column: _from_anywhere(rule) for column, rule in (hierarchies or {}).items()},
    }
    given = {name: value for name, value in (settings or {}).items() if value is not None}
    return replace(policy, columns=said, models=models, hierarchies=rules, **given)


def _from_anywhere(rule: str) -> str:
    """Return a rule, with the path of a file as it is from wherever a policy's paths start."""
    parsed = parse_rule(rule)
    return str(parsed.path.absolute()) if isinstance(parsed, FileRule) else rule
