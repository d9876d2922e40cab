"""Servers that tests of other engines need: PostgreSQL on a local socket, Spark in this process's own JVM."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

_POSTGRES = [*sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True), Path("/usr/local/bin")]
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "listen_addresses": "",
    "max_connections": "50",
}


def postgres_programs() -> Path | None:
    """Return the directory with PostgreSQL's own programs; None where it is not installed."""
    on_path = shutil.which("initdb")
    found = [*_POSTGRES, *([Path(on_path).parent] if on_path else [])]
    return next((place for place in found if (place / "initdb").exists() and (place / "postgres").exists()), None)


def java() -> str | None:
    """Return the Java that Spark would run on; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


@contextmanager
def postgres_server(programs: Path, *, as_installed: bool = False) -> Iterator[str]:
    """Start a server of its own that listens on a socket in a private directory; give its connection string.

    PostgreSQL refuses to run as root: then it runs as the user ``postgres``, whom its package makes.

    Args:
        programs: where PostgreSQL's own programs are.
        as_installed: whether it has the settings that it has when installed, and not those that make tests fast.
    """
    user: dict[str, Any] = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
    # Not pytest's directory: the path of a socket has at most 107 bytes, and others may not look into that one.
    with tempfile.TemporaryDirectory(prefix="kanon_pg", ignore_cleanup_errors=True) as directory:
        place = Path(directory)
        if user:
            shutil.chown(place, "postgres", "postgres")
        data = place / "data"

        def call(*command: str) -> None:
            subprocess.run(command, check=True, capture_output=True, cwd=place, **user)  # noqa: S603 - of PostgreSQL

        owner = ["--username=tester", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
        call(str(programs / "initdb"), f"--pgdata={data}", *owner)
        settings = {"listen_addresses": ""} if as_installed else _SETTINGS
        options = " ".join(f"-c {name}={value or chr(39) * 2}" for name, value in settings.items())
        control = [str(programs / "pg_ctl"), f"--pgdata={data}", "--wait"]
        call(*control, f"--log={place / 'log'}", f"--options={options} -c unix_socket_directories={place}", "start")
        try:
            yield f"postgresql://tester@{quote(directory, safe='')}/postgres"
        finally:
            call(*control, "--mode=immediate", "stop")


def spark_session(warehouse: Path) -> Any:
    """Return a session of Spark in local mode, with its tables in a directory."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        # Tables of a hundred rows: what compiles, plans again and cleans up costs more than what it saves.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("kanon-sql tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
