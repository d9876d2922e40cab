"""From what a person points at to the warehouse that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kanon_sql.engine.duckdb.passwords import shown_url
from kanon_sql.errors import UsageError

if TYPE_CHECKING:
    from kanon_sql.engine.warehouse.warehouse import Warehouse

_POSTGRES = ("postgresql://", "postgres://")
_SPARK = ("spark://", "sc://", "spark:")


def is_warehouse(source: Any) -> bool:  # noqa: ANN401 - asks what kind of value this is
    """Tell whether a source is a warehouse: its URL, or a connection to it; no library is imported for that."""
    if isinstance(source, str):
        return source.startswith((*_POSTGRES, *_SPARK))
    return _is_postgres(source) or _is_spark(source)


def shown(source: str) -> str:
    """Return what a person typed as SOURCE as it may be shown: a URL without its password or token."""
    if source.startswith(_POSTGRES):
        return shown_url(source)
    return source.partition(";")[0] if source.startswith(_SPARK) else source


def open_warehouse(source: Any) -> Warehouse:  # noqa: ANN401 - as above
    """Return the warehouse that a source names.

    Raises:
        SourceError: it cannot be reached, or the library for it is not installed.
        UsageError: the connection has a transaction open.
    """
    if _is_spark(source) or (isinstance(source, str) and source.startswith(_SPARK)):
        from kanon_sql.engine.spark.warehouse import spark_of

        return spark_of(source)
    from kanon_sql.engine.postgres.warehouse import PostgresWarehouse

    if isinstance(source, str):
        return PostgresWarehouse.connect(source)
    if source.closed:
        raise UsageError("The connection to PostgreSQL is closed.")
    if not source.autocommit:
        raise UsageError(
            "The connection to PostgreSQL is not in autocommit mode; open it with autocommit=True, so that a release "
            "can be made in one transaction."
        )
    if source.info.transaction_status:  # 0 is idle
        raise UsageError("The connection to PostgreSQL has a transaction open: commit it or roll it back first.")
    return PostgresWarehouse(source, "the connection")


def _is_postgres(source: Any) -> bool:  # noqa: ANN401 - as above
    return any(
        kind.__module__.partition(".")[0] == "psycopg" and kind.__name__ == "Connection"
        for kind in type(source).__mro__
    )


def _is_spark(source: Any) -> bool:  # noqa: ANN401 - as above
    return any(
        kind.__module__.startswith("pyspark.sql.") and kind.__name__ in {"SparkSession", "DataFrame"}
        for kind in type(source).__mro__
    )
