"""What a test needs beside `.[dev]`: extras of kanon, and programs of the system."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, NoReturn

import pytest
from effort import is_thorough

EXTRAS = {
    "highspy": "prove",
    "matplotlib": "plot",
    "opendp": "dp",
    "openpyxl": "excel",
    "polars": "polars",
    "psycopg": "postgres",
    "pyarrow": "arrow",
    "pyspark": "spark",
    "sklearn": "utility",
    "starlette": "explore",
}
"""By module, the extra that installs it. Modules that only tests use are in the extra `all`."""

IN_OTHER_FRAMES = [pytest.param(kind, marks=pytest.mark.thorough) for kind in ("polars", "arrow")]
"""Cases of a test of data frames that only the thorough run does, since the libraries are extras."""

EVERYTHING = "KANON_TEST_EVERYTHING"
"""Environment variable set by `.ci/run`: a test fails if something it needs is missing."""


IN_DEV = {"duckdb", "pandas"}
"""What the quick suite has: cases of other engines and frames ask for these too."""

THOROUGH_FILES: set[str] = set()
"""Files that need something at their top, so that all of their tests are thorough."""


def needs(module: str) -> Any:
    """Import a module. Skip the test, or the file if called at its top, if the module is not installed."""
    caller = sys._getframe(1)  # noqa: SLF001 - as inspect.stack(), which reads every file of the stack
    if caller.f_code.co_name == "<module>":
        THOROUGH_FILES.add(caller.f_code.co_filename)
    elif not is_thorough() and module not in IN_DEV:
        pytest.fail(f"A test that needs {module} must be thorough: the quick suite runs without it.", pytrace=False)
    try:
        return importlib.import_module(module)
    except ImportError:
        missing(f"needs {module}: pip install 'kanon-sql[{EXTRAS.get(module.partition('.')[0], 'all')}]'")


def missing(reason: str) -> NoReturn:
    """Skip because something is missing, or fail if nothing may be missing."""
    if os.environ.get(EVERYTHING):
        pytest.fail(f"{reason} ({EVERYTHING} is set, so nothing may be missing)", pytrace=False)
    pytest.skip(reason, allow_module_level=True)
