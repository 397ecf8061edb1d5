"""Paths: steps one after the other, their results in document order and without duplicates.

A step's results are sorted only where the steps before it cannot guarantee their order. This is
determined once, when the path is compiled, for a path that starts from one node; for a path
that starts from several nodes, every step is sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any

from xcql.diagnostics import error
from xcql.evaluate.axes import AXES, Axis, NodeTest, name_test, named_elements
from xcql.evaluate.context import Context, no_context_item
from xcql.evaluate.predicates import Filter, compile_predicate, is_positional, mentions
from xcql.evaluate.scope import Code, Environment, NameScope, compile_expression, compiles
from xcql.evaluate.sequences import Items, computed
from xcql.evaluate.type_reader import read_item_type
from xcql.evaluate.values import kind_of
from xcql.source import Span
from xcql.syntax import path as syntax
from xcql.syntax.literals import ContextItem
from xcql.syntax.node import Expr
from xcql.syntax.types import AnyKindTest, NamespaceNodeTest
from xcql.xdm.nodes import DocumentNode, Node

_by_order = attrgetter("order")

# maps the nodes before a step to the items after it
Step = Callable[[Items, Environment, Context], Items]


def in_document_order(nodes: Iterable[Node]) -> list[Node]:
    """The nodes sorted, without duplicates."""
    found = sorted(nodes, key=_by_order)
    result: list[Node] = []
    last = None
    for node in found:
        if node is not last:
            result.append(node)
            last = node
    return result


@dataclass(frozen=True, slots=True)
class _Promise:
    """What is known about the nodes before a step: at most one, in order, none above another."""

    single: bool = False
    ordered: bool = False
    peers: bool = False


_ONE_NODE = _Promise(single=True, ordered=True, peers=True)


def _after(axis: str, before: _Promise) -> _Promise:
    """The promise after an axis; an unordered result gets sorted."""
    if axis == "self":
        return before
    if axis == "attribute":
        return _Promise(False, before.ordered, True)
    if axis == "child":
        return _Promise(False, before.ordered and before.peers, before.peers)
    if axis in ("descendant", "descendant-or-self"):
        return _Promise(False, before.ordered and before.peers, False)
    if axis == "parent" and before.single:
        return _ONE_NODE
    if axis == "following-sibling":
        return _Promise(False, before.single, before.single)
    if axis == "preceding-sibling":
        return _Promise(False, False, before.single)
    return _Promise(False, before.single and axis == "following", False)


@compiles(syntax.Path)
def path(node: syntax.Path, scope: NameScope) -> Code:
    steps = _merged(node.steps, scope)
    if node.absolute:
        start: Code = _root(node.span)
    else:
        first, steps = steps[0], steps[1:]
        if isinstance(first, syntax.AxisStep):
            start, steps = _context_node(first.span), (first, *steps)
        else:
            start = compile_expression(first, scope)
    compiled = [_step(step, scope) for step in steps]
    quick = _pipeline(steps, compiled, _ONE_NODE)
    thorough = _pipeline(steps, compiled, _Promise())

    def run(env: Environment, context: Context) -> Items:
        items = computed(start(env, context))
        for step in quick if len(items) == 1 else thorough:
            items = step(items, env, context)  # type: ignore[assignment]
        return items

    return run


@compiles(syntax.AxisStep)
def lone_step(node: syntax.AxisStep, scope: NameScope) -> Code:
    start = _context_node(node.span)
    steps = _pipeline((node,), [_step(node, scope)], _ONE_NODE)

    def run(env: Environment, context: Context) -> Items:
        items = start(env, context)
        for step in steps:
            items = step(items, env, context)
        return items

    return run


def _merged(steps: tuple[Expr, ...], scope: NameScope) -> tuple[Expr, ...]:
    """`//x` as one step: descendant-or-self::node()/child::x -> descendant::x"""
    result: list[Expr] = []
    for step in steps:
        if (
            result
            and isinstance(step, syntax.AxisStep)
            and step.axis == "child"
            and isinstance(result[-1], syntax.AxisStep)
            and result[-1].axis == "descendant-or-self"
            and isinstance(result[-1].test, AnyKindTest)
            and not result[-1].predicates
            and not any(is_positional(predicate, scope) for predicate in step.predicates)
        ):
            result[-1] = replace(step, axis="descendant")
        else:
            result.append(step)
    return tuple(result)


def _root(span: Span) -> Code:
    def run(env: Environment, context: Context) -> Items:
        item = context.item
        if item is None:
            raise no_context_item(span)
        if not isinstance(item, Node):
            raise error(
                "XPTY0020", f"a path needs a node; the context item is {kind_of(item)}", span
            )
        root = item.root
        if not isinstance(root, DocumentNode):
            raise error(
                "XPDY0050",
                "the path starts with / but the context item is not inside a document",
                span,
                hints=["start the path from a variable or with a relative step"],
            )
        return (root,)

    return run


def _context_node(span: Span) -> Code:
    def run(env: Environment, context: Context) -> Items:
        item = context.item
        if item is None:
            raise no_context_item(span)
        if not isinstance(item, Node):
            raise error(
                "XPTY0020", f"a step needs a node; the context item is {kind_of(item)}", span
            )
        return (item,)

    return run


def _step(step: Expr, scope: NameScope) -> Step:
    if isinstance(step, syntax.AxisStep):
        return _axis_step(step, scope)
    return _expression_step(step, scope)


def _pipeline(steps: tuple[Expr, ...], compiled: list[Step], promise: _Promise) -> list[Step]:
    """The steps, with a sort after each step that does not preserve order."""
    result: list[Step] = []
    for node, step in zip(steps, compiled, strict=True):
        if isinstance(node, syntax.AxisStep):
            result.append(step)
            promise = _after(node.axis, promise)
            if not promise.ordered:
                result.append(_sort)
                promise = replace(promise, ordered=True)
        elif not (isinstance(node, ContextItem) and promise.ordered):
            result.append(step)
            promise = _Promise(ordered=True)
    return result


def _sort(items: Items, env: Environment, context: Context) -> Items:
    return in_document_order(items)


def _axis_step(step: syntax.AxisStep, scope: NameScope) -> Step:
    if isinstance(step.test, NamespaceNodeTest) and step.span.text.startswith("namespace-node"):
        # this abbreviates a step on the namespace axis, which XQuery does not have
        raise error("XQST0134", "there is no namespace axis", step.span)
    select = _selection(step, scope)
    filters = [compile_predicate(predicate, scope) for predicate in step.predicates]
    span = step.span

    def run(items: Items, env: Environment, context: Context) -> Items:
        if type(items) is tuple and len(items) == 1 and isinstance(items[0], Node):
            found: Items = select(items[0])
            for choose in filters:
                found = choose(found, env, context)
            return found
        return _each(items, select, filters, env, context, span)

    return run


def _each(
    items: Items,
    select: Axis,
    filters: list[Filter],
    env: Environment,
    context: Context,
    span: Span,
) -> Iterator[Any]:
    for item in items:
        if not isinstance(item, Node):
            raise error("XPTY0019", f"a step needs nodes; this is {kind_of(item)}", span)
        found: Items = select(item)
        for choose in filters:
            found = choose(found, env, context)
        yield from found


def _selection(step: syntax.AxisStep, scope: NameScope) -> Axis:
    """The axis with its test."""
    axis = AXES[step.axis]
    if isinstance(step.test, AnyKindTest):
        return axis
    quick = named_elements(step.axis, step.test, scope.static)
    if quick is not None:
        return quick
    test = name_test(step.test, step.axis, scope.static)
    return _tested(axis, test or read_item_type(step.test, scope).matches)


def _tested(axis: Axis, test: NodeTest) -> Axis:
    return lambda node: filter(test, axis(node))


def _expression_step(step: Expr, scope: NameScope) -> Step:
    """A step that is any expression, evaluated once per node with the node as focus."""
    code = compile_expression(step, scope)
    needs_size = mentions(step, "last")
    span = step.span

    def results(items: Items, env: Environment, context: Context) -> Iterator[Any]:
        size = None
        if needs_size:
            items = computed(items)
            size = len(items)
        for position, item in enumerate(items, 1):
            if not isinstance(item, Node):
                raise error("XPTY0019", f"a step needs nodes; this is {kind_of(item)}", span)
            yield from code(env, Context(context.evaluation, item, position, size))

    def run(items: Items, env: Environment, context: Context) -> Items:
        found = results(items, env, context)
        for item in found:
            together = chain((item,), found)
            if isinstance(item, Node):
                return in_document_order(_only(together, span, nodes=True))
            return _only(together, span, nodes=False)
        return ()

    return run


def _only(items: Items, span: Span, *, nodes: bool) -> Iterator[Any]:
    for item in items:
        if isinstance(item, Node) is not nodes:
            raise error("XPTY0018", "the step returns both nodes and other values", span)
        yield item


@compiles(syntax.Filter)
def filter_expression(node: syntax.Filter, scope: NameScope) -> Code:
    base = compile_expression(node.base, scope)
    choose = compile_predicate(node.predicate, scope)
    return lambda env, context: choose(base(env, context), env, context)
