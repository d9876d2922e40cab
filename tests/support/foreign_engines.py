"""Engines as they run a script: statement by statement, on the same rows as DuckDB."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import sqlglot
from sqlglot import exp

from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Sequence

    import psycopg

Rows = list[tuple[Any, ...]]


def plain(value: Any) -> Any:
    """Return a value as it is compared: whole numbers are alike whatever type they have; NaN is itself."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "NaN"
        return int(value) if value.is_integer() else round(value, 9)
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return value


def counted(rows: Sequence[Sequence[Any]]) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(plain(value) for value in row) for row in rows)


class DuckDB:
    """A plain DuckDB, with the same table."""

    dialect = "duckdb"

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    def run(self, text: str) -> Rows:
        """Run a statement; return its rows."""
        return self.connection.execute(text).fetchall()


class Transpiled:
    """DuckDB that runs what was rendered for another dialect, as sqlglot reads it: no server, and the same results.

    It stands for the logic of a script. How an engine itself computes is seen on the engine only.
    """

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect
        self.plain = duckdb.connect()
        for name, most in (("hash_record_extended", 2), ("hashtextextended", 2), ("xxhash64", 12)):
            given = [", ".join("abcdefghijkl"[:number]) for number in range(1, most + 1)]
            self.plain.execute(f"CREATE MACRO {name} {', '.join(f'({each}) AS hash({each})' for each in given)}")

    def run(self, text: str) -> Rows:
        """Run a statement; return its rows. What is about the session of Spark alone is left out."""
        (one,) = sqlglot.parse(text, read=self.dialect)
        if isinstance(one, exp.Cache | exp.Set):
            return []
        assert one is not None
        return self.plain.execute(one.sql("duckdb")).fetchall()

    def load(self, table: str, columns: Sequence[tuple[str, str]], rows: Rows) -> None:
        """Make a table of rows; types are DuckDB's."""
        target = sql.relation(table)
        kinds = [
            exp.ColumnDef(this=sql.identifier(name), kind=exp.DataType.build(kind, dialect="duckdb"))
            for name, kind in columns
        ]
        self.plain.execute(sql.drop(target).sql("duckdb"))
        self.plain.execute(exp.Create(this=exp.Schema(this=target, expressions=kinds), kind="TABLE").sql("duckdb"))
        into = exp.insert(exp.values([tuple(exp.Placeholder() for _ in kinds)]), target)
        self.plain.executemany(into.sql("duckdb"), rows)


class Postgres:
    """A session of PostgreSQL."""

    dialect = "postgres"

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection
        connection.prepare_threshold = None  # a statement that is prepared cannot follow a table that is made anew
        connection.execute("SET client_min_messages = error")

    def run(self, text: str) -> Rows:
        """Run a statement; return its rows."""
        found = self.connection.execute(text.encode())  # bytes: a % in it is no placeholder
        return found.fetchall() if found.description else []

    def load(self, table: str, columns: Sequence[tuple[str, str]], rows: Rows) -> None:
        """Make a table of rows; types are DuckDB's."""
        target = sql.relation(table)
        self.run("DISCARD TEMP")
        self.run(sql.drop(target).sql("postgres"))
        kinds = [exp.ColumnDef(this=sql.identifier(name), kind=_type(kind, "postgres")) for name, kind in columns]
        create = exp.Create(this=exp.Schema(this=target, expressions=kinds), kind="TABLE")
        self.run(create.sql("postgres"))
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {target.sql('postgres')} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


class Spark:
    """A session of Spark."""

    dialect = "spark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def run(self, text: str) -> Rows:
        """Run a statement; return its rows."""
        return [tuple(row) for row in self.session.sql(text).collect()]

    def load(self, table: str, columns: Sequence[tuple[str, str]], rows: Rows) -> None:
        """Make a view of rows; types are DuckDB's."""
        from pyspark.sql.types import DecimalType, StructField, StructType

        fields = []
        for name, kind in columns:
            spark_type = self.session.sql(f"SELECT CAST(NULL AS {_type(kind, 'spark').sql('spark')}) AS c").schema
            fields.append(StructField(name, spark_type.fields[0].dataType))
        decimal = [place for place, kind in enumerate(fields) if isinstance(kind.dataType, DecimalType)]
        typed = [
            tuple(Decimal(cell) if place in decimal and cell is not None else cell for place, cell in enumerate(row))
            for row in rows
        ]
        frame = self.session.createDataFrame(typed, StructType(fields))
        frame.createOrReplaceTempView("kanon_rows_loaded")
        view = sql.create_view(sql.relation(table), exp.select("*").from_("kanon_rows_loaded"), temporary=True)
        view.set("replace", True)  # noqa: FBT003 - a setter of sqlglot
        self.run(view.sql("spark"))


def _type(kind: str, dialect: str) -> exp.DataType:
    wider = {"UBIGINT": "DECIMAL(20,0)", "HUGEINT": "DECIMAL(38,0)", "UINTEGER": "BIGINT", "USMALLINT": "INT"}
    wider |= {"UTINYINT": "SMALLINT"}
    if dialect == "spark" and kind == "TIMESTAMP":
        return exp.DataType.build("TIMESTAMP_NTZ", dialect="spark")
    return exp.DataType.build(wider.get(kind, kind), dialect="duckdb")


def is_query(text: str, dialect: str) -> bool:
    """Tell whether a statement returns rows that a person looks at."""
    return isinstance(sqlglot.parse_one(text, read=dialect), exp.Query)
