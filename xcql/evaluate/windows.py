"""The window clause: tumbling and sliding windows over a sequence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from xcql.diagnostics import error
from xcql.evaluate.context import Context
from xcql.evaluate.scope import Code, Environment, NameScope, compile_expression, plain_name
from xcql.evaluate.sequences import computed
from xcql.evaluate.type_reader import read_sequence_type
from xcql.evaluate.values import effective_boolean
from xcql.syntax.flwor import Window, WindowCondition
from xcql.xdm.names import QName

_Stream = Iterable[Environment]


class _Condition:
    """A start or end condition, with the variables that it binds."""

    def __init__(self, node: WindowCondition, scope: NameScope) -> None:
        # item, position, previous and next, if they are named
        given = (node.item, node.position, node.previous, node.next)
        self.names = [plain_name(name, scope.static) for name in given if name is not None]
        self._wanted = [index for index, name in enumerate(given) if name is not None]
        self.scope = scope.bind(*self.names)
        self._code: Code = compile_expression(node.condition, self.scope)
        self._span = node.condition.span

    def bind(self, env: Environment, items: Sequence[Any], index: int) -> Environment:
        for part in self._wanted:
            if part == 0:
                value: tuple[Any, ...] = (items[index],)
            elif part == 1:
                value = (index + 1,)
            elif part == 2:
                value = (items[index - 1],) if index > 0 else ()
            else:
                value = (items[index + 1],) if index + 1 < len(items) else ()
            env = (value, env)
        return env

    def holds(self, env: Environment, context: Context) -> bool:
        return effective_boolean(self._code(env, context), self._span)


def compile_window(
    node: Window, scope: NameScope
) -> tuple[Callable[[_Stream, Context], _Stream], list[QName]]:
    """The clause's code, and the variables that it adds: those of the conditions and the window."""
    source = compile_expression(node.source, scope)
    start = _Condition(node.start, scope)
    end = None if node.end is None else _Condition(node.end, start.scope)
    variable = plain_name(node.variable, scope.static)
    names = [*start.names, *(end.names if end else ()), variable]
    if len(set(names)) != len(names):
        raise error("XQST0103", "two variables of the window clause have the same name", node.span)
    wanted = None if node.type is None else read_sequence_type(node.type, scope)
    find = _tumbling if node.kind == "tumbling" else _sliding
    only_end = node.only_end

    def run(stream: _Stream, context: Context) -> Iterator[Environment]:
        for env in stream:
            items = computed(source(env, context))
            for inner, first, last, closed in find(items, start, end, env, context):
                if not closed and only_end:
                    continue
                window = tuple(items[first : last + 1])
                if wanted is not None and not wanted.matches(window):
                    raise error("XPTY0004", f"${node.variable} must be {wanted}", node.span)
                yield (window, inner)

    return run, names


_Found = Iterator[tuple[Environment, int, int, bool]]


def _tumbling(
    items: Sequence[Any],
    start: _Condition,
    end: _Condition | None,
    env: Environment,
    context: Context,
) -> _Found:
    """Windows that do not overlap: variables, first and last index, and whether closed."""
    index = 0
    while index < len(items):
        inner = start.bind(env, items, index)
        if not start.holds(inner, context):
            index += 1
            continue
        if end is None:
            last = _before_next_start(items, start, env, context, index)
            yield inner, index, last, True
        else:
            inner, last, closed = _to_end(items, end, inner, context, index)
            yield inner, index, last, closed
        index = last + 1


def _sliding(
    items: Sequence[Any],
    start: _Condition,
    end: _Condition | None,
    env: Environment,
    context: Context,
) -> _Found:
    """A window from every item that meets the start condition; windows can overlap."""
    assert end is not None, "the grammar demands an end condition"
    for index in range(len(items)):
        inner = start.bind(env, items, index)
        if start.holds(inner, context):
            inner, last, closed = _to_end(items, end, inner, context, index)
            yield inner, index, last, closed


def _before_next_start(
    items: Sequence[Any], start: _Condition, env: Environment, context: Context, index: int
) -> int:
    for later in range(index + 1, len(items)):
        if start.holds(start.bind(env, items, later), context):
            return later - 1
    return len(items) - 1


def _to_end(
    items: Sequence[Any], end: _Condition, env: Environment, context: Context, index: int
) -> tuple[Environment, int, bool]:
    """The end of the window that starts at an index; without one, the last item."""
    inner = env
    for last in range(index, len(items)):
        inner = end.bind(env, items, last)
        if end.holds(inner, context):
            return inner, last, True
    return inner, len(items) - 1, False
