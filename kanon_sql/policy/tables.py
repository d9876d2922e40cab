"""What is required of several tables of a database that are released together: a kanon.toml with ``[tables.NAME]``.

    [privacy]
    k = 5
    km = 1                                  # events that an attacker may know

    [tables.patients]
    rows = "people"                         # one row for each person
    person = "patient_id"                   # the column that names the person
    quasi_identifiers = ["birth_date", "sex"]
    rest = "drop"
    hierarchies = { birth_date = "date:year,decade" }

    [tables.visits]                         # rows are events, unless something else is said
    person = "patient_id"
    key = "visit_id"                        # to which other tables refer
    quasi_identifiers = ["day"]

    [tables.prescriptions]
    person = { through = "visit_id", to = "visits" }
    quasi_identifiers = ["drug"]

    [tables.wards]
    rows = "kept"                           # about nobody: published as it is; or "dropped"
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kanon_sql.policy.policy import DEFAULT_K, DEFAULT_MAX_SUPPRESSED
from kanon_sql.policy.roles import NamedColumns

if TYPE_CHECKING:
    from collections.abc import Mapping

Rows = Literal["people", "events", "kept", "dropped"]


@dataclass(frozen=True)
class Through:
    """How a row reaches its person by another row: ``column`` has the key of a row of ``table``."""

    column: str
    table: str


@dataclass(frozen=True)
class TablePolicy:
    """What is required of one of the tables.

    Attributes:
        name: of the table; with its schema before a point, where that is not the current one.
        rows: what they are: people (one row each), events of people, or of nobody: kept as they are, or dropped.
        person: the column that names the person, or how a row reaches the row that has it; None where rows are of
            nobody.
        key: the column that names a row, where other tables refer to it.
        columns: the roles of its columns. Those that name persons and rows have none: they become pseudonyms.
        hierarchies: for quasi-identifiers, a rule or a file.
    """

    name: str
    rows: Rows = "events"
    person: str | Through | None = None
    key: str | None = None
    columns: NamedColumns = NamedColumns()
    hierarchies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TablesPolicy:
    """What is required of tables that are released together.

    Attributes:
        tables: in the order of the file.
        k: people that share what is published of a person, and of any ``km`` of her events.
        km: events that an attacker may know.
        max_suppressed: the share of the people, and of the events of each table, that may be left out; as for one
            table.
        time_limit: seconds for all of the work.
        seed: of the order of rows; drawn when not given.
        key_file: the file with the key of pseudonyms; drawn for this release if there is none.
        source: the database, where the file names it.
        into_schema: the schema that the release is written to, where the file names it.
        out: the DuckDB file that it is written to.
        out_directory: the directory that files are written to.
        directory: of the policy file, from which paths start.
    """

    tables: tuple[TablePolicy, ...]
    k: int = DEFAULT_K
    km: int = 1
    max_suppressed: float | str = DEFAULT_MAX_SUPPRESSED
    time_limit: float | None = None
    seed: int | None = None
    key_file: Path | None = None
    source: str | None = None
    into_schema: str | None = None
    out: Path | None = None
    out_directory: Path | None = None
    directory: Path = Path()
