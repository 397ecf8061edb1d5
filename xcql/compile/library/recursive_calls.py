"""Calls of functions that call themselves, written one inside the other.

declare function local:f($a) { count($a/b) + sum($a/c ! local:f(.)) };
local:f($a)     =>    count($a/b) + sum($a/c ! (count(b) + sum(c ! ...)))

That ends if each call gets elements of fillers inside of those of the call around it: the store
knows how deep fillers are nested, and a step below the deepest ones gives nothing. The evaluator
computes all other recursion: what is inside of one filler is at hand for it.

Tests: tests/compile/library/test_recursive_calls.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from xcql.algebra.operators import Aggregate, Plan, SortKey
from xcql.algebra.scalars import Scalar
from xcql.compile.library.result_types import called_functions, declared
from xcql.compile.library.stream_rows import least_depth
from xcql.compile.result import NotNative
from xcql.compile.terms.items import AnyNode, AttributeItem, Inner, Item, StreamElement, TextItem
from xcql.compile.terms.scope import Scope
from xcql.compile.terms.values import Value, leaves
from xcql.source import Span
from xcql.syntax.node import walk
from xcql.syntax.prolog import FunctionDecl

# so many calls can be inside each other; a level takes as much SQL as the function's body
_MOST_LEVELS = 12
# and so many parts can be in the value of a call: some functions use the value below several times
_MOST_PARTS = 3_000
_PARTS = (Value, Item, Plan, Scalar, SortKey, Aggregate)
# the depth of no nodes at all
_BELOW_ALL = 1 << 30


class _Endless(Exception):
    """A call inside a call of the same function does not get closer to the end."""


def calls_itself(function: FunctionDecl, scope: Scope) -> bool:
    return function.body is not None and function in called_functions(function.body, scope)


def recursive_call(
    function: FunctionDecl,
    arguments: Sequence[Value],
    compiled: Callable[[], Value],
    scope: Scope,
    span: Span,
) -> Value:
    """The value of a call of a function that calls itself; `compiled` compiles its body.

    Raises `NotNative`, outside of all calls, if the calls would not end, or have no native form.
    """
    compilation = scope.compilation
    around = compilation.call_depths
    problem = NotNative(f"the function {function.name} calls itself", span)
    if not around and not _is_a_chain(function, scope):
        raise problem
    depth = max((_depth(one, scope) for one in arguments), default=0)
    if around and (depth <= around[-1] or len(around) == _MOST_LEVELS):
        raise _Endless
    was_lifting = compilation.is_lifting
    compilation.call_depths, compilation.is_lifting = (*around, depth), True
    try:
        value = compiled()
        if _is_longer(value, _MOST_PARTS):
            raise _Endless
        return value
    except (NotNative, _Endless):
        raise (_Endless if around else problem) from None
    finally:
        compilation.call_depths, compilation.is_lifting = around, was_lifting


def _is_longer(value: Value, most: int) -> bool:
    """Whether a value has more parts than that; what is used twice counts twice."""
    pending: list[object] = [value]
    count = 0
    while pending and count <= most:
        one = pending.pop()
        if isinstance(one, tuple):
            pending += one
        elif isinstance(one, _PARTS):
            count += 1
            pending += (getattr(one, part.name) for part in fields(one))
    return count > most


def _is_a_chain(function: FunctionDecl, scope: Scope) -> bool:
    """Whether each call makes at most one other: the calls inside calls are not a growing tree."""
    assert function.body is not None
    every = called_functions(function.body, scope)
    circle = [
        one
        for one in every
        if one.body is not None and function in called_functions(one.body, scope)
    ]
    return all(
        sum(declared(node, scope) in circle for node in walk(one.body)) < 2
        for one in circle
        if one.body is not None
    )


def _depth(value: Value, scope: Scope) -> int:
    """How many fillers are around each node of a value at least; 0 if there are other items."""
    return min((_depth_of(leaf.item, scope) for leaf in leaves(value)), default=_BELOW_ALL)


def _depth_of(item: Item, scope: Scope) -> int:
    match item:
        case StreamElement():
            return least_depth(item, scope)
        case Inner(owner=element) | AnyNode(filler=element):
            return least_depth(element, scope)
        case (
            AttributeItem(owner=StreamElement() as owner) | TextItem(owner=StreamElement() as owner)
        ):
            return least_depth(owner, scope)
    return 0
