"""Spark sessions: opened by a URL, with kanon's settings while a statement runs; their catalog, and translated errors.

Errors become one or two lines that name the problem, the place and the fix, and quote no cell and no Java. The session
catalog allows only letters, digits and underscores in table names. Kanon's names with other characters, such as
``patients_k5.age`` for the hierarchy of a view, are encoded there.
"""

from __future__ import annotations

import logging
import re
import signal
import socket
import threading
import warnings
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from kanon_sql.engine.base import error_of, lost
from kanon_sql.engine.keys import shown_url
from kanon_sql.engine.warehouse.warehouse import with_names
from kanon_sql.errors import NoRoomError, SourceError, UsageError
from kanon_sql.sql.names import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlglot import exp


_STATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_TEXT = re.compile(r"\[[A-Z0-9_.]+\] (?P<text>[^\n]*?)(?: SQLSTATE: .*)?(?:\n|$)")
# Conditions whose text contains only names. Those of types may quote an expression with its labels.
_OF_NAMES = re.compile(
    r"TABLE_OR_VIEW_|SCHEMA_NOT_FOUND|SCHEMA_ALREADY|UNRESOLVED_COLUMN|LOCATION_ALREADY|INVALID_SCHEMA_OR_RELATION_NAME"
    r"|INVALID_TEMP_OBJ_REFERENCE|REQUIRES_SINGLE_PART_NAMESPACE|PATH_NOT_FOUND|DATA_SOURCE_NOT_FOUND|UNABLE_TO_INFER"
    r"|UNSUPPORTED_FEATURE|INSUFFICIENT_|FORBIDDEN_|COLUMN_ALREADY_EXISTS|NOT_SUPPORTED_COMMAND|EXPECT_|MISSING_CATALOG"
)
_NO_ROOM = ("OutOfMemoryError", "No space left on device", "Disk quota exceeded", "Cannot grow BufferHolder")
_RESULT = "spark.driver.maxResultSize"
_STOPPED = ("OPERATION_CANCELED", "SPARK_JOB_CANCELLED", "JOB_CANCELLED", "cancelled part of cancelled job")
_LOST = ("SparkContext was shut down", "Cannot call methods on a stopped SparkContext", "SESSION_CLOSED", "NO_ACTIVE")
_OF_VALUES = "22"
_LOGGER = "SQLQueryContextLogger"
"""pyspark's logger of whole errors, including cells."""


@contextmanager
def spark_errors(title: str) -> Iterator[None]:
    """Translate Spark errors to kanon's; keep pyspark from logging them."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
    except ImportError:  # a client of Spark Connect alone
        Py4JError = Py4JNetworkError = PySparkException  # noqa: N806 - names of classes

    logger = logging.getLogger(_LOGGER)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    except (PySparkException, Py4JError, ConnectionError) as error:
        if isinstance(error, ConnectionError | Py4JNetworkError) and not isinstance(error, PySparkException):
            raise lost("Spark", _while(title)) from None
        raise _error_of(error, title) from None
    finally:
        logger.disabled = before


def condition_of(error: Exception) -> tuple[str, str]:
    """Return the condition of a Spark error, and its SQLSTATE; empty if it has none."""
    text = str(error)
    condition, state = _CONDITION.search(text), _STATE.search(text)
    return condition[1] if condition else "", state[1] if state else ""


def _error_of(error: Exception, title: str) -> BaseException:
    condition, state = condition_of(error)
    text, doing = str(error), _while(title)
    if any(sign in text for sign in _STOPPED):
        return KeyboardInterrupt()
    if _RESULT in text:
        return NoRoomError(
            f"Spark returns no more than {_RESULT} allows{doing}. Give it more, or name fewer quasi-identifiers."
        )
    if any(sign in text for sign in _NO_ROOM):
        return NoRoomError(
            f"Spark has no room{doing}. Give its driver and executors more memory (spark.driver.memory, "
            "spark.executor.memory), or more disk."
        )
    if any(sign in text for sign in _LOST) or "UNAVAILABLE" in text:
        return lost("Spark", doing)
    match = _TEXT.search(text)
    says = match["text"].rstrip(".") if match is not None and _OF_NAMES.match(condition) else ""
    kind = f"condition {condition}" if condition else f"an error of type {type(error).__name__}"
    of_state = f" (SQLSTATE {state})" if state else ""
    return error_of("Spark", doing, says=says, kind=kind + of_state, of_values=state.startswith(_OF_VALUES))


def _while(title: str) -> str:
    return f" while it ran this step: {title}"


CONNECT, LOCAL = "sc://", "spark:"
_PORT, _WAIT = 15002, 10  # of Spark Connect; seconds
_SETTINGS = {
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
"""Settings for reading statements and writing values, which override the session's."""

