"""Seconds of ``kanon explore``: from the start of the command to a page, and from a moved slider to its figures.

    python benchmarks/explore.py [--adult ../shared/data/adult] [--tuples 20000 1000000]

1. The command is started on Adult, with a policy and without (then roles are proposed from a profile first), and its
   pages are asked for as a browser does: the first one that answers, and the one with the columns.
2. Made tables in which nearly every row is a tuple of its own. From the optimum a slider is moved by a level, and the
   server is asked for the figures: a step to a node beside the one before, after the pages have looked at these, and a
   jump to any node.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import httpx2 as httpx

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE = """
CREATE TABLE made AS
SELECT
    18 + (random() * 80)::INTEGER AS age, ['F', 'M'][1 + i % 2] AS sex,
    lpad(((random() * random()) * 99999)::INTEGER::VARCHAR, 5, '0') AS zip,
    DATE '2000-01-01' + (random() * 8000)::INTEGER AS seen
FROM range($rows) made(i)
"""
POLICY = """
[columns]
quasi_identifiers = ["age", "sex", "zip", "seen"]
[hierarchies]
age = "intervals:5,10,20,40"
zip = "mask:right:1,2,3,4"
seen = "date:month,quarter,year,decade"
[privacy]
count = "rows"
"""
ADULT = """
[columns]
quasi_identifiers = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
sensitive = ["salary-class"]
[hierarchies]
directory = "."
"""
MOVES = 30


@contextmanager
def exploring(*arguments: str) -> Iterator[tuple[httpx.Client, float]]:
    """Start the command; hand out a client that opened its first address, and when the command was started."""
    begun = time.monotonic()
    command = [sys.executable, "-m", "kanon_sql", "explore", *arguments, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        assert process.stdout is not None  # noqa: S101
        url = next(line.strip() for line in process.stdout if "http://" in line)
        try:
            with httpx.Client(follow_redirects=True, timeout=600) as client:
                client.base_url = client.get(url).url.join(".")
                yield client, begun
        finally:
            process.terminate()


def first_pages(*arguments: str) -> tuple[float, float]:
    """Return the seconds to the first page that answers, and to the one with the columns."""
    with exploring(*arguments) as (client, begun):
        first = time.monotonic() - begun
        while "Which column is what" not in client.get("/columns").text:
            time.sleep(0.05)
        return first, time.monotonic() - begun


def settled(client: httpx.Client, url: str) -> str:
    while 'id="figures"' not in (text := client.get(url).text):
        time.sleep(0.1)
    return text


def slider(database: Path, policy: Path) -> dict[str, list[float]]:
    """Return the seconds that figures took, after a step and after a jump."""
    draw = random.Random(20)  # noqa: S311 - the same moves each time
    found: dict[str, list[float]] = {"step": [], "jump": []}
    with exploring(str(database), "made", "--policy", str(policy)) as (client, _):
        board = settled(client, "/levels/board")
        sliders = re.findall(r'name="level\.(\w+)" min="0" max="(\d+)" step="1" value="(\d+)"', board)
        heights = [int(height) for _, height, _ in sliders]
        node = [int(level) for *_, level in sliders]

        def ask(kind: str, levels: list[int], seconds: list[float] | None) -> None:
            query = {f"level.{name}": level for (name, *_), level in zip(sliders, levels, strict=True)}
            begun = time.monotonic()
            client.get(f"/levels/{kind}", params=query).raise_for_status()
            if seconds is not None:
                seconds.append(time.monotonic() - begun)

        ask("figures", node, None)
        for _ in range(MOVES):
            ask("lower", node, None)  # as the page does; nodes above are looked at after the answer
            time.sleep(0.5)
            ask("lower", node, None)
            place = draw.randrange(len(node))
            node[place] = min(max(node[place] + draw.choice((-1, 1)), 0), heights[place])
            ask("figures", node, found["step"])
        for _ in range(MOVES // 3):
            ask("figures", [draw.randint(0, height) for height in heights], found["jump"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, default=Path("../shared/data/adult"))
    parser.add_argument("--tuples", type=int, nargs="*", default=[20_000, 1_000_000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        if arguments.adult.is_dir():
            policy = arguments.adult.absolute()
            file = Path(directory) / "adult.toml"
            file.write_text(ADULT.replace('"."', f'"{policy}"'), encoding="utf-8")
            table = str(arguments.adult / "adult.csv")
            for words, given in (("with a policy", ("--policy", str(file))), ("without a policy", ())):
                first, columns = first_pages(table, *given)
                print(f"Adult, {words}: first page after {first:.2f} s, columns after {columns:.2f} s")
        policy = Path(directory) / "made.toml"
        policy.write_text(POLICY, encoding="utf-8")
        for rows in arguments.tuples:
            database = Path(directory) / f"made_{rows}.duckdb"
            with duckdb.connect(str(database)) as connection:
                connection.execute("SELECT setseed(0.5)")
                connection.execute(TABLE, {"rows": rows})
            for kind, seconds in slider(database, policy).items():
                half, nine = statistics.median(seconds), statistics.quantiles(seconds, n=10)[-1]
                print(f"{rows:,} rows, {kind}: median {1000 * half:.0f} ms, 9 of 10 within {1000 * nine:.0f} ms")


if __name__ == "__main__":
    main()
