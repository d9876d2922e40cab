"""Rows that go to Spark and come from it, by Arrow or Parquet; types that are not carried as such go as text.

Also files that Spark reads, named as its own SQL does: ``parquet.`/data/visits``` where a table would stand.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from kanon_sql.engine.files import private_directory
from kanon_sql.engine.spark.session import is_on_this_machine
from kanon_sql.sql import build as sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kanon_sql.engine.warehouse.warehouse import Receiver

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
    """Return the type that DuckDB has for a column; a name of Spark's own, in capitals, where it has none.

    Args:
        name: of the type, as ``DataType.simpleString()`` writes it.
    """
    if (match := _COLLATED.fullmatch(name)) is not None:
        return "VARCHAR" if match[1] == _BY_CHARACTERS else f"STRING WITH COLLATION {match[1]}"
    if (match := _DECIMAL.fullmatch(name)) is not None:
        return f"DECIMAL({match[1]},{match[2]})"
    if _TEXT.fullmatch(name):
        return "VARCHAR"
    return _TYPES.get(name, name.upper())


_NAMED = re.compile(r"(?P<format>parquet|orc|avro|delta|json|csv|text)\.`(?P<path>[^`]+)`", re.IGNORECASE)


def reads_file(table: str | None) -> bool:
    """Tell whether a name is that of files."""
    return table is not None and _NAMED.fullmatch(table) is not None


def view_of_file(session: Any, table: str) -> Any:  # noqa: ANN401 - a session, and a DataFrame, of pyspark
    """Return the files of a name as a data frame; CSV with names in its first line, and types as Spark finds them."""
    match = _NAMED.fullmatch(table)
    if match is None:
        raise TypeError("No files are named")
    reader = session.read.format(match["format"].lower())
    if match["format"].lower() == "csv":
        reader = reader.option("header", "true").option("inferSchema", "true")
    return reader.load(match["path"])


_BATCH = 100_000
_WITHOUT_TEXT = ("VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL")


def take(frame: Any, types: Mapping[str, str], into: Receiver, table: exp.Table) -> None:  # noqa: ANN401 - of pyspark
    """Make the rows of a data frame of Spark a temporary table of the workbench.

    Where Spark runs on this machine, it writes them to Parquet in a private directory, and nothing is held in memory.
    Elsewhere they come by Arrow, and this process holds all of them once: some 10 bytes for each number, and what texts
    take, so that a million tuples of eight columns are about 100 MB.

    Args:
        frame: whose rows are computed once.
        types: of its columns in their order, as DuckDB writes them.
        into: the workbench.
        table: what it is called there.
    """
    plain = _plain(frame)
    if is_on_this_machine(frame.sparkSession):
        with private_directory(into.spills_to) as private:
            place = private.path / "rows"
            plain.write.parquet(place.as_uri())
            into.take(table, types, _parquet(place))
    else:
        into.take_arrow(table, types, plain.toArrow())


def sent(session: Any, rows: Iterable[Sequence[Any]], names: Sequence[str], types: Sequence[Any]) -> Any:  # noqa: ANN401 - of pyspark
    """Return a data frame of Spark with rows of texts, cast to types by Spark.

    Args:
        session: of Spark.
        rows: their values as text, None for NULL.
        names: of the columns.
        types: of pyspark, one for each column.
    """
    import pyarrow as pa
    from pyspark.sql import functions

    places = [f"column_{number}" for number in range(len(names))]
    schema = pa.schema([(place, pa.string()) for place in places])
    batches = [
        pa.RecordBatch.from_arrays(
            [pa.array(column, pa.string()) for column in zip(*batch, strict=True)], schema=schema
        )
        for batch in _batches(rows)
    ]
    frame = session.createDataFrame(pa.Table.from_batches(batches, schema))
    return frame.select(
        *(functions.col(place).cast(kind).alias(name) for place, kind, name in zip(places, types, names, strict=True))
    )


def _batches(rows: Iterable[Sequence[Any]]) -> Iterator[list[Sequence[Any]]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, _BATCH)):
        yield batch


def _plain(frame: Any) -> Any:  # noqa: ANN401 - of pyspark
    """Return a data frame with its columns under names of ours, those of other types as text."""
    from pyspark.sql import functions

    places = [f"column_{number}" for number in range(len(frame.columns))]
    renamed = frame.toDF(*places)
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


def _parquet(place: Any) -> exp.Table | None:  # noqa: ANN401 - a path
    """Return the relation of the files that were written; None if there are none, for want of rows."""
    if not any(place.glob("*.parquet")):
        return None
    return exp.Table(this=exp.Anonymous(this="READ_PARQUET", expressions=[sql.literal(str(place / "*.parquet"))]))
