"""The temporal functions, and `stream`."""

from __future__ import annotations

import difflib

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.evaluate.registry import CallContext, function
from xcql.evaluate.times import datetime_value, utc_now
from xcql.history.lifespan import lifespan
from xcql.model.time import START
from xcql.xdm.nodes import DocumentNode, Node


@function("fn:stream([xs:string]) as document-node()")
def stream(call: CallContext, name: str | None = None) -> DocumentNode:
    streams = call.context.evaluation.streams
    known = ", ".join(streams) or "none"
    if name is None:
        if len(streams) != 1:
            raise error(
                "XCQL0004",
                "stream() without a name needs exactly one stream",
                call.span,
                notes=[f"streams: {known}"],
            )
        name = next(iter(streams))
    if name not in streams:
        near = difflib.get_close_matches(name, list(streams), n=1)
        raise error(
            "XCQL0004",
            f'there is no stream "{name}"',
            call.span,
            notes=[f"streams: {known}"],
            hints=[f'did you mean stream("{near[0]}")?'] if near else (),
        )
    return streams[name]()


@function("fn:vtFrom(node()?) as xs:dateTime?")
def vt_from(call: CallContext, node: Node | None) -> ep.DateTime | None:
    if node is None:
        return None
    return datetime_value(lifespan(node, utc_now(call.context)).begin)


@function("fn:vtTo(node()?) as xs:dateTime?")
def vt_to(call: CallContext, node: Node | None) -> ep.DateTime | None:
    if node is None:
        return None
    return datetime_value(lifespan(node, utc_now(call.context)).end)


@function("fn:now() as xs:dateTime")
def now(call: CallContext) -> ep.DateTime:
    return datetime_value(utc_now(call.context))


@function("fn:start() as xs:dateTime")
def start(call: CallContext) -> ep.DateTime:
    return datetime_value(START)
