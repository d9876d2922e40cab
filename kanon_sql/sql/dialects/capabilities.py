"""The capabilities of each dialect, one row per dialect, so that rules check a capability instead of a name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kanon_sql.errors import UsageError

Temporary = Literal["table", "cached view", "plain table"]
Changes = Literal["update", "replace", "numbered"]
Equality = Literal["as it is", "hashed", "by text"]
Barrier = Literal["secure view", "security_barrier", "none"]


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a dialect."""

    name: str  # its name in sqlglot and in options
    title: str  # the product name
    temporary: Temporary = "table"  # replaces a temporary table; plain tables are dropped at the end of a script
    # how such a table is changed: by UPDATE; by CREATE OR REPLACE that reads the table it replaces; or by numbered
    # tables behind a view
    changes: Changes = "replace"
    # how to make a join on IS NOT DISTINCT FROM fast: leave it as it is, add a hashable condition before it, or compare
    # texts if types are unknown
    equality: Equality = "as it is"
    settings: tuple[str, ...] = ()  # statements to run before a recursive query
    time_zone: str = "SET TIME ZONE"  # the start of the statement that sets the time zone of the session
    hints: bool = False  # whether common table expressions can be marked as materialized
    filters: bool = False  # whether an aggregate may have FILTER
    adds_wide: bool = False  # whether adding 128-bit integers is about as fast as adding 64-bit ones
    # whether a release may be a view: it reads tables that are named after it, with a dot in their names
    views: bool = False
    # how a view keeps functions and conditions of its readers away from the rows that it leaves out
    barrier: Barrier = "none"
    quotes: bool = False  # whether to quote every name, because the reserved words are not known
    # sqlglot's names of types that the dialect names differently
    types: dict[str, str] = field(default_factory=dict)
    no_types: frozenset[str] = frozenset()  # types that the dialect lacks
    not_in_names: str = ""  # characters that column names may not contain


_FEW_TYPES = frozenset({"BIT", "TIME", "TIME_NS", "TIMETZ", "INTERVAL", "JSON", "UUID", "VARBINARY", "ARRAY", "LIST"})
"""Types that are refused if their behavior cannot be tested in the engine."""
_ALL = (
    Capabilities(
        "duckdb",
        "DuckDB",
        changes="update",
        hints=True,
        filters=True,
        adds_wide=True,
        views=True,
        barrier="secure view",
    ),
    Capabilities(
        "postgres",
        "PostgreSQL",
        changes="update",
        equality="hashed",
        hints=True,
        filters=True,
        views=True,
        barrier="security_barrier",
    ),
    Capabilities(
        "spark",
        "Spark",
        temporary="cached view",
        changes="numbered",
        settings=("SET spark.sql.cteRecursionLevelLimit = -1", "SET spark.sql.cteRecursionRowLimit = -1"),
        filters=True,
        types={"TIMESTAMPNTZ": "TIMESTAMP_NTZ"},
        no_types=frozenset({"BIT", "TIME", "TIME_NS", "TIMETZ", "INTERVAL", "JSON"}),
    ),
    Capabilities(
        "bigquery",
        "BigQuery",
        time_zone="SET @@time_zone =",
        equality="by text",
        quotes=True,
        types={"DECIMAL": "BIGNUMERIC"},
        no_types=_FEW_TYPES,
        not_in_names='!"$()*,./;?@[\\]^`{}~',
    ),
    Capabilities("snowflake", "Snowflake", time_zone="ALTER SESSION SET TIMEZONE =", no_types=_FEW_TYPES),
    Capabilities(
        "databricks",
        "Databricks",
        temporary="plain table",
        quotes=True,
        types={"TIMESTAMPNTZ": "TIMESTAMP_NTZ"},
        no_types=_FEW_TYPES,
        not_in_names=" ,;{}()\n\t=",
    ),
)

CAPABILITIES = {capabilities.name: capabilities for capabilities in _ALL}


def require_views(dialect: str) -> None:
    """Raise unless a release can be a view in the dialect."""
    capabilities = capabilities_of(dialect)
    if not capabilities.views:
        raise UsageError(
            "Step 'The release' cannot be said: a view joins hierarchies in tables that are called after it and after "
            f"their columns, and {capabilities.title} has no such names. Leave --as view out."
        )


def require_materialized_views(dialect: str) -> None:
    """Raise unless the dialect has materialized views: a plain view instead would read rows that it leaves out."""
    capabilities = capabilities_of(dialect)
    if capabilities.name != "postgres":
        raise UsageError(
            f"A script for {capabilities.title} can make no materialized view: leave --as out, or take --dialect "
            "postgres."
        )


def capabilities_of(dialect: str) -> Capabilities:
    if dialect not in CAPABILITIES:
        raise UsageError(f"There is no dialect {dialect!r}. There are: {', '.join(CAPABILITIES)}.")
    return CAPABILITIES[dialect]
