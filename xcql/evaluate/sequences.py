"""Sequences between expressions: any iterable of items, as lazy as the expression allows.

A computed sequence is a `tuple`, `list` or `range`; anything else can be read only once, unless
`hold` has made it a `Held` sequence, which keeps what was read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

from xcql.diagnostics import Diagnostic, XcqlError, error
from xcql.evaluate.values import atomize, typed_value
from xcql.source import Span
from xcql.xdm.functions import Item, XdmFunction
from xcql.xdm.nodes import Node

Items = Iterable[Item]

_COMPUTED = frozenset([tuple, list, range])


class Held:
    """A lazy sequence that can be read many times: it computes each item at most once.

    An error is raised for every reader.
    """

    __slots__ = ("_busy", "_done", "_failure", "_known", "_rest")

    def __init__(self, rest: Iterator[Item]) -> None:
        self._known: list[Item] = []
        self._rest = rest
        self._done = False
        self._failure: XcqlError | None = None
        self._busy = False

    def __iter__(self) -> Iterator[Item]:
        return iter(self._known) if self._done else self._read()

    def _read(self) -> Iterator[Item]:
        known, position = self._known, 0
        while True:
            self._check_idle()
            while position < len(known):
                yield known[position]
                position += 1
            if self._done:
                return
            self._more()

    def _more(self) -> None:
        """Compute one more item, or detect the end."""
        if self._failure is not None:
            raise self._failure
        self._check_idle()
        self._busy = True
        try:
            for item in self._rest:
                self._known.append(item)
                return
        except XcqlError as problem:
            self._failure = problem
            raise
        finally:
            self._busy = False
        self._done = True

    def _check_idle(self) -> None:
        if self._busy:
            # a reader that runs while an item is being computed is part of that computation
            raise error("XQDY0054", "the value of a variable depends on itself")

    def all(self) -> list[Item]:
        """Every item, computed."""
        while not self._done:
            self._more()
        return self._known


def hold(items: Items) -> Items:
    """The sequence in a form that can be read many times; it stays lazy."""
    if type(items) in _COMPUTED or type(items) is Held:
        return items
    return Held(iter(items))


def computed(items: Items) -> Sequence[Item]:
    """The sequence with every item computed."""
    kind = type(items)
    if kind is tuple or kind is list or kind is range:
        return items  # type: ignore[return-value]
    if kind is Held:
        return cast(Held, items).all()
    result = []
    for item in items:  # a loop, not list(): it uses no C stack when recursion is deep
        result.append(item)
    return result


def first_two(items: Items) -> Sequence[Item]:
    """Up to two items: enough to know whether there are none, one or more."""
    kind = type(items)
    if kind is tuple or kind is list or kind is range:
        return items  # type: ignore[return-value]
    result = []
    for item in items:
        result.append(item)
        if len(result) == 2:
            break
    return result


def items_between(items: Items, start: int, stop: int | None) -> Iterator[Item]:
    """The items from one index to before another; Python cannot count to any integer."""
    last = None if stop is None else min(stop, sys.maxsize)
    return islice(items, min(start, sys.maxsize), last)


def zero_or_one(items: Items, what: str, span: Span | None) -> Item | None:
    """The item of a sequence of at most one; None for the empty sequence."""
    found = first_two(items)
    if len(found) > 1:
        raise error("XPTY0004", f"{what} is a sequence of several items; only one is allowed", span)
    return found[0] if found else None


def zero_or_one_atomic(items: Items, what: str, span: Span | None) -> Any:
    """The one atomic value of an operand, or None if the operand is empty."""
    kind = type(items)
    if (kind is tuple or kind is list) and len(items) == 1:  # type: ignore[arg-type]
        item = items[0]  # type: ignore[index]
        if isinstance(item, Node):
            return typed_value(item)
        if not isinstance(item, XdmFunction):
            return item
    return zero_or_one(atomize(items), what, span)


def located(problem: XcqlError, span: Span | None) -> XcqlError:
    """The error with a position, if it has none yet."""
    found = problem.diagnostic
    if found.span is None and span is not None:
        problem.diagnostic = Diagnostic(
            found.severity, found.code, found.message, span, found.notes, found.hints
        )
        problem.args = (problem.diagnostic,)
    return problem
