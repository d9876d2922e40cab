"""stderr: how large a script is, and what of the tables can be read in it."""

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
    """Say what of the tables can be read in a script, also if quiet; and how large it is.

    Args:
        script: what is printed.
        which: ``all`` if the statements that were run before it are printed too.
        talk: what the command says.
        whole: columns of which it has all values of the hierarchy.
        population: whether values of a population are among the others.
        advice: how to have no values in it.
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
