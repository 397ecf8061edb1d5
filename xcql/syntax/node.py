"""The base of all syntax nodes, and the ways to walk and rebuild a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, cast, dataclass_transform

from xcql.source import Span
from xcql.syntax.names import braced_uri

_C = TypeVar("_C", bound=type)
N = TypeVar("N", bound="SyntaxNode")


@dataclass_transform(frozen_default=True, kw_only_default=False, field_specifiers=(field,))
def node(cls: _C) -> _C:
    """Class decorator: a frozen, slotted dataclass."""
    return cast(_C, dataclass(frozen=True, slots=True, eq=False, repr=False)(cls))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SyntaxNode:
    """Anything in a syntax tree.

    Two nodes are equal if they have the same meaning: spans don't count. Comparing does not
    recurse, so a sum of ten thousand terms is no problem.
    """

    span: Span = field(kw_only=True, compare=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SyntaxNode):
            return NotImplemented
        pending: list[tuple[Any, Any]] = [(self, other)]
        while pending:
            mine, theirs = pending.pop()
            if mine is theirs:
                continue
            if type(mine) is not type(theirs):
                return False
            if isinstance(mine, SyntaxNode):
                for name in child_fields(type(mine)):
                    pending.append((getattr(mine, name), getattr(theirs, name)))
            elif isinstance(mine, tuple):
                if len(mine) != len(theirs):
                    return False
                pending.extend(zip(mine, theirs, strict=True))
            elif mine != theirs:
                return False
        return True

    def __hash__(self) -> int:
        return hash(tuple(_shape(self)))

    def __repr__(self) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in child_fields(type(self)))
        return f"{type(self).__name__}({', '.join(values)})"


class Expr(SyntaxNode):
    """An expression: anything that has a value."""

    __slots__ = ()


@node
class Name(SyntaxNode):
    """A name as written: `local`, `prefix:local`, or `Q{uri}local`."""

    local: str
    prefix: str | None = None
    uri: str | None = None

    def __str__(self) -> str:
        if self.uri is not None:
            return f"{braced_uri(self.uri)}{self.local}"
        return f"{self.prefix}:{self.local}" if self.prefix is not None else self.local


_FIELDS: dict[type, tuple[str, ...]] = {}


def child_fields(cls: type) -> tuple[str, ...]:
    """The names of a node class's fields that are part of its meaning."""
    names = _FIELDS.get(cls)
    if names is None:
        names = _FIELDS[cls] = tuple(f.name for f in fields(cls) if f.compare)
    return names


def _shape(root: SyntaxNode) -> Iterator[Any]:
    pending: list[Any] = [root]
    while pending:
        current = pending.pop()
        if isinstance(current, SyntaxNode):
            yield type(current)
            pending.extend(getattr(current, name) for name in child_fields(type(current)))
        elif isinstance(current, tuple):
            yield len(current)
            pending.extend(current)
        else:
            yield current


def children(parent: SyntaxNode) -> Iterator[SyntaxNode]:
    """The direct children of a node, in source order."""
    for name in child_fields(type(parent)):
        value = getattr(parent, name)
        if isinstance(value, SyntaxNode):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, SyntaxNode):
                    yield item


def walk(root: SyntaxNode) -> Iterator[SyntaxNode]:
    """A node and all its descendants, parents first, without recursion."""
    pending = [root]
    while pending:
        current = pending.pop()
        yield current
        pending.extend(reversed(list(children(current))))


class Transformer:
    """Rebuilds a tree from the leaves up, sharing every part that did not change.

    A subclass defines `transform_<ClassName>(node) -> SyntaxNode`; it gets the node with its
    children already transformed.
    """

    def transform(self, target: N) -> N:
        rebuilt = self.transform_children(target)
        method: Callable[[SyntaxNode], SyntaxNode] | None = getattr(
            self, f"transform_{type(target).__name__}", None
        )
        return cast(N, method(rebuilt)) if method else rebuilt

    def transform_children(self, target: N) -> N:
        changes: dict[str, Any] = {}
        for name in child_fields(type(target)):
            value = getattr(target, name)
            changed: Any = value
            if isinstance(value, SyntaxNode):
                changed = self.transform(value)
            elif isinstance(value, tuple) and any(isinstance(item, SyntaxNode) for item in value):
                changed = tuple(
                    self.transform(item) if isinstance(item, SyntaxNode) else item for item in value
                )
                if all(new is old for new, old in zip(changed, value, strict=True)):
                    changed = value
            if changed is not value:
                changes[name] = changed
        return replace(target, **changes) if changes else target
