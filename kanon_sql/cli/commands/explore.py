"""``kanon explore``: a web application on this machine."""

from __future__ import annotations

import sys
import webbrowser
from importlib.util import find_spec
from threading import Thread
from typing import Annotated

import typer

from kanon_sql.cli.options import shared
from kanon_sql.cli.options.policy_options import policy_in
from kanon_sql.cli.output.output import print_prose, print_text
from kanon_sql.engine.files import is_in_private_directory
from kanon_sql.errors import UsageError
from kanon_sql.policy.destination import named_table


def explore_command(
    source: shared.NamedSourceArgument = None,
    table: shared.TableArgument = None,
    policy_file: shared.PolicyOption = None,
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="To listen on; without it, one that is free.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, for a browser that you open yourself.")
    ] = False,
) -> None:
    """See risk and utility move, in a browser, on this machine: columns, trade-off, levels, risk, and publish."""
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UsageError(f"kanon explore needs {' and '.join(missing)}: pip install 'kanon-sql[explore]'.")
    given = None if policy_file is None else policy_in(policy_file)
    pointed_at, table = named_table(source, table, None if given is None else given[0].origin)
    if is_in_private_directory(pointed_at):
        raise UsageError("kanon explore reads its table again and again: name a file instead of -.")
    from kanon_sql.explore.server import serve

    def begun(url: str) -> None:
        print_prose("The table is served to one browser on this machine, and to nothing else. The address opens once:")
        print_text(f"  {url}")
        print_prose("End with Ctrl-C.")
        sys.stdout.flush()  # now: the reader waits for the address
        if not no_browser:
            Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    serve(pointed_at, table, given, port, begun)
