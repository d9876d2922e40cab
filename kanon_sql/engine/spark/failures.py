"""What Spark's errors become: one or two lines that say what, where and what to do, and quote no cell and no Java."""

from __future__ import annotations

import logging
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kanon_sql.errors import ComputationError, NoRoomError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

_STATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
_TEXT = re.compile(r"\[[A-Z0-9_.]+\] (?P<text>[^\n]*?)(?: SQLSTATE: .*)?(?:\n|$)")
# Conditions whose text is made from names alone. Those of types may quote an expression, with the labels in it.
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
"""What pyspark writes whole errors to, cells and all."""


@contextmanager
def told(title: str) -> Iterator[None]:
    """Make errors of Spark inside ours; pyspark does not write them to the log meanwhile.

    Args:
        title: what was being done.

    Raises:
        NoRoomError: Spark has no memory or disk for it.
        SourceError: it failed for another reason.
    """
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
            raise _lost(title) from None
        raise _error_of(error, title) from None
    finally:
        logger.disabled = before


def condition_of(error: Exception) -> tuple[str, str]:
    """Return the condition of an error of Spark, and its SQLSTATE; empty where it has none."""
    text = str(error)
    condition, state = _CONDITION.search(text), _STATE.search(text)
    return condition[1] if condition else "", state[1] if state else ""


def _error_of(error: Exception, title: str) -> BaseException:
    condition, state = condition_of(error)
    text, doing = str(error), f" while it ran this step: {title}"
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
        return _lost(title)
    match = _TEXT.search(text)
    if _OF_NAMES.match(condition) and match is not None:
        return SourceError(f"Spark stopped{doing}. It says: {match['text'].rstrip('.')}.")
    kind = f"condition {condition}" if condition else f"an error of type {type(error).__name__}"
    return (ComputationError if state.startswith(_OF_VALUES) else SourceError)(
        f"Spark stopped with {kind}{f' (SQLSTATE {state})' if state else ''}{doing}. Its text may quote data and is "
        "not shown; --sql prints the statements, to be run by hand."
    )


def _lost(title: str) -> SourceError:
    return SourceError(
        f"The connection to Spark was lost while it ran this step: {title}. Connect again, and begin anew."
    )
