"""Tree to XQuery text, pretty and canonical: equal trees give equal text.

`parse(emit(tree)) == tree`, without redundant parentheses. The functions that write each kind of
node register themselves with `@emits`; where a template is enough, `emits_text` takes it. They
live in the `emit_*` modules, by topic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from xcql.recursion import deep_recursion
from xcql.syntax.construct import SquareArray
from xcql.syntax.control import Extension, If, Quantified, Switch, TryCatch, Typeswitch, Validate
from xcql.syntax.flwor import Flwor
from xcql.syntax.functions import DynamicCall
from xcql.syntax.layout import LINE, SOFT_LINE, Doc, Group, Indent, join, render
from xcql.syntax.literals import Sequence
from xcql.syntax.node import SyntaxNode
from xcql.syntax.operators import (
    Arrow,
    Binary,
    CastableAs,
    CastAs,
    Comparison,
    InstanceOf,
    SimpleMap,
    TreatAs,
    Unary,
)
from xcql.syntax.path import AxisStep, Filter, Lookup, Path
from xcql.syntax.precedence import BINARY, Precedence
from xcql.syntax.temporal import AllenComparison, IntervalProjection, VersionProjection

EmitFunction = Callable[["Emitter", Any], Doc]

_EMITTERS: dict[type, EmitFunction] = {}

_PRECEDENCE: dict[type, Precedence] = {
    Sequence: Precedence.SEQUENCE,
    **dict.fromkeys((Flwor, If, Quantified, Switch, Typeswitch, TryCatch), Precedence.SINGLE),
    Comparison: Precedence.COMPARISON,
    AllenComparison: Precedence.COMPARISON,
    InstanceOf: Precedence.INSTANCE,
    TreatAs: Precedence.TREAT,
    CastableAs: Precedence.CASTABLE,
    CastAs: Precedence.CAST,
    Arrow: Precedence.ARROW,
    Unary: Precedence.UNARY,
    Validate: Precedence.VALUE,
    Extension: Precedence.VALUE,
    SimpleMap: Precedence.MAP,
    **dict.fromkeys((Path, AxisStep, IntervalProjection, VersionProjection), Precedence.PATH),
    **dict.fromkeys((Filter, Lookup, DynamicCall), Precedence.POSTFIX),
}
# names whose beginning would be read as a time literal inside ?[ ] and #[ ]
_TIME_LIKE = re.compile(r"(now|start|last|P(?=[0-9T])[0-9YMDTHS]*)(?![\w])")


def emits(*kinds: type) -> Callable[[EmitFunction], EmitFunction]:
    """Decorator: this function writes these kinds of nodes."""

    def register(function: EmitFunction) -> EmitFunction:
        for kind in kinds:
            _EMITTERS[kind] = function
        return function

    return register


def emits_text(kind: type, template: str) -> None:
    """Nodes of this kind are written as this text, filled with their fields."""
    _EMITTERS[kind] = lambda e, node: template.format(node=node)


def emit(tree: SyntaxNode) -> str:
    """The text of a syntax tree.

    >>> import xcql
    >>> print(xcql.emit(xcql.parse("(1+2)*3 , (4)")))
    (1 + 2) * 3, 4
    """
    _load_emitters()
    with deep_recursion():
        return render(Emitter().doc(tree))


@cache
def _load_emitters() -> None:
    for topic in ("expressions", "construct", "types", "prolog"):
        import_module(f"xcql.syntax.emit_{topic}")


class Emitter:
    """Writes nodes, and tracks whether it is inside `?[ ]` or `#[ ]`."""

    def __init__(self) -> None:
        self.intervals = 0

    def doc(self, node: SyntaxNode) -> Doc:
        return _EMITTERS[type(node)](self, node)

    def at_least(self, node: SyntaxNode, level: Precedence) -> Doc:
        """A node as an operand: in parentheses if it binds less tightly than required."""
        return self.doc(node) if precedence(node) >= level else self.parenthesized(node)

    def single(self, node: SyntaxNode) -> Doc:
        """A node where the grammar expects one expression without commas."""
        return self.at_least(node, Precedence.SINGLE)

    def argument(self, node: SyntaxNode) -> Doc:
        """A single expression that a closing bracket or a comma follows."""
        return "/" if is_lone_root(node) else self.single(node)

    def inside(self, node: SyntaxNode) -> Doc:
        """A node between brackets, where commas are allowed."""
        return "/" if is_lone_root(node) else self.doc(node)

    def parenthesized(self, node: SyntaxNode) -> Doc:
        return Group(["(", Indent([SOFT_LINE, self.inside(node)]), SOFT_LINE, ")"])

    def braced(self, node: SyntaxNode) -> Doc:
        """`{ node }`"""
        return Group(["{", Indent([LINE, self.inside(node)]), LINE, "}"])

    def enclosed(self, node: SyntaxNode) -> Doc:
        """`{ node }`, where `{ }` can stand for the empty sequence"""
        return "{}" if isinstance(node, Sequence) and not node.items else self.braced(node)

    def listed(self, opening: str, nodes: tuple[SyntaxNode, ...], closing: str) -> Doc:
        """`(a, b, c)`, also with other brackets"""
        items = join([",", LINE], [self.argument(node) for node in nodes])
        if not items:
            return opening + closing
        return Group([opening, Indent([SOFT_LINE, items]), SOFT_LINE, closing])

    def is_time_like(self, name: str) -> bool:
        """Whether a name, written unchanged here, would be read as a time literal."""
        return self.intervals > 0 and _TIME_LIKE.match(name) is not None


def precedence(node: SyntaxNode) -> Precedence:
    if isinstance(node, Binary):
        return BINARY[node.op]
    if isinstance(node, Sequence) and not node.items:
        return Precedence.PRIMARY
    if isinstance(node, Filter | Lookup | DynamicCall) and on_projection(node):
        return Precedence.PATH
    return _PRECEDENCE.get(type(node), Precedence.PRIMARY)


def on_projection(node: SyntaxNode) -> bool:
    """Whether a postfix expression applies to a projection, as in `a?[now][1]`."""
    while isinstance(node, Filter | Lookup | DynamicCall):
        node = node.function if isinstance(node, DynamicCall) else node.base
    return isinstance(node, IntervalProjection | VersionProjection)


def is_lone_root(node: SyntaxNode) -> bool:
    return isinstance(node, Path) and node.absolute and not node.steps


def begins_with_bracket(node: SyntaxNode) -> bool:
    """Whether the text of an operand begins with `[`."""
    while True:
        match node:
            case Filter() | Lookup() | IntervalProjection() | VersionProjection():
                node = node.base
            case DynamicCall():
                node = node.function
            case Path(absolute=False):
                node = node.steps[0]
            case Binary() | SimpleMap():
                node = node.left
            case Arrow():
                node = node.base
            case InstanceOf() | TreatAs() | CastAs() | CastableAs():
                node = node.operand
            case _:
                return isinstance(node, SquareArray)


def ends_with_type(node: SyntaxNode) -> bool:
    """Whether the text ends with a type that would absorb a following `+` or `*`."""
    while True:
        match node:
            case InstanceOf() | TreatAs():
                return node.type.item is not None and not node.type.occurrence
            case Binary():
                node = node.right
            case Unary():
                node = node.operand
            case _:
                return False
