"""Released files read back: CSV by a reader of our own, JSON by Python's and by DuckDB's, Parquet by DuckDB's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
from fuzz_cases import quoted

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz_cases import FuzzCase
    from fuzz_oracle import Cell, Rows


def texts(connection: duckdb.DuckDBPyConnection, relation: str, columns: list[str]) -> Rows:
    """Return the rows of a relation with their cells as text."""
    cells = ", ".join(f"CAST({quoted(name)} AS VARCHAR)" for name in columns)
    return connection.execute(f"SELECT {cells} FROM {relation}").fetchall()  # noqa: S608 - names in quotes


def columns_of(connection: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    """Return the columns of a relation with their types."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()  # noqa: S608 - as above
    return {name: kind for name, kind, *_ in described}


def read_file(case: FuzzCase, path: Path) -> tuple[list[str], Rows]:
    """Return the columns and the rows of a file, each cell as the text that DuckDB writes for it."""
    if path.suffix == ".csv":
        header, *lines = parse_csv(path.read_bytes().decode())
        return [name or "" for name in header], lines
    with duckdb.connect() as connection:
        if path.suffix == ".parquet":
            relation = f"read_parquet({_literal(str(path))})"
            columns = columns_of(connection, relation)
            return list(columns), texts(connection, relation, list(columns))
        text = path.read_text(encoding="utf-8")
        objects = _loaded(text) if path.suffix == ".json" else [_loaded(line) for line in text.splitlines() if line]
        if not objects:
            return case.published(), []
        names = list(objects[0])
        kinds = {column.name: column.type.removesuffix(" COLLATE NOCASE") for column in case.columns}
        kinds |= dict.fromkeys(case.named("qi"), "VARCHAR")
        types = ", ".join(f"{_literal(name)}: '{'JSON' if kinds[name] == 'JSON' else 'VARCHAR'}'" for name in names)
        cast = ", ".join(f"CAST({quoted(name)} AS {kinds[name]}) AS {quoted(name)}" for name in names)
        read = f"read_json({_literal(str(path))}, columns = {{{types}}})"
        return names, texts(connection, f"(SELECT {cast} FROM {read})", names)  # noqa: S608 - as above


def _literal(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


def _loaded(text: str) -> Any:
    """Return what a text of JSON says; NaN and Infinity, which are no JSON, are refused."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def parse_csv(text: str) -> list[tuple[Cell, ...]]:
    """Return the rows of a CSV file; nothing at all is NULL, and an empty text stands in quotes."""
    rows: list[tuple[Cell, ...]] = []
    row: list[Cell] = []
    place = 0
    while place < len(text):
        cell: Cell = None
        if text[place] == '"':
            parts = []
            while True:
                end = text.index('"', place + 1)
                parts.append(text[place + 1 : end])
                place = end + 1
                if text[place : place + 1] != '"':
                    break
            cell = '"'.join(parts)
        else:
            start = place
            while place < len(text) and text[place] not in ",\r\n":
                place += 1
            cell = text[start:place] or None
        row.append(cell)
        if text[place : place + 1] == ",":
            place += 1
            if text[place : place + 1] in {"", "\n", "\r"}:  # nothing stands after the last comma
                row.append(None)
            else:
                continue
        assert text[place : place + 1] in {"", "\n", "\r"}, "a cell goes on behind its quotes"
        place += 2 if text.startswith("\r\n", place) else 1
        rows.append(tuple(row))
        row = []
    return rows
