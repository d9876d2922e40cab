"""Rewriting a database so that nothing is left in its file of what was deleted or changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from kanon_sql import sql
from kanon_sql.destinations import kind_of
from kanon_sql.engine.sources import is_database, open_database
from kanon_sql.errors import UsageError
from kanon_sql.in_place.publish import HowInPlace, check_backup, try_views
from kanon_sql.in_place.facts import facts_of_table
from kanon_sql.in_place.rewrite import copy_of
from kanon_sql.timing import timed
from kanon_sql.whole_files import (
    copy_whole,
    require_no_log,
    require_replaceable,
    require_space,
    take_place,
    workspace,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from kanon_sql.engine.duckdb import DuckDBEngine
    from kanon_sql.in_place.facts import TableFacts


@dataclass(frozen=True)
class Cleaned:
    """A database file that was rewritten.

    Attributes:
        file: the file.
        bytes_before: its size.
        bytes_after: its size now.
        dropped: names of the tables that were left out.
        tables: how many tables there are.
        hierarchies: names of hierarchies in it, which list values of columns.
        backup: the copy of the file as it was; None if none was asked for.
        seconds: that it took.
    """

    file: Path
    bytes_before: int
    bytes_after: int
    dropped: tuple[str, ...]
    tables: int
    hierarchies: tuple[str, ...]
    backup: Path | None
    seconds: float
