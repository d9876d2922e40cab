"""``export_hierarchy``: write any hierarchy as a CSV file that ARX can read, and kanon reads back unchanged.

ARX files have no header, ``;`` between labels, ``"`` around fields that need it, the leaf first and the root last. ARX
has no NULL: it has empty texts, and the text NULL, which it treats as missing. NULL is written as an empty field
without quotes, the empty text as ``""``: ARX reads both as empty, and kanon's reader distinguishes them. For data in
which ARX finds the word NULL, that word can be written instead.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kanon_sql.engine.base import resolve_columns
from kanon_sql.engine.files import require_free, write_whole
from kanon_sql.engine.sources.data_files import require_not_read
from kanon_sql.engine.sources.open_source import Source, is_database, open_database, open_source
from kanon_sql.errors import HierarchyError, UsageError
from kanon_sql.hierarchy.check import require_tree
from kanon_sql.hierarchy.given import make_hierarchy, stored_hierarchies
from kanon_sql.hierarchy.lookup_relation import lookup_statement
from kanon_sql.hierarchy.ready import READY
from kanon_sql.hierarchy.report import Shape, rows_query, shape_of_hierarchy, shape_of_relation, shape_of_rows
from kanon_sql.hierarchy.spec import FileRule, GivenHierarchies, as_given, parse_rule
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlglot import exp

    from kanon_sql.engine.base import Engine, Logged
    from kanon_sql.hierarchy.lookup_relation import StoredHierarchy
    from kanon_sql.hierarchy.spec import Given


@dataclass(frozen=True)
class Exportable:
    """A hierarchy in an open database: the query of its rows, and the statements that make the inputs of the query."""

    engine: Engine
    query: exp.Select
    shape: Shape
    statements: tuple[exp.Expr, ...] = ()

    def text(self, null: str) -> str:
        return arx_text(self.engine.rows(self.query, "rows of the hierarchy"), null)


def export_hierarchy(
    source: Any,  # noqa: ANN401 - a file, or what anonymize takes
    table: str | None = None,
    *,
    out: str | os.PathLike[str],
    column: str | None = None,
    hierarchy: Any = None,  # noqa: ANN401 - what a policy takes
    null: str = "",
    replace: bool = False,
) -> Shape:
    """Write a hierarchy to a CSV file for ARX.

    ``source`` and ``table`` are as for ``anonymize``; without a ``column``, the source is a hierarchy file or
    ``ready:NAME``. ``hierarchy`` is a rule, a file, a mapping or a data frame; by default the one in the database, or
    else a chosen one. ``null`` replaces NULL: ARX treats the word NULL as missing. ``replace`` an existing file.
    Returns the shape of the written hierarchy.
    """
    path = Path(out)
    check_csv_target(path, source, hierarchy, replace=replace)
    if column is None:
        if hierarchy is not None:
            raise UsageError("A hierarchy is given without the column that it is for: name the column.")
        shape, text = file_as_arx(str(source), null)
    else:
        with exportable(source, table, column, None if hierarchy is None else as_given(hierarchy)) as found:
            shape, text = found.shape, found.text(null)
    write_whole(path, text, "The hierarchy")
    return shape


def check_csv_target(path: Path, *read: object, replace: bool) -> None:
    """Raise if a file is not a CSV file, exists, or is also read."""
    if path.suffix.lower() != ".csv":
        raise UsageError(f"Hierarchies are written as CSV: give a file whose name ends in .csv, not {path}.")
    require_free(path, replace=replace)
    require_not_read(path, *read)


def file_as_arx(name: str, null: str) -> tuple[Shape, str]:
    rule = parse_rule(name) if name.startswith(READY) else FileRule(Path(name))
    if not isinstance(rule, FileRule):
        raise UsageError(f"{name} has no values of its own: give the table, and COLUMN={name}.")
    title = rule.path.stem
    read = rule.read(title)
    return shape_of_rows(read, rule, title), arx_text(read.rows, null)


@contextmanager
def exportable(
    source: Any,  # noqa: ANN401 - what open_source takes
    table: str | None,
    column: str,
    rule: Given | None,
    listener: Callable[[Logged], None] | None = None,
) -> Iterator[Exportable]:
    """Open a source and make the hierarchy of a column: by default the stored one, or else a chosen one."""
    path = Path(source) if isinstance(source, str | Path) else None
    if table is None and rule is None and path is not None and is_database(path):
        with open_database(path, writable=False) as engine:
            engine.listener = listener
            if (kept := stored_hierarchies(engine).get(folded(column))) is not None:
                yield _stored(engine, kept)
                return
    opened = open_source(source, table)
    with opened.engine:
        opened.engine.listener = listener
        yield _made(opened, column, rule)


def _stored(engine: Engine, kept: StoredHierarchy) -> Exportable:
    kept.require_levels()
    require_tree(engine, kept.relation, kept.height, kept.column, kept.origin)
    shape = shape_of_relation(engine, kept.relation, kept.height, kept.column, kept.origin)
    return Exportable(engine, rows_query(kept.relation, kept.height, as_text=True), shape)


def _made(opened: Source, name: str, rule: Given | None) -> Exportable:
    (column,) = resolve_columns([name], opened.columns, opened.name)
    given = GivenHierarchies(hierarchies={} if rule is None else {column.name: rule})
    hierarchy = make_hierarchy(opened, column, given)
    shape = shape_of_hierarchy(opened.engine, hierarchy)
    if hierarchy.chosen:
        note = "no hierarchy was given, and this one was chosen, as kanon init would"
        shape = replace(shape, notes=(*shape.notes, note))
    statements = (*opened.setup, lookup_statement(opened.engine, hierarchy))
    return Exportable(opened.engine, rows_query(hierarchy.relation, hierarchy.height, as_text=True), shape, statements)


_NEEDS_QUOTES = set('";\r\n')
_BEGINS_ANOTHER_FORMAT = ("[", "{", "<", "\ufeff")


def arx_text(rows: Iterable[Sequence[str | None]], null: str = "") -> str:
    """Return rows (a value and its labels up to the root) as the text of an ARX file; ``null`` replaces NULL.

    A label must not be empty: neither ARX nor kanon's reader could distinguish it from a missing one.
    """
    lines = []
    for number, (value, *labels) in enumerate(rows, start=1):
        if not all(labels):
            raise HierarchyError(
                f"Row {number:,} of the hierarchy has an empty label, which a file cannot tell from one that is "
                "missing: give it a name."
            )
        first = null if value is None else _quoted(value)
        lines.append(";".join([first, *map(_quoted, labels)]))
    return "".join(f"{line}\n" for line in lines)


def _quoted(text: str | None) -> str:
    """Return a field, quoted if it would otherwise be misread."""
    plain = text or ""
    safe = plain == plain.strip() and plain.isprintable() and not _NEEDS_QUOTES & set(plain)
    if plain and safe and not plain.startswith(_BEGINS_ANOTHER_FORMAT):
        return plain
    return '"{}"'.format(plain.replace('"', '""'))
