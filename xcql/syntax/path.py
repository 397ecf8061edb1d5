"""Paths, steps, predicates and lookups."""

from __future__ import annotations

from xcql.syntax.node import Expr, Name, SyntaxNode, node

FORWARD_AXES = (
    "child",
    "descendant",
    "attribute",
    "self",
    "descendant-or-self",
    "following-sibling",
    "following",
)
REVERSE_AXES = ("parent", "ancestor", "preceding-sibling", "preceding", "ancestor-or-self")


@node
class Path(Expr):
    """`step/step/step`, from the root of the context item's tree if `absolute`.

    `a//b` is the path of the three steps `a`, `descendant-or-self::node()` and `b`; the lone `/`
    is an absolute path of no steps. A step is an `AxisStep` or any other expression.
    """

    absolute: bool
    steps: tuple[Expr, ...]


@node
class AxisStep(Expr):
    """`axis::test[predicate]...`; the test is a `NameTest`, a `Wildcard` or a kind test."""

    axis: str
    test: SyntaxNode
    predicates: tuple[Expr, ...] = ()


@node
class NameTest(SyntaxNode):
    name: Name


@node
class Wildcard(SyntaxNode):
    """`*`, `prefix:*`, `*:local` or `Q{uri}*`"""

    prefix: str | None = None
    uri: str | None = None
    local: str | None = None


@node
class Filter(Expr):
    """`base[predicate]`, where the base is not an axis step."""

    base: Expr
    predicate: Expr


@node
class Lookup(Expr):
    """`base?key`; the key is a `StringLiteral` or `IntegerLiteral`, `AnyKey`, or an expression."""

    base: Expr
    key: Expr


@node
class UnaryLookup(Expr):
    """`?key`, on the context item"""

    key: Expr


@node
class AnyKey(Expr):
    """The `*` of a lookup."""
