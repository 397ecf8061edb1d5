"""Operators, and the type operators that bind like them."""

from __future__ import annotations

from xcql.syntax.node import Expr, Name, node
from xcql.syntax.types import SequenceType, SingleType


@node
class Binary(Expr):
    """`left op right`, with op one of `or and || to + - * div idiv mod union intersect except`."""

    op: str
    left: Expr
    right: Expr


@node
class Comparison(Expr):
    """`left op right`, with op a general (`=`), value (`eq`) or node (`is`, `<<`) comparison."""

    op: str
    left: Expr
    right: Expr


@node
class Unary(Expr):
    """`-operand` or `+operand`"""

    op: str
    operand: Expr


@node
class SimpleMap(Expr):
    """`left ! right`"""

    left: Expr
    right: Expr


@node
class Arrow(Expr):
    """`base => function(arguments)`; the function is a name, a variable or an expression."""

    base: Expr
    function: Name | Expr
    arguments: tuple[Expr, ...]


@node
class InstanceOf(Expr):
    operand: Expr
    type: SequenceType


@node
class TreatAs(Expr):
    operand: Expr
    type: SequenceType


@node
class CastAs(Expr):
    operand: Expr
    type: SingleType


@node
class CastableAs(Expr):
    operand: Expr
    type: SingleType
