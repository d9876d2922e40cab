"""Spark: a warehouse by pyspark, in a session with a driver of its own or by Spark Connect.

Rows are transferred by Arrow or Parquet; types that these do not support are sent as text. Files that Spark reads have
their names in Spark SQL: ``parquet.`/data/visits``` in place of a table.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.base import Column, Logged
from kanon_sql.engine.files import private_directory
from kanon_sql.engine.keys import shown_url
from kanon_sql.engine.progress import check_deadline, next_deadline
from kanon_sql.engine.sources.reading import read_from
from kanon_sql.engine.spark.session import (
    SCHEMA,
    is_connect,
    is_on_this_machine,
    opened,
    ours,
    spark_errors,
    tagged,
    with_kept_names,
)
from kanon_sql.engine.time_zones import UTC
from kanon_sql.engine.warehouse.warehouse import ListedRelation, Warehouse, places, plain
from kanon_sql.errors import KanonError, SourceError, UsageError
from kanon_sql.sql import build as sql
from kanon_sql.sql.dialects import render, rendered
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kanon_sql.engine.base import Values
    from kanon_sql.engine.capabilities import Place
    from kanon_sql.engine.warehouse.warehouse import Receiver, RelationKind

_KEPT = "releases_kept"
_GLOBAL = "global_temp"


class SparkWarehouse(Warehouse):
    """The tables of a Spark session.

    Spark has no transactions: after an error, kanon drops what it made.
    """

    dialect = "spark"
    kind: Place = "Spark"
    all_or_nothing = False
    tests_together = True  # every statement is a job, which is slow even for little work

    def __init__(self, session: Any, *, owned: bool, url: str | None = None) -> None:  # noqa: ANN401 - of pyspark
        """Use a SparkSession, or that of a DataFrame; closing the warehouse stops an ``owned`` one."""
        self._frame = None if hasattr(session, "catalog") else session
        self.session = session if self._frame is None else session.sparkSession
        self.place = shown_url(url) if url else "Spark Connect" if is_connect(self.session) else "Spark"
        self._owned, self.given = owned, (self.session, url)
        self._time_zone = UTC
        self.statements, self._temporary = [], []
        self._named: list[exp.Table] = []
        self._made: list[exp.Table] = []
        with spark_errors("the current schema"):
            self.schema = str(self.session.catalog.currentDatabase())

    @classmethod
    def connect(cls, source: Any) -> SparkWarehouse:  # noqa: ANN401 - a URL, a session or a data frame
        """Return the Spark warehouse of a URL (see ``session.opened``), a session or a data frame."""
        if getattr(source, "isStreaming", False):
            raise SourceError("The data frame is a stream, which has no end: write it to a table first.")
        session, owned = opened(source) if isinstance(source, str) else (source, False)
        try:
            return cls(session, owned=owned, url=source if isinstance(source, str) else None)
        except BaseException:
            if owned:
                session.stop()
            raise

    def use_time_zone(self, zone: str) -> None:
        self._time_zone = zone

    # Catalog

    def pointed_at(self, source: Any, table: str | None) -> exp.Table | None:  # noqa: ANN401 - as above
        """Return the relation of a data frame, of files, or of a table found directly by name.

        An exact name needs no list of all relations, which is long in some catalogs.
        """
        frame = source if hasattr(source, "sparkSession") and not hasattr(source, "catalog") else None
        if frame is not None and table is not None:
            raise UsageError("A data frame has no tables: leave the table name out.")
        files = _NAMED.fullmatch(table or "")
        if frame is None and files is None:
            return None if table is None else self._found(table)
        name = sql.relation(f"kanon_source_{uuid.uuid4().hex[:12]}")
        with spark_errors("read the source"), ours(self.session, self._time_zone):
            found: Any = frame
            if files is not None:
                reader = self.session.read.format(files["format"].lower())
                is_csv = files["format"].lower() == "csv"  # with names in its first line, and types that Spark infers
                found = (reader.options(header=True, inferSchema=True) if is_csv else reader).load(files["path"])
            found.createOrReplaceTempView(render(name, self.dialect))
        self._named.append(name)
        return name

    def _found(self, name: str) -> exp.Table | None:
        """Return the relation of a name or of ``SCHEMA.NAME``; None if it does not exist."""
        *before, last = name.split(".")
        if len(before) > 1 or not all([*before, last]) or SCHEMA in map(folded, before):
            return None
        schema = before[0] if before else None
        if (described := self._described(sql.relation(last, schema))) is None:
            return None
        is_current = schema is None or folded(schema) == folded(self.schema)
        return sql.relation(described.name, None if is_current else schema)

    def relations(self, schema: str | None = None) -> list[ListedRelation]:
        """Return tables and views; session ones are listed under the current schema, where they hide others."""
        mine = {table.name for table in (*self._named, *self._temporary)}
        schemas = [one for one in self.schemas() if schema in {None, one}]
        if not schemas:
            return []
        with spark_errors("tables and views"):
            of_session = [row for row in self._show("VIEWS") if row.isTemporary]
            found = [ListedRelation(self.schema, row.viewName, "VIEW") for row in of_session if not row.namespace]
            hidden = {listed.name for listed in found}
            for place in schemas:
                views = set() if place == _GLOBAL else {row.viewName for row in self._show("VIEWS", place)}
                for row in self._show("TABLES", place):
                    if row.namespace == place and (place != self.schema or row.tableName not in hidden):
                        is_view = row.isTemporary or row.tableName in views
                        found.append(ListedRelation(place, row.tableName, "VIEW" if is_view else "TABLE"))
        return [listed for listed in found if listed.name not in mine]

    def _show(self, what: str, schema: str | None = None) -> list[Any]:
        place = [] if schema is None else ["IN", render(sql.identifier(schema), self.dialect)]
        statement = exp.Command(this="SHOW", expression=" ".join([what, *place]))
        return list(self.session.sql(statement.sql(self.dialect)).collect())

    def schemas(self) -> list[str]:
        with spark_errors("schemas"):
            return [database.name for database in self.session.catalog.listDatabases()] + [_GLOBAL]

    def columns(self, relation: exp.Expr) -> tuple[Column, ...]:
        with spark_errors("columns of the table"):
            fields = self.session.table(render(with_kept_names(relation), self.dialect)).schema.fields
        return tuple(Column(field.name, from_spark_type(field.dataType.simpleString())) for field in fields)

    def found(self, relation: exp.Table) -> ListedRelation | None:
        if (described := self._described(relation)) is None:
            return None
        kind: RelationKind = "VIEW" if described.tableType in {"VIEW", "TEMPORARY"} else "TABLE"
        return ListedRelation(relation.db or self.schema, described.name, kind, comment=described.description)

    def _described(self, relation: exp.Table) -> Any:  # noqa: ANN401 - a Table of pyspark
        from pyspark.errors import AnalysisException

        name = render(with_kept_names(relation), self.dialect)
        with spark_errors("is the name taken?"):
            try:
                return self.session.catalog.getTable(name)
            except AnalysisException as error:
                if "NOT_FOUND" in str(error) or "INVALID_SCHEMA_OR_RELATION_NAME" in str(error):
                    return None
                raise

    def definition_of(self, view: exp.Table) -> str:
        describe = exp.Command(this="DESCRIBE", expression=f"EXTENDED {render(view, self.dialect)}")
        rows = self.rows(describe, "definition of the view")
        return next(str(row[1]) for row in reversed(rows) if row[0] == "View Text")

    @property
    def forgets(self) -> str | None:  # type: ignore[override]  # known when the session is
        if not self._owned or is_connect(self.session) or not self._is_in_memory():
            return None
        return (
            f"The catalog of {self.place} is in memory, and ends with this program. For a catalog that stays, write "
            "?spark.sql.catalogImplementation=hive after the address."
        )

    def _is_in_memory(self) -> bool:
        kind = self.session.conf.get("spark.sql.catalogImplementation", "in-memory")
        return bool(kind == "in-memory" and self.session.catalog.currentCatalog() == "spark_catalog")

    # Statements

    def read(self, column: Column) -> exp.Expr:
        is_bytes = column.type == "BLOB"
        return exp.Hex(this=sql.column(column.name, "source")) if is_bytes else super().read(column)

    def run(self, statement: exp.Expr, title: str = "") -> None:
        if isinstance(statement, exp.Drop) and statement.args.get("tables"):
            (dropped,) = statement.args["tables"]
            if dropped in self._temporary:
                with self._working(title):
                    self.session.catalog.dropTempView(dropped.name)
                return
        if isinstance(statement, exp.Delete):
            self._delete(statement, title)
            return
        if _is_temporary(statement):
            # Computed separately: Spark plans a cached view again at every use, through everything it was made from.
            self.frame(statement.expression, statement.this, title)
            return
        if isinstance(statement, exp.Create) and statement.kind == "SCHEMA" and self._is_in_memory():
            statement = self._in_own_directory(statement)
        if isinstance(statement, exp.Create) and statement.kind == "TABLE" and not statement.args.get("exists"):
            self._made.append(statement.this.copy())
        self.rows(statement, title)

    def rows(self, statement: exp.Expr, title: str = "", parameters: Values | None = None) -> list[tuple[Any, ...]]:
        bound = sql.bound(statement, parameters) if parameters else statement
        with self._working(title, bound):
            return [plain(row) for row in self._query(bound).collect()]

    def fetch(self, query: exp.Query, types: Mapping[str, str], into: Receiver, table: exp.Table, title: str) -> None:
        import pyarrow.parquet

        with self._working(title, query), private_directory(into.spills_to) as private:
            place = private.path / "rows"
            frame = _plain(self._query(query))
            if is_on_this_machine(self.session):
                frame.write.parquet(place.as_uri())
            else:  # this process holds all of them once: a million tuples of eight columns are about 100 MB
                place.mkdir()
                pyarrow.parquet.write_table(frame.toArrow(), place / "rows.parquet")
            has_rows = any(place.glob("*.parquet"))
            into.take(table, types, read_from("read_parquet", str(place / "*.parquet"), {}) if has_rows else None)

    def upload(self, table: exp.Table, shape: exp.Query, rows: Iterable[Sequence[Any]], title: str) -> None:
        """Create a temporary view from rows (see ``Warehouse.upload``), which are local to the driver."""
        with self._working(title, sql.create_view(table, shape, temporary=True)):
            types = [field.dataType for field in self._query(shape).schema.fields]
            sent(self.session, rows, shape.named_selects, types).createOrReplaceTempView(render(table, self.dialect))
        self._temporary.append(table)

    def frame(self, query: exp.Query, table: exp.Table, title: str) -> Any:  # noqa: ANN401 - of pyspark
        """Return the rows of a query as a data frame that is computed once and has no lineage.

        ``table`` is its temporary view in the meantime.
        """
        with self._working(title, query):
            frame = self._query(query).localCheckpoint(eager=True)
            frame.createOrReplaceTempView(render(table, self.dialect))
        self._temporary.append(table)
        return frame

    def rename(self, made: exp.Table, target: exp.Table, kind: RelationKind) -> None:
        new = sql.relation(target.name, target.db or made.db or self.schema)
        old = sql.relation(made.name, made.db or self.schema)
        rename = exp.Alter(this=old, kind=kind, actions=[exp.AlterRename(this=new)])
        self.run(rename, "the verified release takes its name")

    def undo(self, relation: exp.Table, kind: RelationKind) -> None:
        with suppress(KanonError):  # the original error is reported
            self.drop(relation, kind)
        for table in [table for table in self._made if folded(table.db) == SCHEMA]:
            with suppress(KanonError):
                self.drop(table, "TABLE")
        self._made.clear()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the statements inside one by one: Spark has no transactions (see ``undo``)."""
        self._made.clear()
        yield
        self._made.clear()

    @contextmanager
    def alone(self, table: exp.Table, query: exp.Query) -> Iterator[list[tuple[Any, ...]]]:
        """Yield the current rows; Spark has no locks."""
        yield self.rows(query, "earlier releases, as they are now") if self.kind_of(table) is not None else []

    def forget(self) -> None:
        for table in self._temporary:
            with suppress(KanonError), spark_errors("drop temporary objects"):
                self.session.catalog.dropTempView(table.name)
        self._temporary.clear()

    def close(self) -> None:
        self._temporary += self._named
        self._named = []
        self.forget()
        if self._owned:
            self.session.stop()

    def _query(self, query: exp.Expr) -> Any:  # noqa: ANN401 - a DataFrame of pyspark
        *before, text = self._texts(query)
        for statement in before:
            self.session.sql(statement)
        return self.session.sql(text)

    def _texts(self, statement: exp.Expr) -> list[str]:
        if isinstance(statement, exp.Command):  # Spark's own, not a DuckDB statement
            return [statement.sql(self.dialect)]
        # ``ours`` restores the settings that precede a recursive query.
        return rendered(with_kept_names(statement), self.dialect)

    @contextmanager
    def _working(self, title: str, statement: exp.Expr | None = None) -> Iterator[None]:
        """Log a statement, and run it with kanon's settings and errors; an interrupt stops the jobs too."""
        if statement is not None:
            self.tell(Logged(title, statement, {}, self.dialect))
        tag = f"kanon-{uuid.uuid4().hex}"
        check_deadline(title)
        deadline = next_deadline()
        try:
            with spark_errors(title), ExitStack() as stack:
                stack.enter_context(ours(self.session, self._time_zone))
                stop = tagged(self.session, tag, stack)
                if deadline is not None:
                    timer = threading.Timer(max(0.0, deadline - time.monotonic()), stop, [tag])
                    timer.start()
                    stack.callback(timer.cancel)
                try:
                    yield
                except KeyboardInterrupt:
                    stop(tag)
                    raise
        except KeyboardInterrupt:  # stopped jobs end with it
            check_deadline(title)
            raise

    def _in_own_directory(self, schema: exp.Create) -> exp.Create:
        """Return a schema of an in-memory catalog in a directory that no other program used.

        The files of its tables outlive such a catalog, and Spark creates no table over existing files.
        """
        place = f"{self.session.conf.get('spark.sql.warehouse.dir')}/{schema.this.db}-{uuid.uuid4().hex}.db"
        found = schema.copy()
        found.set("properties", exp.Properties(expressions=[exp.LocationProperty(this=sql.literal(place))]))
        return found

    def _delete(self, statement: exp.Delete, title: str) -> None:
        """Delete rows by rewriting the table without them: a table of Parquet files has no DELETE."""
        table, condition = statement.this, statement.args["where"].this
        there = sql.relation(_KEPT, table.db)
        kept = exp.Not(this=exp.Paren(this=exp.Coalesce(this=condition.copy(), expressions=[exp.false()])))
        self.drop(there, "TABLE")
        self.run(sql.create_table(there, exp.select("*").from_(table.copy()).where(kept)), title)
        self.drop(table, "TABLE")
        self.rename(there, table, "TABLE")


