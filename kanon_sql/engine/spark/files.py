"""Files that Spark reads, named as its own SQL does: ``parquet.`/data/visits``` where a table would stand."""

from __future__ import annotations

import re
from typing import Any

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
