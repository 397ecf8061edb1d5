"""Literals, variables, the context item, and sequences."""

from __future__ import annotations

from decimal import Decimal

from xcql.syntax.node import Expr, Name, node


@node
class IntegerLiteral(Expr):
    value: int


@node
class DecimalLiteral(Expr):
    value: Decimal


@node
class DoubleLiteral(Expr):
    value: float


@node
class StringLiteral(Expr):
    value: str


@node
class VariableRef(Expr):
    """`$name`"""

    name: Name


@node
class ContextItem(Expr):
    """`.`"""


@node
class Sequence(Expr):
    """`a, b, c`; without items, the empty sequence `()`. Never has just one item."""

    items: tuple[Expr, ...]
