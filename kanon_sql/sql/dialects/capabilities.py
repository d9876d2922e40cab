"""What each dialect has and has not: one row per dialect, so that rules ask for a capability and not for a name.

Where the manuals of the engines say so is listed in docs/dialects.md.
"""

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
    """What a dialect can say."""

    name: str  # as people and sqlglot write it
    title: str  # the name of the product
    temporary: Temporary = "table"  # what stands for a temporary table; plain tables are dropped at the end of a script
    # how such a table is changed: by UPDATE; by CREATE OR REPLACE that reads what it replaces; or by numbered tables
    # behind a view
    changes: Changes = "replace"
    # whether a join on IS NOT DISTINCT FROM is fast as it is, needs a condition before it that can be hashed, or is one
    # of texts where types are not known
    equality: Equality = "as it is"
    settings: tuple[str, ...] = ()  # statements that a recursive query needs before it
    time_zone: str = "SET TIME ZONE"  # what the statement that sets the time zone of the session begins with
    hints: bool = False  # whether common table expressions may be said to be materialized
    filters: bool = False  # whether an aggregate may have FILTER
    adds_wide: bool = False  # whether whole numbers of 128 bits are added about as fast as those of 64
    # whether a release may be a view: it reads tables that are called after it, with a dot in their names
    views: bool = False
    # how a view keeps functions and conditions of its readers away from the rows that it leaves out
    barrier: Barrier = "none"
    quotes: bool = False  # whether every name is quoted, because other words are reserved than those that we know
    # names of types that sqlglot writes otherwise, by its own names for them
    types: dict[str, str] = field(default_factory=dict)
    no_types: frozenset[str] = frozenset()  # types that there are not
    not_in_names: str = ""  # characters that names of columns may not have


_FEW_TYPES = frozenset({"BIT", "TIME", "TIME_NS", "TIMETZ", "INTERVAL", "JSON", "UUID", "VARBINARY", "ARRAY", "LIST"})
"""Types that are refused where we cannot try what the engine makes of them."""
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
    """Raise unless a release can be a view in a dialect."""
    capabilities = capabilities_of(dialect)
    if not capabilities.views:
        raise UsageError(
            "Step 'The release' cannot be said: a view joins hierarchies in tables that are called after it and after "
            f"their columns, and {capabilities.title} has no such names. Leave --as view out."
        )


def require_materialized_views(dialect: str) -> None:
    """Raise unless a dialect has materialized views: a plain view in their place would read rows that it leaves out."""
    capabilities = capabilities_of(dialect)
    if capabilities.name != "postgres":
        raise UsageError(
            f"A script for {capabilities.title} can make no materialized view: leave --as out, or take --dialect "
            "postgres."
        )


def capabilities_of(dialect: str) -> Capabilities:
    """Return what a dialect can say."""
    if dialect not in CAPABILITIES:
        raise UsageError(f"There is no dialect {dialect!r}. There are: {', '.join(CAPABILITIES)}.")
    return CAPABILITIES[dialect]
