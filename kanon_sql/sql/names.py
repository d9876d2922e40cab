"""Decide which names need quotes. People read the SQL, and quotes around every plain word get in their way."""

from __future__ import annotations

import re
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")

# Every word that DuckDB 2.0, PostgreSQL 17 or Spark 4 (in ANSI mode) does not accept everywhere as a bare name.
RESERVED = frozenset(
    """
    all analyse analyze and anti any array as asc asof asymmetric at authorization between bigint binary bit
    boolean both by case cast char character check coalesce collate collation column columns concurrently
    constraint create cross cube current_catalog current_date current_role current_schema current_time
    current_timestamp current_user date day dec decimal default deferrable delete desc describe distinct do
    double drop else end escape except exclude exists extract false fetch filter first float for foreign freeze
    from full function generated glob grant greatest group grouping grouping_id having hour ilike in initially
    inner inout insert int integer intersect interval into is isnull join json json_array json_arrayagg
    json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value lambda
    last lateral leading least left like limit localtime localtimestamp map merge merge_action minus minute
    month national natural nchar none normalize not notnull null nullif numeric offset on only or order out
    outer overlaps overlay partition pivot pivot_longer pivot_wider placing position positional precision
    primary qualify range real recursive references replace returning right rollup row rowid rows second select
    semi session_user set setof show similar smallint some struct substring summarize symmetric system_user
    table tablesample text then time timestamp to trailing treat trim true truncate try_cast tuple union unique
    unknown unpack unpivot update user using values varchar variadic verbose when where window with within
    xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize
    xmltable year
    """.split()  # noqa: SIM905 - a block of words can be read, a list of quoted ones cannot
)


def needs_quotes(name: str) -> bool:
    """Return True if a name must be quoted to mean itself in every supported dialect."""
    return name in RESERVED or _PLAIN.fullmatch(name) is None


_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def folded(name: str) -> str:
    """Return a name as SQL compares it: DuckDB ignores the case of the 26 ASCII letters only."""
    return name.translate(_LOWER)


def unused_name(wanted: str, taken: Iterable[str]) -> str:
    """Return the wanted name, or the first of ``wanted_2``, ``wanted_3``, ... that is not taken.

    Names are compared as in SQL: case is ignored.
    """
    return _unused(wanted, {folded(name) for name in taken})


def unused_names(wanted: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return a different name for each of several wanted ones, as ``unused_name`` does."""
    lowered = {folded(name) for name in taken}
    names = []
    for one in wanted:
        names.append(_unused(one, lowered))
        lowered.add(folded(names[-1]))
    return names


def _unused(wanted: str, lowered: set[str]) -> str:
    name, number = wanted, 1
    while folded(name) in lowered:
        number += 1
        name = f"{wanted}_{number}"
    return name


def with_given(by_name: Mapping[str, Any], given: Mapping[str, Any], but: Iterable[str] = ()) -> dict[str, Any]:
    """Merge mappings by name; ``given`` overrides ``by_name``. Leave out the folded names in ``but``."""
    gone = {*but, *map(folded, given)}
    return {**{name: own for name, own in by_name.items() if folded(name) not in gone}, **given}
