"""Function calls, function references, and inline functions."""

from __future__ import annotations

from xcql.syntax.node import Expr, Name, SyntaxNode, node
from xcql.syntax.types import SequenceType


@node
class FunctionCall(Expr):
    """`name(arguments)`; an argument can be an `ArgumentPlaceholder`."""

    name: Name
    arguments: tuple[Expr, ...]


@node
class DynamicCall(Expr):
    """`function(arguments)`, where the function is the value of an expression."""

    function: Expr
    arguments: tuple[Expr, ...]


@node
class ArgumentPlaceholder(Expr):
    """The `?` of a partial function application."""


@node
class NamedFunctionRef(Expr):
    """`name#arity`"""

    name: Name
    arity: int


@node
class Annotation(SyntaxNode):
    """`%name(values)`"""

    name: Name
    values: tuple[Expr, ...] = ()


@node
class Parameter(SyntaxNode):
    """`$name as type`"""

    name: Name
    type: SequenceType | None = None


@node
class InlineFunction(Expr):
    """`function($a, $b) as type { body }`"""

    annotations: tuple[Annotation, ...]
    parameters: tuple[Parameter, ...]
    result_type: SequenceType | None
    body: Expr
