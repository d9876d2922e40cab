"""Random small tables with random hierarchies, for hypothesis."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from hypothesis import strategies as st
from rows import create_table, text_columns

import kanon_sql as kanon

if TYPE_CHECKING:
    from brute_force import Hierarchy
    from rows import Columns

TABLE = 'the "table'
"""Name of the table in the database of a case."""
PERSON = "person \" '"
"""Name of its column of people, if it has one."""

# Names that break what splices text into SQL, and every name that our own statements use.
HOSTILE_NAMES = [
    'a"b; DROP TABLE x --',
    "select",
    "日本 語",
    "it's",
    "a,b",
    "a=b",
    "a.b",
    "source",
    "generalized",
    "too_small",
    "value",
    "level_1",
    "code",
    "key_0",
    "n",
    "measure_0",
    "classes",
    "label",
    "published",
    "kanon_entity",
    "kanon_source",
    "new\nline",
    "tab\tand -- comment",
    "*/ /*",
    "$1",
    "%s",
    "rowid",
    "NULL",
    "Ünïcödé",
    "🙂",
]


@dataclass(frozen=True)
class Case:
    """A table, its hierarchies, and what is asked of a release."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    hierarchies: list[Hierarchy]
    k: int
    max_suppressed: float
    persons: list[Any] | None

    def write_hierarchies(self, directory: Path) -> dict[str, str]:
        """Write each hierarchy as a file; return what to pass as ``hierarchies``."""
        paths = {}
        for number, (column, hierarchy) in enumerate(zip(self.columns, self.hierarchies, strict=True)):
            path = directory / f"hierarchy_{number}.csv"
            write_hierarchy(path, hierarchy)
            paths[column] = str(path)
        return paths


def write_hierarchy(path: Path, hierarchy: Hierarchy) -> None:
    """Write a hierarchy as a file: everything in quotes, but for NULL, which is nothing."""
    lines = [
        ";".join("" if field is None else '"{}"'.format(field.replace('"', '""')) for field in [value, *labels])
        for value, labels in hierarchy.items()
    ]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Draw a tree of one to three levels over one to seven text values, some of them empty or full of quotes.

    NULL may have a row of its own, the root may have any name, and a branch may reach the root below the top.
    """
    values = draw(
        st.lists(
            st.sampled_from(
                ["a", "b", "c", "d", "e", "f", "", "'", '"', "it's; --", "日本", "NULL", " padded ", "x;y", "0"]
            ),
            min_size=1,
            max_size=7,
            unique=True,
        )
    )
    height = draw(st.integers(1, 3))
    # In a file of one level a root that is a value too would make it a file of child,parent pairs.
    root = draw(st.sampled_from(["*", "*****", 'any"one;', *(["a", "L1-0"] if height > 1 else [])]))
    leaves = [*values, *([None] if draw(st.booleans()) else [])]
    labels: Hierarchy = {value: [] for value in leaves}
    for level in range(1, height):
        below = {value: own[-1] if own else value for value, own in labels.items()}
        parents = {
            group: root
            if level > 1 and group == root
            else draw(st.sampled_from([f"L{level}-{n}" for n in "012"] + [root]))
            for group in dict.fromkeys(below.values())
        }
        for value, own in labels.items():
            own.append(parents[below[value]])
    for own in labels.values():
        own.append(root)
    return labels


@st.composite
def cases(draw: st.DrawFn, *, max_rows: int = 25) -> Case:
    """Draw a case: up to four columns, NULLs, duplicates, hostile names, k from 1 to 6, people or rows.

    A hierarchy may have a row for NULL that the table does not need; an oracle must know that it counts for nothing.
    """
    width = draw(st.integers(1, 4))
    columns = draw(st.lists(st.sampled_from(HOSTILE_NAMES), min_size=width, max_size=width, unique_by=str.casefold))
    trees = [draw(hierarchies()) for _ in range(width)]
    row = st.tuples(*(st.sampled_from([*tree, None]) for tree in trees))
    rows = draw(st.lists(row, max_size=max_rows))
    if rows and draw(st.booleans()):
        rows = rows * draw(st.integers(1, 3))
    persons = None
    if draw(st.booleans()):
        persons = draw(st.lists(st.sampled_from([*range(8), None]), min_size=len(rows), max_size=len(rows)))
    return Case(
        columns,
        rows,
        trees,
        draw(st.integers(1, 6)),
        draw(st.sampled_from([0, 0.05, 0.1, 0.29, 0.5, 1])),
        persons,
    )


def database_with(columns: Columns) -> duckdb.DuckDBPyConnection:
    """Return a connection to a new database that has these columns as its table."""
    connection = duckdb.connect()
    create_table(connection, TABLE, columns)
    return connection


def load(case: Case) -> tuple[duckdb.DuckDBPyConnection, str | None]:
    """Put the table of a case into a database; return the connection and the name of the column of people."""
    columns = text_columns(case.columns, case.rows)
    if case.persons is not None:
        columns[PERSON] = "BIGINT", case.persons
    return database_with(columns), None if case.persons is None else PERSON


def anonymize(case: Case, connection: duckdb.DuckDBPyConnection, person: str | None, **asked: Any) -> kanon.Release:
    """Anonymize the table of a case, its hierarchies read from files."""
    with tempfile.TemporaryDirectory() as directory:
        return kanon.anonymize(
            connection,
            TABLE,
            quasi_identifiers=case.columns,
            models=[kanon.KAnonymity(case.k, entity=person)],
            hierarchies=case.write_hierarchies(Path(directory)),
            max_suppressed=case.max_suppressed,
            **asked,
        )
