"""Sessions of Spark: opened by a URL, and with settings of ours for as long as a statement runs."""

from __future__ import annotations

import re
import signal
import socket
import threading
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from kanon_sql.engine.spark.failures import condition_of
from kanon_sql.errors import SourceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONNECT, LOCAL = "sc://", "spark:"
_PORT, _WAIT = 15002, 10  # of Spark Connect; seconds
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.cteRecursionLevelLimit": "-1",
    "spark.sql.cteRecursionRowLimit": "-1",
    "spark.sql.legacy.createHiveTableByDefault": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
"""How statements are read and values are written, whatever the settings of the session are."""

_OF_A_NEW_ONE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # what Spark writes to its log quotes cells
}
_PLACE = re.compile(r"(?P<scheme>sc|spark)://(?P<host>[^/;?]*)")


@contextmanager
def ours(session: Any) -> Iterator[None]:  # noqa: ANN401 - a session of either kind
    """Give a session the settings that our statements need, and take them back at the end."""
    before: dict[str, str | None] = {}
    try:
        for name, value in _SETTINGS.items():
            if session.conf.get(name) != value:
                before[name] = session.conf.get(name, None)
                session.conf.set(name, value)
        yield
    finally:
        for name, was in before.items():
            if was is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, was)


def tagged(session: Any, tag: str, stack: ExitStack) -> Callable[[str], object]:  # noqa: ANN401 - as above
    """Give a tag to the jobs that begin from now on; return what stops those that have it.

    Tags of a classic session are known to one thread of Java alone, which an interrupted call leaves behind.

    Args:
        session: of either kind.
        tag: a new one.
        stack: at whose end jobs do not get the tag any more.
    """
    if is_connect(session):
        session.addTag(tag)
        stack.callback(session.removeTag, tag)
        return session.interruptTag  # type: ignore[no-any-return]
    context = session.sparkContext
    context.addJobTag(tag)
    stack.callback(context.removeJobTag, tag)
    return context.cancelJobsWithTag  # type: ignore[no-any-return]


def is_connect(session: Any) -> bool:  # noqa: ANN401 - as above
    """Tell whether a session speaks to a server by Spark Connect; else it has a driver of its own."""
    return any(kind.__module__.startswith("pyspark.sql.connect") for kind in type(session).__mro__)


def is_on_this_machine(session: Any) -> bool:  # noqa: ANN401 - as above
    """Tell whether all of Spark runs here, as this user: then it writes files that we can read."""
    return not is_connect(session) and re.fullmatch(r"local(\[.*\])?", session.sparkContext.master) is not None


def opened(url: str) -> tuple[Any, bool]:
    """Return the session that a URL names, and whether Spark was started for it.

    ``spark:`` runs Spark in this process, on all cores; ``spark:local[2]`` on two; ``spark://host:7077`` on a cluster;
    ``sc://host:15002`` speaks to a server of Spark Connect. Settings follow a question mark.

    Raises:
        SourceError: it cannot be reached, or pyspark, Java or gRPC is not there.
        UsageError: there is a Spark in this process already, and it is another one.
    """
    try:
        with warnings.catch_warnings():  # of a pandas that is newer than this pyspark knows; none is used here
            warnings.simplefilter("ignore", FutureWarning)
            import pyspark.sql
    except ImportError:
        raise SourceError("Spark needs pyspark, which is not here: pip install 'kanon-sql[spark]'.") from None
    if url.startswith(CONNECT):
        return _connected(url), True
    master, _, settings = url.partition("?")
    master = master if master.startswith("spark://") else master.removeprefix(LOCAL) or "local[*]"
    running = pyspark.SparkContext._active_spark_context  # noqa: SLF001 - there is no public way to ask
    if running is not None:
        if running.master != master:
            raise UsageError(
                f"Spark runs in this process already, on {running.master}: give its session instead of a URL."
            )
        return pyspark.sql.SparkSession.builder.getOrCreate().newSession(), False
    builder = pyspark.sql.SparkSession.builder.master(master).appName("kanon-sql")
    settings_of_it = {**_OF_A_NEW_ONE, **dict(parse_qsl(settings))}
    for name, value in settings_of_it.items():
        builder = builder.config(name, value)
    try:
        with _ctrl_c_kept():
            session = builder.getOrCreate()
        session.sparkContext.setLogLevel(str(settings_of_it["spark.log.level"]))
    except Exception as error:  # noqa: BLE001 - pyspark raises what Java does, and errors of its own
        raise _unreachable(url, error) from None
    return session, True


@contextmanager
def _ctrl_c_kept() -> Iterator[None]:
    """Keep what this program does on Ctrl-C: pyspark sets an answer of its own when it starts."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def place_of(url: str) -> str:
    """Return a URL as it may be shown: without tokens and settings."""
    if (match := _PLACE.match(url)) is None:
        return url.partition("?")[0]
    return f"{match['scheme']}://{match['host'].rpartition('@')[2]}"


def _connected(url: str) -> Any:  # noqa: ANN401 - as above
    try:
        import grpc  # type: ignore[import-untyped] # noqa: F401 - says what is missing in fewer words than pyspark
        import grpc_status  # type: ignore[import-untyped] # noqa: F401
        from pyspark.sql.connect.session import SparkSession
    except ImportError:
        raise SourceError(
            "Spark Connect needs gRPC, which is not here: pip install 'kanon-sql[spark-connect]'."
        ) from None
    address = urlsplit(url)
    try:  # gRPC itself would try for many minutes
        socket.create_connection((address.hostname or "localhost", address.port or _PORT), _WAIT).close()
    except (OSError, ValueError) as error:
        raise _unreachable(url, error) from None
    try:
        session = SparkSession.builder.remote(url).create()
        session.version  # noqa: B018 - asks the server
    except Exception as error:  # noqa: BLE001 - of gRPC, or of pyspark
        raise _unreachable(url, error) from None
    return session


def _unreachable(url: str, error: Exception) -> SourceError:
    condition, _ = condition_of(error)
    if condition == "JAVA_GATEWAY_EXITED":
        return SourceError(
            "Spark did not start: it needs Java 17 or later (Debian: apt install openjdk-17-jre-headless), on the PATH "
            "or in JAVA_HOME."
        )
    why = f" ({condition})" if condition else f" ({type(error).__name__})"
    return SourceError(f"{place_of(url)} cannot be reached{why}. Is the server running, and is the address right?")
