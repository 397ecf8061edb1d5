"""Errors of a query that an engine's own code lies between: they travel as text.

An error is raised in a worker, or in a function that a SQL engine calls, far from the query's text.
It travels as the text of an exception: a readable message, for users who run SQL themselves,
followed by the whole diagnostic. Errors that the SQL text raises itself have the form
`XCQL|<number of the site>|<value>`.

Tests: tests/runtime/spark/test_failures.py
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from xcql.compile.result import IN_DOUBT, Site
from xcql.diagnostics import Diagnostic, XcqlError, error
from xcql.source import Source, Span

# messages stay short enough that Spark does not cut off the diagnostic after them
MAX_TEXT = 2000
_CARRIED = re.compile(r"<xcql-error ([A-Za-z0-9+/=]+)>")
_RAISED = re.compile(r"XCQL\|(\d+)\|(.*?)(?: SQLSTATE: P0001|\n\tat |\Z)", re.DOTALL)
_NEEDED = re.compile(r"<xcql-evaluator ([^>]+)>")
_MARK = re.compile(r"<xcql-error |<xcql-evaluator |XCQL\|")


class CarriedError(Exception):
    """An error of a query, in the form in which it passes through an engine."""


class NeedsEvaluator(Exception):
    """An engine cannot answer a compiled query exactly; the reference evaluator has to."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@contextmanager
def errors_carried(
    query: Source, place: Span | None = None, is_doubtful: bool = False
) -> Iterator[None]:
    """Let errors pass through an engine; those outside the query's own text are at `place`.

    If errors are doubtful, the evaluator has to answer the whole query instead.
    """
    try:
        try:
            yield
        except XcqlError as problem:
            if is_doubtful:
                raise NeedsEvaluator(IN_DOUBT) from None
            raise carried(problem, query, place) from None
    except NeedsEvaluator as need:
        raise CarriedError(f"<xcql-evaluator {need.reason}>") from None


def carried(problem: XcqlError, query: Source, place: Span | None = None) -> CarriedError:
    """The error to raise inside an engine."""
    diagnostic = problem.diagnostic
    span = diagnostic.span
    if place is not None and (span is None or span.source.text != query.text):
        span = place
    data = {
        "code": diagnostic.code,
        "message": diagnostic.message[:MAX_TEXT],
        "notes": [note[:MAX_TEXT] for note in diagnostic.notes[:3]],
        "hints": [hint[:MAX_TEXT] for hint in diagnostic.hints[:3]],
        "span": _span_to_json(span, query),
    }
    code = base64.b64encode(json.dumps(data).encode()).decode("ascii")
    # data may look like our mark; the first mark in a message is always our own
    text = _MARK.sub("…", diagnostic.render_concise()[:MAX_TEXT])
    return CarriedError(f"{text} <xcql-error {code}>")


def arrived(text: str, query: Source | None, sites: Sequence[Site]) -> XcqlError | None:
    """The error of a query in the text of an engine's exception; None if there is none.

    Raises `NeedsEvaluator` for a site that is a limit of SQL, not an error of the query, or if a
    part of the query cannot be evaluated by itself.
    """
    mark = _MARK.search(text)
    if mark and (needed := _NEEDED.match(text, mark.start())):
        raise NeedsEvaluator(needed[1])
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
        if site.is_limit:
            raise NeedsEvaluator(site.message)
        value = found[2] if len(found[2]) <= 60 else f"{found[2][:60]}…"
        return error(site.code, site.message.replace("{}", value), site.span)
    return None


def _span_to_json(span: Span | None, query: Source) -> Any:
    if span is None:
        return None
    if span.source.text == query.text:
        return [span.start, span.end]
    # for another text, such as a malformed document, one line is enough
    line, column = span.source.position(span.start)
    text = span.source.line(line)
    begin = max(0, column - 1 - MAX_TEXT // 4)
    width = max(1, min(span.end - span.start, MAX_TEXT // 4))
    return {
        "name": span.source.name,
        "text": text[begin : begin + MAX_TEXT],
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
