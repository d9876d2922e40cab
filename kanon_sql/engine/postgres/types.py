"""Which type of DuckDB the values of a type of PostgreSQL have."""

from __future__ import annotations

_TYPES = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "boolean": "BOOLEAN",
    "text": "VARCHAR",
    "character varying": "VARCHAR",
    "character": "VARCHAR",
    "bpchar": "VARCHAR",
    "name": "VARCHAR",
    "date": "DATE",
    "timestamp without time zone": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
    "time without time zone": "TIME",
    "uuid": "UUID",
}
_JSON = "json"
_ENUM = "E"
_HEADER, _SCALE_BITS, _SCALE = 4, 16, 0x7FF
_MOST_DIGITS = 38


def type_of(name: str, category: str, modifier: int, deterministic: bool) -> str:
    """Return the type that DuckDB has for a column; a name of PostgreSQL's own, in capitals, where it has none.

    Args:
        name: of the type, as PostgreSQL writes it; of a domain, what is behind it.
        category: ``E`` for an ENUM, whose values are read as texts.
        modifier: of the type; of NUMERIC its digits and scale.
        deterministic: whether texts that are equal under the collation are written alike.
    """
    if not deterministic:
        return f"{name.upper()} WITH A NONDETERMINISTIC COLLATION"
    if category == _ENUM:
        return "ENUM"
    if name == _JSON:  # a text that PostgreSQL compares with no other one
        return "JSON AS IT IS WRITTEN"
    if name == "numeric" and modifier >= _HEADER:
        digits = (modifier - _HEADER) >> _SCALE_BITS
        scale = (modifier - _HEADER) & _SCALE
        if digits <= _MOST_DIGITS and scale <= digits:  # PostgreSQL 15 has negative scales too
            return f"DECIMAL({digits},{scale})"
    return _TYPES.get(name, name.upper())