def _is_temporary(statement: exp.Expr) -> bool:
    if not isinstance(statement, exp.Create) or statement.kind != "TABLE":
        return False
    properties = statement.args.get("properties")
    return properties is not None and properties.find(exp.TemporaryProperty) is not None


_TYPES = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "timestamp_ntz": "TIMESTAMP",
    "binary": "BLOB",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_TEXT = re.compile(r"(?:char|varchar)\(\d+\)")
_COLLATED = re.compile(r"(?:string|char\(\d+\)|varchar\(\d+\)) collate (\S+)")
_BY_CHARACTERS = "UTF8_BINARY"


def from_spark_type(name: str) -> str:
    """Return DuckDB's type for a ``DataType.simpleString()``; Spark's name in capitals if there is none."""
    if (match := _COLLATED.fullmatch(name)) is not None:
        return "VARCHAR" if match[1] == _BY_CHARACTERS else f"STRING WITH COLLATION {match[1]}"
    if (match := _DECIMAL.fullmatch(name)) is not None:
        return f"DECIMAL({match[1]},{match[2]})"
    if _TEXT.fullmatch(name):
        return "VARCHAR"
    return _TYPES.get(name, name.upper())


_NAMED = re.compile(r"(?P<format>parquet|orc|avro|delta|json|csv|text)\.`(?P<path>[^`]+)`", re.IGNORECASE)


