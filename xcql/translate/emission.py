"""The calls of the library `xcql.xqm`, as syntax nodes."""

from __future__ import annotations

from collections.abc import Iterable

from xcql.analysis.graph import TagGraph
from xcql.analysis.types import DOCUMENT
from xcql.analysis.walker import then
from xcql.model.tags import Tag
from xcql.source import Span
from xcql.syntax.construct import MapConstructor, MapEntry
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import IntegerLiteral, Sequence, StringLiteral, VariableRef
from xcql.syntax.node import Expr, Name, node
from xcql.syntax.path import AxisStep, NameTest

PREFIX = "xcql"
NAMESPACE = "urn:xcql"


@node
class ToBeFilled(Expr):
    """Stands for elements of the tags `tops` of a stream, with holes filled; without elements, for
    its view.

    `filled` are the tags whose fillers are already in place. `wanted` are those that must be in
    place afterwards; None means all, or what the query reads in trees of an `origin`: that is
    known after the whole walk.
    """

    stream: str
    elements: Expr | None = None
    tops: frozenset[str] = frozenset({DOCUMENT})
    filled: frozenset[str] = frozenset()
    wanted: frozenset[str] | None = None
    origin: int | None = None


def call(name: str, *arguments: Expr, span: Span) -> FunctionCall:
    """A call of a library function."""
    return FunctionCall(Name(name, prefix=PREFIX, span=span), arguments, span=span)


def standard_call(name: str, *arguments: Expr, span: Span, prefix: str | None = None) -> Expr:
    return FunctionCall(Name(name, prefix=prefix, span=span), arguments, span=span)


def library_variable(name: str, span: Span) -> Expr:
    return VariableRef(Name(name, prefix=PREFIX, span=span), span=span)


def variable(name: str, span: Span) -> Expr:
    return VariableRef(Name(name, span=span), span=span)


def get_fillers(stream: str, ids: Expr, span: Span) -> Expr:
    return call("get_fillers", variable(stream, span), ids, span=span)


def root_fillers(stream: str, span: Span) -> Expr:
    return get_fillers(stream, IntegerLiteral(0, span=span), span)


def hole_ids(base: Expr, uri: str | None) -> Expr:
    """`base/hole/@id`"""
    name = Name("hole", uri=uri, span=base.span)
    hole = AxisStep("child", NameTest(name, span=base.span), span=base.span)
    id_test = NameTest(Name("id", span=base.span), span=base.span)
    return then(base, hole, AxisStep("attribute", id_test, span=base.span))


def filler_step(uri: str | None, span: Span) -> AxisStep:
    return AxisStep("child", NameTest(Name("filler", uri=uri, span=span), span=span), span=span)


def strings(values: Iterable[str], span: Span) -> Expr:
    items: tuple[Expr, ...] = tuple(StringLiteral(value, span=span) for value in values)
    return items[0] if len(items) == 1 else Sequence(items, span=span)


def tsids(graph: TagGraph, tags: Iterable[str]) -> list[str]:
    """The tsids that fillers of these tags can have: the tags' ids, and those of references."""
    known = set(tags)
    return sorted(
        {tag.id for tag in _all(graph.structure.root) if graph.tag(tag.id).id in known},
        key=lambda id: (len(id), id),
    )


def tag_map(graph: TagGraph, span: Span) -> Expr:
    """For each tag with fillers, its type and the tags of the fillers that contain it."""
    root = graph.structure.root.id
    entries = {}
    for tag in _all(graph.structure.root):
        target = graph.tag(tag.id)
        if target.is_fragmented or target.id == root:
            values = (target.kind, *tsids(graph, graph.filler_parents(target.id)))
            entries[tag.id] = strings(values, span)
    return MapConstructor(
        tuple(
            MapEntry(StringLiteral(id, span=span), value, span=span)
            for id, value in entries.items()
        ),
        span=span,
    )


def _all(root: Tag) -> Iterable[Tag]:
    pending = [root]
    while pending:
        tag = pending.pop()
        yield tag
        pending += reversed(tag.children)