_OF_A_NEW_ONE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",  # Spark's log messages quote cells
}


@contextmanager
def ours(session: Any, zone: str) -> Iterator[None]:  # noqa: ANN401 - a session of either kind
    """Apply kanon's settings and a time zone to a session; restore its own at the end."""
    before: dict[str, str | None] = {}
    try:
        for name, value in {**_SETTINGS, "spark.sql.session.timeZone": zone}.items():
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
    """Tag the jobs that start from now on; return a function that stops tagged jobs.

    The tags of a classic session belong to one Java thread, which an interrupted call leaves behind.
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
    """Return True if a session uses a server by Spark Connect; else it has a driver of its own."""
    return any(kind.__module__.startswith("pyspark.sql.connect") for kind in type(session).__mro__)


def is_on_this_machine(session: Any) -> bool:  # noqa: ANN401 - as above
    """Return True if all of Spark runs here, as this user, so that kanon can read its files."""
    return not is_connect(session) and re.fullmatch(r"local(\[.*\])?", session.sparkContext.master) is not None


def opened(url: str) -> tuple[Any, bool]:
    """Return the session of a URL, and whether Spark was started for it.

    ``spark:`` runs Spark in this process, on all cores; ``spark:local[2]`` on two; ``spark://host:7077`` on a cluster;
    ``sc://host:15002`` connects to a Spark Connect server. Settings follow a question mark.
    """
    try:
        with warnings.catch_warnings():  # about a pandas newer than this pyspark knows; none is used here
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
    on_ctrl_c = signal.getsignal(signal.SIGINT)
    try:
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel(str(settings_of_it["spark.log.level"]))
    except Exception as error:  # noqa: BLE001 - pyspark raises what Java does, and errors of its own
        raise _unreachable(url, error) from None
    finally:  # pyspark replaces the handler of Ctrl-C when it starts
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, on_ctrl_c)
    return session, True


def _connected(url: str) -> Any:  # noqa: ANN401 - as above
    try:
        import grpc  # type: ignore[import-untyped] # noqa: F401 - says what is missing in fewer words than pyspark
        import grpc_status  # type: ignore[import-untyped] # noqa: F401 - whether it is there
        from pyspark.sql.connect.session import SparkSession
    except ImportError:
        raise SourceError(
            "Spark Connect needs gRPC, which is not here: pip install 'kanon-sql[spark-connect]'."
        ) from None
    address = urlsplit(url)
    try:  # gRPC itself would retry for many minutes
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
    return SourceError(f"{shown_url(url)} cannot be reached{why}. Is the server running, and is the address right?")


SCHEMA = "kanon"
_TAKEN = re.compile(r"[a-z0-9_]+")
_OTHER = re.compile(r"[^a-z0-9]")


def kept_as(name: str) -> str:
    """Return the stored name of one of kanon's own tables; different tables have different names."""
    if not name or _TAKEN.fullmatch(name):
        return name
    return "of_" + _OTHER.sub(lambda found: "__" if found[0] == "_" else f"_{ord(found[0]):x}_", name)


def with_kept_names(statement: exp.Expr) -> exp.Expr:
    """Return a statement with the stored names of kanon's own tables."""
    return with_names(statement, lambda table: kept_as(table.name) if folded(table.db) == SCHEMA else None)
