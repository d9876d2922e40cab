"""Files of SPSS, Stata and SAS, read by pyreadstat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.engine.base import named_once
from kanon_sql.engine.sources.rows import write_rows
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

_READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}


def read_statistics(path: Path, lines: Path, *, labels: bool) -> dict[str, str]:
    """Write the rows of a file as lines of JSON; return the types of its columns.

    With ``labels``, a value that has a label is read as its label. Values that the file declares missing are.
    """
    try:
        import pyreadstat
    except ImportError:
        raise UsageError(
            "Files of SPSS, Stata and SAS need the library pyreadstat, which is not installed: "
            "pip install 'kanon-sql[stats]'."
        ) from None
    read = getattr(pyreadstat, _READERS.get(path.suffix.lower(), "read_sav"))
    try:
        frame, _ = read(str(path), **({"apply_value_formats": True, "formats_as_category": False} if labels else {}))
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeError, ValueError):
        raise SourceError(f"{path} cannot be read as {path.suffix}. Was it written to its end?") from None
    names = [str(name) for name in frame.columns]
    named_once(names, str(path))
    with lines.open("w", encoding="utf-8") as written:
        return write_rows(names, frame.astype(object).itertuples(index=False, name=None), written)
