"""Sequences between expressions: any iterable of items, as lazy as the expression allows.

A computed sequence is a `tuple`, `list` or `range`; anything else may be read only once, unless
`hold` has made it a `Held` sequence, which remembers what was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, cast

from elementpath.datatypes import AnyURI, UntypedAtomic

from xcql.diagnostics import Diagnostic, XcqlError, error
from xcql.source import Span
from xcql.xdm.atomic import string_of, type_of
from xcql.xdm.functions import Item, XdmArray, XdmFunction, XdmMap
from xcql.xdm.nodes import (
    CommentNode,
    NamespaceNode,
    Node,
    ProcessingInstructionNode,
)

Items = Iterable[Item]

_COMPUTED = frozenset([tuple, list, range])


class Held:
    """A lazy sequence that can be read many times: it computes each item at most once."""

    __slots__ = ("_done", "_known", "_rest")

    def __init__(self, rest: Iterator[Item]) -> None:
        self._known: list[Item] = []
        self._rest = rest
        self._done = False

    def __iter__(self) -> Iterator[Item]:
        return iter(self._known) if self._done else self._read()

    def _read(self) -> Iterator[Item]:
        known, position = self._known, 0
        while True:
            while position < len(known):
                yield known[position]
                position += 1
            if self._done:
                return
            for item in self._rest:
                known.append(item)
                break
            else:
                self._done = True

    def all(self) -> list[Item]:
        """Every item, computed."""
        if not self._done:
            for item in self._rest:
                self._known.append(item)
            self._done = True
        return self._known


def hold(items: Items) -> Items:
    """The sequence in a form that can be read many times, still not computed if it was not."""
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
    for item in items:  # a loop, not list(): it costs no C stack when recursion is deep
        result.append(item)
    return result


def first_two(items: Items) -> Sequence[Item]:
    """Up to two items: enough to know whether there is none, one or more."""
    kind = type(items)
    if kind is tuple or kind is list or kind is range:
        return items  # type: ignore[return-value]
    result = []
    for item in items:
        result.append(item)
        if len(result) == 2:
            break
    return result


def zero_or_one(items: Items, what: str, span: Span | None) -> Item | None:
    """The item of a sequence of at most one; None for the empty sequence."""
    found = first_two(items)
    if len(found) > 1:
        raise error("XPTY0004", f"{what} is a sequence of several items; one is allowed", span)
    return found[0] if found else None


def atomic_value(item: Item, span: Span | None = None) -> Any:
    """The typed value of an item other than an array: a node's text is untyped."""
    if isinstance(item, Node):
        if isinstance(item, (CommentNode, ProcessingInstructionNode, NamespaceNode)):
            return item.string_value()
        return untyped(item.string_value())
    if isinstance(item, XdmFunction):
        raise no_atomic_value(item, span)
    return item


def untyped(text: str) -> UntypedAtomic:
    """An xs:untypedAtomic; quicker than its constructor, which looks at many types."""
    value = object.__new__(UntypedAtomic)
    value.value = text
    value.parser = None
    return value


def no_atomic_value(item: XdmFunction, span: Span | None) -> XcqlError:
    return error("FOTY0013", f"a {kind_of(item)} has no atomic value", span)


def atomize(items: Items, span: Span | None = None) -> Iterator[Any]:
    """The atomic values of a sequence: `fn:data`."""
    for item in items:
        if isinstance(item, XdmArray):
            yield from atomize(item.flattened(), span)
        else:
            yield atomic_value(item, span)


def zero_or_one_atomic(items: Items, what: str, span: Span | None) -> Any:
    """The one atomic value of an operand, or None if the operand is empty."""
    kind = type(items)
    if (kind is tuple or kind is list) and len(items) == 1:  # type: ignore[arg-type]
        item = items[0]  # type: ignore[index]
        if not isinstance(item, XdmArray):
            return atomic_value(item, span)
    return zero_or_one(atomize(items, span), what, span)


def effective_boolean(items: Items, span: Span | None = None) -> bool:
    """What `if`, `where`, `and`, `fn:boolean` make of a sequence."""
    found = first_two(items)
    if not found:
        return False
    item = found[0]
    if item is True or item is False:
        if len(found) == 1:
            return item
    elif isinstance(item, Node):
        return True
    elif len(found) == 1:
        if isinstance(item, str):
            return bool(item)
        if isinstance(item, (int, float, Decimal)):
            return bool(item == item and item != 0)
        if isinstance(item, (UntypedAtomic, AnyURI)):
            return bool(item.value)
    if len(found) > 1:
        raise error(
            "FORG0006",
            "a sequence of several values is neither true nor false",
            span,
            hints=["ask for exists(...), or compare the values"],
        )
    raise error("FORG0006", f"a {kind_of(item)} is neither true nor false", span)


def string_value(item: Item) -> str:
    """The string value of a node or an atomic value: `fn:string`."""
    if isinstance(item, Node):
        return item.string_value()
    if isinstance(item, XdmFunction):
        raise error("FOTY0014", f"a {kind_of(item)} has no string value")
    return string_of(item)


def kind_of(item: Item) -> str:
    """An item's kind, in words for a message."""
    if isinstance(item, Node):
        return f"{item.kind} node" if item.kind != "element" else "element"
    if isinstance(item, XdmMap):
        return "map"
    if isinstance(item, XdmArray):
        return "array"
    if isinstance(item, XdmFunction):
        return "function"
    return str(type_of(item))


def located(problem: XcqlError, span: Span | None) -> XcqlError:
    """The error with a place, if it has none yet."""
    found = problem.diagnostic
    if found.span is None and span is not None:
        problem.diagnostic = Diagnostic(
            found.severity, found.code, found.message, span, found.notes, found.hints
        )
        problem.args = (problem.diagnostic,)
    return problem
