"""Spark's failures as errors for the user: errors of the query, or one line about Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql.utils import is_remote

from xcql.compile.result import BEYOND_SQL, Site
from xcql.diagnostics import XcqlError, error
from xcql.shred.checksums import damaged_file, store_of
from xcql.source import Source, Span
from xcql.store.commit import is_store
from xcql_runtime.evaluator.carried_errors import MAX_TEXT, NeedsEvaluator, arrived
from xcql_runtime.spark import java_process
from xcql_runtime.spark.start import ended

_OVERFLOW = re.compile(
    r"\[(ARITHMETIC_OVERFLOW|BINARY_ARITHMETIC_OVERFLOW|CAST_OVERFLOW|NUMERIC_VALUE_OUT_OF_RANGE"
    r"|NUMERIC_OUT_OF_SUPPORTED_RANGE|DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION)[\].]"
)
_UNREADABLE = re.compile(r"\[FAILED_READ_FILE\.(\w+)\][^\n]*? file (file:\S+?)\.(?:\s|\Z)")
_CONDITION = re.compile(r"^\s*\[[A-Z_.]+\]\s*")
_RAISED_IN_PYTHON = re.compile(r"^[\w.]+: .*", re.MULTILINE)
# raised while waiting for a reply from Java, or while sending it a request
_JAVA_IS_GONE = (Py4JNetworkError, ConnectionError)
# raised by calls to a Spark that has failed or ended
SPARK_FAILURES = (PySparkException, Py4JError, *_JAVA_IS_GONE)
# the same with Spark Connect: no server, or one that does not know the session
_SERVER_IS_GONE = re.compile(
    r"StatusCode\.UNAVAILABLE|\[RETRIES_EXCEEDED\]|\[INVALID_HANDLE\.SESSION_\w+\]"
)
_STATE = re.compile(r"\s*SQLSTATE: \w{5}.*", re.DOTALL)


@contextmanager
def understood(query: Source | None = None, sites: Sequence[Site] = ()) -> Iterator[None]:
    """Turn failures of Spark into errors of the query, or of another task if there is no query."""
    try:
        yield
    except SPARK_FAILURES as problem:
        raise translated(problem, query, sites) from None
    except (EOFError, OSError, pa.ArrowException):
        # the answer is incomplete if Java ended while sending it
        if java_process.exit_code() is None:
            raise
        raise ended(_place(query)) from None


def translated(problem: Exception, query: Source | None, sites: Sequence[Site] = ()) -> XcqlError:
    """Translate a failure of Spark into an error for the user.

    Raises `NeedsEvaluator` if SQL cannot represent a number of the query.
    """
    text = str(problem)
    if isinstance(problem, _JAVA_IS_GONE) or (
        # Py4J gives no reason if it could not reach Java
        type(problem) is Py4JError and "\n" not in text and java_process.is_gone()
    ):
        return ended(_place(query))
    if known := arrived(text, query, sites):
        return known
    place = _place(query)
    if is_remote() and _SERVER_IS_GONE.search(text):
        return error(
            "XCQL0505",
            "the server of Spark Connect has ended, or cannot be reached",
            place,
            hints=[
                "check that it is running, or restart it; then create a new SparkSession and"
                " a new xcql.Session: what was committed to a store is safe",
                "if it ran out of memory: spark.driver.memory is a setting of the server",
            ],
        )
    if damage := _damage(text):
        return damage
    if _OVERFLOW.search(text):
        raise NeedsEvaluator(BEYOND_SQL)
    return error(
        "XCQL0500",
        f"Spark could not {'run the query' if query else 'do this'}: {_cause(text)}",
        place,
        hints=[
            f"{'the query is valid; ' if query else ''}check the store (xcqlc store verify)"
            " and Spark's log"
        ],
    )


def _place(query: Source | None) -> Span | None:
    """The start of a query, for errors that no specific part of it causes."""
    return Span(query, 0, 0) if query else None


def _damage(text: str) -> XcqlError | None:
    """The error for a store file that Spark could not read, if the message reports one."""
    found = _UNREADABLE.search(text)
    if found is None:
        return None
    path = unquote(urlsplit(found[2]).path)
    if not is_store(store_of(path)):
        return None
    if found[1] == "FILE_NOT_EXIST":
        return damaged_file(path, "the file is missing")
    if "CRC checksum verification failed" in text:
        return damaged_file(path, "a page does not match its checksum")
    return damaged_file(path, "Spark cannot read it")


def _cause(text: str) -> str:
    """The line of Spark's message that says what happened."""
    text = _STATE.sub("", text.partition("\n\nJVM stacktrace")[0])
    if "Traceback (most recent call last)" in text:
        # the last line of a Python traceback is the one that matters
        lines = _RAISED_IN_PYTHON.findall(text)[-1:]
    else:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lines and lines[0].startswith("An error occurred while calling"):
            # Py4J's own message says nothing; the last "Caused by" is the root cause
            lines = [line for line in lines if line.startswith("Caused by: ")][-1:] or lines[1:]
    return _CONDITION.sub("", lines[0] if lines else "no reason given")[:MAX_TEXT]
