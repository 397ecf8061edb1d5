"""Evaluates a query over everything in a state: the result that all other ways must match."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache, partial
from typing import Any

from xcql.continuous.display import AnswerUnit, Row
from xcql.continuous.reception import COLUMNS, stored_fragment
from xcql.evaluate.api import evaluate
from xcql.evaluate.prolog import CompiledQuery
from xcql.evaluate.times import lifespan_columns
from xcql.history.view import temporal_view
from xcql.model.fragments import Fragment
from xcql.model.tags import TagStructure
from xcql.xdm.nodes import DocumentNode

# the key of the unit that is the whole answer
WHOLE = ""


def all_fragments(state: sqlite3.Connection, stream: str) -> Iterator[Fragment]:
    """All fragments of a stream that can count, in order of arrival."""
    rows = state.execute(
        f"SELECT {COLUMNS}, f.content FROM fragments AS f WHERE f.stream = ? ORDER BY f.seq",
        (stream,),
    )
    return (stored_fragment(*row) for row in rows)


def whole_views(
    state: sqlite3.Connection, tags: Mapping[str, TagStructure], now: datetime
) -> dict[str, Callable[[], DocumentNode]]:
    """For each stream, a function that returns its temporal view, built once at first use."""

    def view(stream: str) -> DocumentNode:
        return temporal_view(all_fragments(state, stream), tags[stream], now).document

    return {name: cache(partial(view, name)) for name in tags}


def evaluated_whole(
    query: CompiledQuery,
    streams: Mapping[str, Callable[[], DocumentNode]],
    variables: Mapping[str, Any],
    now: datetime,
    due: int | None,
) -> AnswerUnit:
    """The whole answer as one unit."""
    result = evaluate(query, variables=variables, streams=streams, now=now)
    rows = tuple(
        Row(number.to_bytes(4), item.xml, *lifespan_columns(item.value, now))
        for number, item in enumerate(result, 1)
    )
    return AnswerUnit(WHOLE, "", "", 0, rows, due)
