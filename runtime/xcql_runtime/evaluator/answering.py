"""The reference evaluator answers a query, or a part of one, for an engine.

Tests: tests/runtime/evaluator, tests/runtime/answers
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from itertools import accumulate, islice
from typing import Any

import pyarrow as pa
from pyarrow.compute import list_value_length

from xcql.compile.result import Evaluation
from xcql.diagnostics import XcqlError
from xcql.evaluate.api import evaluate, external_values, prepare, run, variable_name
from xcql.evaluate.prolog import CompiledQuery
from xcql.evaluate.result import ResultItem
from xcql.evaluate.sequences import located
from xcql.evaluate.stack import Cancellation, with_deep_stack
from xcql.evaluate.times import lifespan_columns
from xcql.garbage import uncollected
from xcql.model.identifiers import mark_identifiers
from xcql.model.tags import TagStructure
from xcql.shred.assembly import Copy
from xcql.source import Source, Span
from xcql.xdm.nodes import DocumentNode, ElementNode, dissolve
from xcql_runtime.evaluator.carried_errors import errors_carried
from xcql_runtime.evaluator.externals import ExternalFunction
from xcql_runtime.evaluator.items import decoded, encoded
from xcql_runtime.evaluator.views import parse_rows, parse_view

ANSWER = pa.schema(
    [("item", pa.string()), ("vtFrom", pa.timestamp("us")), ("vtTo", pa.timestamp("us"))]
)
SEQUENCE = pa.list_(
    pa.struct(
        [
            ("kind", pa.string()),
            ("value", pa.string()),
            ("vtFrom", pa.timestamp("us")),
            ("vtTo", pa.timestamp("us")),
        ]
    )
)

# a batch of answers is returned when it reaches this many items, or characters
_BATCH_ITEMS = 10_000
_BATCH_CHARACTERS = 1 << 22
# so many bytes of arguments are trees at the same time
_PORTION = 1 << 20

Lifespan = tuple[datetime | None, datetime | None]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the evaluator needs to know, wherever it runs.

    `folder` is the user's working folder; paths in `doc()` are relative to it. `context` is the
    stream whose document is the context item.
    """

    query: Source
    now: datetime
    values: Mapping[str, Any]
    functions: Mapping[str, ExternalFunction]
    folder: str
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A query to be answered over the views of streams.

    Its inputs are numbered: first `streams`, then `frames`, the variables that are rows of
    DataFrames. `known` are all streams of the store, with their tags. `prefix` is the prefix of
    lifespans in the text; it cannot occur in the data.
    """

    surroundings: Surroundings
    streams: tuple[str, ...]
    frames: tuple[str, ...]
    known: Mapping[str, TagStructure]
    prefix: str = field(default_factory=lambda: f"xcql-{secrets.token_hex(8)}")


def answer(task: Task, copies: dict[int, list[Copy]]) -> Iterator[pa.RecordBatch]:
    """The items of the answer with their lifespans, batch by batch; `copies` is consumed."""
    around = task.surroundings
    views: list[DocumentNode] = []

    @cache
    def view(name: str) -> DocumentNode:
        document = parse_view(copies.pop(task.streams.index(name), ()), task.prefix)
        mark_identifiers(document, task.known[name])
        views.append(document)
        return document

    with uncollected(), _dissolved(views):
        with _in_folder(around.folder):
            rows = {
                name: parse_rows(copies.pop(number, ()))
                for number, name in enumerate(task.frames, len(task.streams))
            }
            result = evaluate(
                prepare(around.query, around.functions),
                context=None if around.context is None else view(around.context),
                variables={**around.values, **rows},
                streams={name: partial(view, name) for name in task.known},
                now=around.now,
            )
        yield from _batches(result.values, around.now, around.query)


@contextmanager
def _dissolved(trees: list[DocumentNode]) -> Iterator[None]:
    """Take apart the trees at the end: to find them, the collector needs longer than the query."""
    try:
        yield
    finally:
        for tree in trees:
            dissolve(tree)


def _batches(items: Sequence[Any], now: datetime, query: Source) -> Iterator[pa.RecordBatch]:
    texts: list[str] = []
    spans: list[Lifespan] = []
    characters = 0
    for item in items:
        texts.append(_xml(item, query))
        spans.append(lifespan_columns(item, now))
        characters += len(texts[-1])
        if len(texts) == _BATCH_ITEMS or characters > _BATCH_CHARACTERS:
            yield _batch(texts, spans)
            texts, spans, characters = [], [], 0
    yield _batch(texts, spans)


def _xml(item: Any, query: Source) -> str:
    try:
        return ResultItem(item).xml
    except XcqlError as problem:
        raise located(problem, Span(query, 0, len(query.text))) from None


def _batch(texts: list[str], spans: list[Lifespan]) -> pa.RecordBatch:
    columns: list[Sequence[Any]] = [texts, [one[0] for one in spans], [one[1] for one in spans]]
    arrays = [pa.array(one, field.type) for one, field in zip(columns, ANSWER, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ANSWER)


def row_function(
    evaluation: Evaluation, around: Surroundings, cancellation: Cancellation | None = None
) -> Callable[..., pa.Array]:
    """The function that an engine calls with batches of arguments; it prepares the expression when
    the first batch comes."""
    ready: list[CompiledQuery] = []

    def evaluate_rows(now: pa.Array, *arguments: pa.Array) -> pa.Array:
        carried = errors_carried(around.query, evaluation.span, evaluation.is_doubtful)
        with carried, _in_folder(around.folder):
            if not ready:
                ready.append(prepare(evaluation.expression, around.functions))
            # one deep stack for all rows of the batch
            return with_deep_stack(
                lambda: _values(evaluation, around, ready[0], now, arguments), cancellation
            )

    return evaluate_rows


def _values(
    evaluation: Evaluation,
    around: Surroundings,
    query: CompiledQuery,
    now: pa.Array,
    arguments: Sequence[pa.Array],
) -> pa.Array:
    """The items of each row, given the items of its arguments; nodes are parsed in portions."""
    outside = external_values(around.values)
    names = [variable_name(name) for name in evaluation.parameters]
    found: list[list[Any]] = []
    size = sum(one.nbytes for one in arguments)
    step = max(1, len(now) * _PORTION // max(1, size))
    with uncollected():
        for start in range(0, len(now), step):
            parts = [_sequences(one.slice(start, step)) for one in arguments]
            times = now.slice(start, step).to_pylist()
            for instant, *row in zip(times, *parts, strict=True):
                given = dict(zip(names, row, strict=True))
                values = run(query, {**outside, **given}, instant)
                found.append([(encoded(one), lifespan_columns(one, instant)) for one in values])
            for node in (one for part in parts for sequence in part for one in sequence):
                if isinstance(node, ElementNode | DocumentNode):
                    dissolve(node)
    return _as_array(found)


def _sequences(array: pa.Array | pa.ChunkedArray) -> list[tuple[Any, ...]]:
    """The items of each row."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    items = array.flatten()
    found = iter(decoded(*(items.field(name).to_pylist() for name in ("kind", "value"))))
    return [tuple(islice(found, length or 0)) for length in list_value_length(array).to_pylist()]


def _as_array(rows: Sequence[Sequence[tuple[tuple[str, str], Lifespan]]]) -> pa.Array:
    """The inverse of `_sequences`, with the lifespans of the items."""
    columns = [(*item, *lifespan) for row in rows for item, lifespan in row]
    fields = list(SEQUENCE.value_type)
    arrays = [
        pa.array([row[index] for row in columns], field.type) for index, field in enumerate(fields)
    ]
    offsets = pa.array([0, *accumulate(map(len, rows))], pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(arrays, fields=fields))


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    """Change to the user's working folder, if this machine has it."""
    if folder == os.getcwd() or not os.path.isdir(folder):
        yield
        return
    with chdir(folder):
        yield
