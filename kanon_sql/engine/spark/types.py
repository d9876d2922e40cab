"""Which type of DuckDB the values of a type of Spark have, and how they are written where there is none."""

from __future__ import annotations

import re

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


def type_of(name: str) -> str:
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
