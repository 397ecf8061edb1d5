"""Errors on their way from Spark to the user.

An error of a query is raised in a worker, far from the query's text. It travels as the text of an
exception: a readable message, for users who run `.df` themselves, followed by the whole diagnostic.
Errors that the SQL text raises itself have the form `XCQL|<number of the site>|<value>`. Anything
else is a failure of Spark, which is reported in one line.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException
from pyspark.sql.utils import is_remote

from xcql.compile.result import Site
from xcql.diagnostics import Diagnostic, XcqlError, error
from xcql.shred.checksums import damaged_file, store_of
from xcql.source import Source, Span
from xcql.store.commit import is_store
from xcql_runtime.spark import java_process
from xcql_runtime.spark.start import ended

# messages stay short enough that Spark does not cut off the diagnostic after them
_MAX_TEXT = 2000
_CARRIED = re.compile(r"<xcql-error ([A-Za-z0-9+/=]+)>")
_RAISED = re.compile(r"XCQL\|(\d+)\|(.*?)(?: SQLSTATE: P0001|\n\tat |\Z)", re.DOTALL)
_MARK = re.compile(r"<xcql-error |XCQL\|")
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


class WorkerError(Exception):
    """An error of a query, as a worker raises it for the driver to understand."""


def carried(problem: XcqlError, query: Source, place: Span | None = None) -> WorkerError:
    """The error to raise in a worker; one outside the query's own text is reported at `place`."""
    diagnostic = problem.diagnostic
    span = diagnostic.span
    if place is not None and (span is None or span.source.text != query.text):
        span = place
    data = {
        "code": diagnostic.code,
        "message": diagnostic.message[:_MAX_TEXT],
        "notes": [note[:_MAX_TEXT] for note in diagnostic.notes[:3]],
        "hints": [hint[:_MAX_TEXT] for hint in diagnostic.hints[:3]],
        "span": _span_to_json(span, query),
    }
    code = base64.b64encode(json.dumps(data).encode()).decode("ascii")
    # data may look like our mark; the first mark in a message is always our own
    text = _MARK.sub("…", diagnostic.render_concise()[:_MAX_TEXT])
    return WorkerError(f"{text} <xcql-error {code}>")


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
    """Translate a failure of Spark into an error for the user."""
    text = str(problem)
    if isinstance(problem, _JAVA_IS_GONE) or (
        # Py4J gives no reason if it could not reach Java
        type(problem) is Py4JError and "\n" not in text and java_process.is_gone()
    ):
        return ended(_place(query))
    mark = _MARK.search(text)
    is_raised = mark is not None and mark[0] == "XCQL|"
    if query and not is_raised and (found := _CARRIED.search(text)):
        data = json.loads(base64.b64decode(found[1]))
        return XcqlError(
            Diagnostic(
                "error",
                data["code"],
                data["message"],
                _span_from_json(data["span"], query),
                tuple(data["notes"]),
                tuple(data["hints"]),
            )
        )
    if is_raised and (found := _RAISED.search(text)) and int(found[1]) < len(sites):
        site = sites[int(found[1])]
        value = found[2] if len(found[2]) <= 60 else f"{found[2][:60]}…"
        return error(site.code, site.message.replace("{}", value), site.span)
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
        return error(
            "FOAR0002",
            "a number is too large, or has more digits than SQL allows",
            place,
            hints=["strategy='caq' computes with numbers of any size"],
        )
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
    return _CONDITION.sub("", lines[0] if lines else "no reason given")[:_MAX_TEXT]


def _span_to_json(span: Span | None, query: Source) -> Any:
    if span is None:
        return None
    if span.source.text == query.text:
        return [span.start, span.end]
    # for another text, such as a malformed document, one line is enough
    line, column = span.source.position(span.start)
    text = span.source.line(line)
    begin = max(0, column - 1 - _MAX_TEXT // 4)
    width = max(1, min(span.end - span.start, _MAX_TEXT // 4))
    return {
        "name": span.source.name,
        "text": text[begin : begin + _MAX_TEXT],
        "line": line,
        "column": begin + 1,
        "start": column - 1 - begin,
        "end": column - 1 - begin + width,
    }


def _span_from_json(data: Any, query: Source) -> Span | None:
    if data is None:
        return None
    if isinstance(data, list):
        return Span(query, *data)
    source = Source(data["text"], data["name"], data["line"], data["column"])
    return Span(source, data["start"], data["end"])