_BATCH = 100_000
_WITHOUT_TEXT = ("VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")


def sent(session: Any, rows: Iterable[Sequence[Any]], names: Sequence[str], types: Sequence[Any]) -> Any:  # noqa: ANN401 - of pyspark
    """Return a Spark data frame with rows of texts, which Spark casts to types."""
    import pyarrow as pa
    from pyspark.sql import functions

    schema = pa.schema([(place, pa.string()) for place in places(names)])
    remaining = iter(rows)
    batches = [
        pa.record_batch([pa.array(column, pa.string()) for column in zip(*batch, strict=True)], schema=schema)
        for batch in iter(lambda: list(islice(remaining, _BATCH)), [])
    ]
    frame = session.createDataFrame(pa.Table.from_batches(batches, schema))
    named = zip(places(names), types, names, strict=True)
    return frame.select(*(functions.col(place).cast(kind).alias(name) for place, kind, name in named))


def _plain(frame: Any) -> Any:  # noqa: ANN401 - of pyspark
    """Return a data frame with numbered column names; columns of unsupported types are cast to text."""
    from pyspark.sql import functions

    renamed = frame.toDF(*places(frame.columns))
    carried = []
    for field in renamed.schema.fields:
        column = functions.col(field.name)
        kind = from_spark_type(field.dataType.simpleString())
        if kind == "BLOB":
            column = functions.concat(functions.lit("\\x"), functions.lower(functions.hex(column)))
        elif kind not in _WITHOUT_TEXT and not kind.startswith(_NUMBERS):
            column = column.cast("string")
        carried.append(column.alias(field.name))
    return renamed.select(*carried)
