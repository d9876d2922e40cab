"""Rows of a file that a library reads, as lines of JSON: the program that a script names."""

from __future__ import annotations

import sys
from pathlib import Path

from kanon_sql.engine.sources.excel import read_sheet
from kanon_sql.engine.sources.layout import READERS, Layout, layout_of_texts
from kanon_sql.engine.sources.sqlite import read_sqlite
from kanon_sql.engine.sources.statistics import read_statistics


def write_lines(path: Path, lines: Path, read: Layout) -> tuple[dict[str, str], str | None]:
    """Write the rows of a file as lines of JSON; return the types of its columns, and the sheet if it has several."""
    match READERS.get(read.suffix or path.suffix.lower()):
        case "excel":
            return read_sheet(path, read, lines)
        case "statistics":
            return read_statistics(path, lines, labels=bool(read.labels)), None
    return read_sqlite(path, str(read.sheet), lines), None


if __name__ == "__main__":
    write_lines(Path(sys.argv[1]), Path(sys.argv[2]), layout_of_texts(sys.argv[3:]))
