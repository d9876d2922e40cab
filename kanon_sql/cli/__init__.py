"""The command line: one module for each group of commands."""

from kanon_sql import __version__

VERSION_LINE = f"kanon-sql {__version__}\n"
