"""Where the SQL files and the ready-made hierarchies are."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent


def data_directory(kind: str) -> Path:
    """Return the directory of the shipped files of a kind: ``sql`` or ``hierarchies``.

    In a wheel they lie inside the package (``_data/``); in an editable install, which does not see files that
    the build moves, they lie where they are edited: at the top of the repository.
    """
    installed = _PACKAGE / "_data" / kind
    return installed if installed.is_dir() else _PACKAGE.parent / kind
