"""Notebooks as pages: their texts, their code and what it printed when they were last run.

The outputs that are kept in the file are shown; tests/docs/test_notebooks.py runs the notebook and holds it to them.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook, and the notebook itself to be taken along."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=as_markdown(path)))
        taken = File.generated(config, f"notebooks/files/{path.name}", abs_src_path=str(path))
        files.append(taken)
    return files


def as_markdown(path: Path) -> str:
    """Return a notebook as Markdown."""
    notebook: Any = nbformat.read(path, as_version=4)
    cells = [_cell(cell) for cell in notebook.cells]
    taken = f"[This page as a notebook](files/{path.name})"
    head, *others = cells
    return "\n\n".join([head, taken, *others, ""])


def _cell(cell: Any) -> str:  # noqa: ANN401 - a node of nbformat has any fields
    if cell.cell_type != "code":
        return str(cell.source)
    return "\n\n".join([f"```python\n{cell.source}\n```", *(_output(output, cell) for output in cell.outputs)])


def _output(output: Any, cell: Any) -> str:  # noqa: ANN401
    """Return one output of a cell: a picture, which the cell's ``alt`` describes, or text."""
    if output.output_type == "stream":
        return _printed(output.text)
    data = output.data
    if "image/png" in data:
        picture = data["image/png"].replace("\n", "")
        return f'<p><img alt="{escape(cell.metadata.alt)}" src="data:image/png;base64,{picture}"></p>'
    return _printed(data["text/plain"])


def _printed(text: str) -> str:
    return f"```text {{ .output }}\n{text.rstrip()}\n```"
