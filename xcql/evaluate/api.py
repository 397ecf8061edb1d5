"""`xcql.evaluate`: takes a query, returns its answer."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from xcql.check import Checked, check
from xcql.diagnostics import XcqlError
from xcql.evaluate import (  # noqa: F401 (each declares how its kinds of expressions run)
    basics,
    construct,
    construct_computed,
    flwor,
    lookups,
    operators,
    paths,
    temporal,
    type_operators,
)
from xcql.evaluate.context import QueryEvaluation
from xcql.evaluate.prolog import CompiledQuery, compile_query
from xcql.evaluate.python_values import from_python
from xcql.evaluate.result import Result
from xcql.evaluate.sequences import located
from xcql.evaluate.stack import too_nested, with_deep_stack
from xcql.evaluate.streams import as_document, open_streams
from xcql.model.time import parse_time
from xcql.source import Source
from xcql.syntax.prolog import MainModule
from xcql.xdm.names import QName
from xcql.xdm.parse import parse_xml


def evaluate(
    query: str | Source | MainModule | Checked | CompiledQuery,
    context: Any = None,
    variables: Mapping[str, Any] | None = None,
    streams: Mapping[str, Any] | None = None,
    now: str | datetime.datetime | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Result:
    """Evaluate a query directly, without Spark.

    >>> evaluate("for $b in //book return $b/title/string()",
    ...          "<books><book><title>Ulysses</title></book></books>").serialize()
    'Ulysses'

    `context` is the context item: XML text, a path, or a node. `variables` are the values of
    external variables: text that starts with `<` is a document, other text an xs:string, a `Path`
    a file, any other Python value its counterpart. `streams` maps names to a pair of fragments and
    tags, or to a plain document, each XML text or a path. `now` is the instant of evaluation.
    `functions` are Python functions that the query can call by name.
    """
    return with_deep_stack(lambda: _evaluate(query, context, variables, streams, now, functions))


def prepare(
    query: str | Source | MainModule | Checked,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> CompiledQuery:
    """Compile a query, to evaluate it many times.

    >>> query = prepare("declare variable $n external; $n + 1")
    >>> evaluate(query, variables={"n": 1}).values
    [2]
    """
    return with_deep_stack(lambda: compile_query(check(query).module, functions))


def _evaluate(
    query: str | Source | MainModule | Checked | CompiledQuery,
    context: Any,
    variables: Mapping[str, Any] | None,
    streams: Mapping[str, Any] | None,
    now: str | datetime.datetime | None,
    functions: Mapping[str, Callable[..., Any]] | None,
) -> Result:
    compiled = query if isinstance(query, CompiledQuery) else prepare(query, functions)
    instant = _instant(now)
    warnings = list(compiled.warnings)
    evaluation = QueryEvaluation(
        now=instant,
        streams=open_streams(streams or {}, instant, warnings),
        variables=external_values(variables or {}),
    )
    item = None if context is None else _context_item(context)
    return Result(_run(compiled, evaluation, item), warnings)


def _run(query: CompiledQuery, evaluation: QueryEvaluation, item: Any = None) -> list[Any]:
    try:
        return query.run(evaluation, item)
    except XcqlError as problem:
        raise located(problem, query.span) from None
    except RecursionError:
        raise too_nested(query.span) from None


def run(
    query: CompiledQuery, variables: Mapping[QName, tuple[Any, ...]], now: datetime.datetime
) -> list[Any]:
    """The answer for `external_values`; recursion has the room that the caller has given it."""
    return _run(query, QueryEvaluation(now=_instant(now), variables=variables))


def external_values(variables: Mapping[str, Any]) -> dict[QName, tuple[Any, ...]]:
    """The values of external variables, in the form that an evaluation needs."""
    return {variable_name(name): tuple(_variable(value)) for name, value in variables.items()}


def _context_item(context: Any) -> Any:
    if isinstance(context, (str, bytes, Path)):
        return as_document(context)
    for item in from_python(context):
        return item
    return None


def _variable(value: Any) -> Iterable[Any]:
    if isinstance(value, str) and value.startswith("<"):
        return (parse_xml(value, "<variable>"),)
    return from_python(value)


def variable_name(name: str) -> QName:
    """The name of an external variable: `local`, or `Q{uri}local`."""
    if name.startswith("Q{"):
        uri, _, local = name[2:].partition("}")
        return QName(uri, local)
    return QName("", name)


def _instant(now: str | datetime.datetime | None) -> datetime.datetime:
    if now is None:
        return datetime.datetime.now(datetime.UTC)
    if isinstance(now, str):
        now = parse_time(now)
    return now.replace(tzinfo=datetime.UTC) if now.tzinfo is None else now.astimezone(datetime.UTC)
