"""The walk over what XCQL adds to XQuery: projections, Allen's relations, time literals."""

from __future__ import annotations

from dataclasses import replace

from xcql.analysis.types import ATOM, DOCUMENT, Nodes, TagType
from xcql.analysis.walker import Env, Typed, Walker, walks
from xcql.syntax.node import Expr, SyntaxNode
from xcql.syntax.temporal import (
    AllenComparison,
    DateLiteral,
    DateTimeLiteral,
    DurationLiteral,
    IntervalProjection,
    LastVersion,
    Now,
    Start,
    TimeInterval,
    VersionProjection,
)


@walks(DateLiteral, DateTimeLiteral, DurationLiteral, Now, Start, LastVersion)
def literal(w: Walker, node: Expr, env: Env) -> Typed:
    return Typed(w.rules.temporal(node), ATOM)


@walks(IntervalProjection)
def interval_projection(w: Walker, node: IntervalProjection, env: Env) -> Typed:
    """`e?[tb,te]` -> `interval_projection(e', tb, te)`, which fills holes as it goes"""
    walked = w.walk(node.base, env)
    _place_of_leaves(w, walked)
    base = _to_be_copied(w, walked)
    begin = bound(w, node.interval.begin, env)
    end = None if node.interval.end is None else bound(w, node.interval.end, env)
    expr = w.rules.interval_projection(node, base.expr, begin, end)
    return Typed(expr, _projected(w, base.type, env))


@walks(VersionProjection)
def version_projection(w: Walker, node: VersionProjection, env: Env) -> Typed:
    """`e#[vb,ve]` -> `version_projection(e', vb, ve)`"""
    walked = w.walk(node.base, env)
    base = _to_be_copied(w, walked) if has_lifespan(w, walked.type) else w.whole(walked)
    first = w.value(node.first, env)
    last = None if node.last is None else w.value(node.last, env)
    expr = w.rules.version_projection(node, base.expr, first, last)
    return Typed(expr, _projected(w, base.type, env))


def _to_be_copied(w: Walker, typed: Typed) -> Typed:
    """The base of a projection, with the holes filled that the query looks at afterwards."""
    if not w.has_holes_unseen(typed.type):
        return typed
    type_ = typed.type
    if len(type_.nodes) > 1 or type_.leaves or type_.plain:
        return w.whole(typed)
    return w.whole(typed, w.new_origin(type_.nodes[0].stream))


def _projected(w: Walker, type_: TagType, env: Env) -> TagType:
    """New trees, with nothing above them; each is the same as in the view."""
    nodes = tuple(Nodes(n.stream, n.tags, None, origin=n.origin) for n in type_.nodes)
    return replace(type_, nodes=nodes, tree=w.new_tree(env))


@walks(AllenComparison)
def allen_comparison(w: Walker, node: AllenComparison, env: Env) -> Typed:
    left, right = _operand(w, node.left, env), _operand(w, node.right, env)
    return Typed(w.rules.temporal(replace(node, left=left, right=right)), ATOM)


def _operand(w: Walker, node: SyntaxNode, env: Env) -> SyntaxNode:
    if isinstance(node, TimeInterval):
        end = None if node.end is None else bound(w, node.end, env)
        return replace(node, begin=bound(w, node.begin, env), end=end)
    assert isinstance(node, Expr)
    return spanned(w, w.walk(node, env)).expr


def bound(w: Walker, expr: Expr, env: Env) -> Expr:
    """A bound of an interval: an atomic value."""
    return w.value(expr, env)


def spanned(w: Walker, typed: Typed) -> Typed:
    """A node whose lifespan is used: its own, or that of everything in it."""
    _place_of_leaves(w, typed)
    return typed if has_lifespan(w, typed.type) else w.whole(typed)


def _place_of_leaves(w: Walker, typed: Typed) -> None:
    """Text and attributes have the lifespan of an element above them, so need the view."""
    if typed.type.leaves:
        w.place(typed.type, "the query uses the lifespan of text or an attribute", typed.expr.span)


def has_lifespan(w: Walker, type_: TagType) -> bool:
    """Whether all elements have their own lifespans."""
    return all(
        tag != DOCUMENT and w.graphs[nodes.stream].is_fragmented(tag)
        for nodes in type_.nodes
        for tag in nodes.tags
    )
