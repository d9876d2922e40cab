"""stderr: the size of a script, and the values of the tables that it contains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kanon_sql.cli.output.diagnostics import note

if TYPE_CHECKING:
    from collections.abc import Collection

    from kanon_sql.cli.output.diagnostics import Talk
    from kanon_sql.release.script import Script


def say_of_script(
    script: Script,
    which: str,
    talk: Talk,
    *,
    whole: Collection[str] = (),
    population: bool = False,
    advice: str = "",
) -> None:
    """Print which values of the tables a script contains, even if quiet, and its size.

    Args:
        script: what is printed.
        which: ``all`` if it includes the statements that were executed before.
        talk: messages of the command.
        whole: columns whose hierarchy values it contains completely.
        population: True if values of a population are among the others.
        advice: how to avoid values in the script.
    """
    size = f"The script has {len(script.text.encode()):,} bytes"
    if script.held:
        there = "those of published rows" + (" and of the population" if population else "")
        held = ", ".join(
            f"{number:,} of {column} ({'all of its hierarchy' if column in whole else there})"
            for column, number in script.held.items()
        )
        where = f"The files in {script.files[0].parent} hold" if script.files else "It holds"
        talk.end()
        note(f"{size}. {where} values as they are: {held}. Keep them as you keep the table.{advice}")
    else:
        talk.note(f"{size} and holds no list of values of the table.")
    if which == "all":
        talk.warn(
            "The statements before the script can hold values of all rows as they are, suppressed ones "
            "too: the ends of ranges, values of hierarchies. Keep them as you keep the table."
        )
