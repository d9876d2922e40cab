"""Notebooks in the docs run, and print what is kept in their files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from conftest import REPOSITORY
from needs import needs

if TYPE_CHECKING:
    from pathlib import Path

NOTEBOOKS = sorted((REPOSITORY / "docs/notebooks").glob("*.ipynb"))


def shown(notebook: Any) -> list[list[str]]:
    """Return what each cell of code shows as text; of a picture, that there is one."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[output.get("text") or output["data"]["text/plain"] for output in cell.outputs] for cell in cells]


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_does(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))  # the kernel is another process, with a directory of its own
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    nbclient, nbformat = needs("nbclient"), needs("nbformat")
    needs("ipykernel")
    kept = nbformat.read(path, as_version=4)
    run = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(run, timeout=300, kernel_name="python3", resources=where).execute()
    assert shown(run) == shown(kept)
    assert (tmp_path / "patients_k5.parquet").exists()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_no_trace_of_the_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "/tmp/" not in text  # noqa: S108 - looked for, not written to
    assert not re.search(r'"(?:iopub|shell)\.', text), "times at which cells were run"
