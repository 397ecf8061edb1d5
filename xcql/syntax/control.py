"""Conditions, switches, quantifiers, error handling, and hints to the processor."""

from __future__ import annotations

from typing import Literal

from xcql.syntax.node import Expr, Name, SyntaxNode, node
from xcql.syntax.types import SequenceType


@node
class If(Expr):
    condition: Expr
    then: Expr
    otherwise: Expr


@node
class SwitchCase(SyntaxNode):
    """`case a case b return result`"""

    values: tuple[Expr, ...]
    result: Expr


@node
class Switch(Expr):
    operand: Expr
    cases: tuple[SwitchCase, ...]
    default: Expr


@node
class TypeswitchCase(SyntaxNode):
    """`case $variable as T1 | T2 return result`"""

    types: tuple[SequenceType, ...]
    result: Expr
    variable: Name | None = None


@node
class Typeswitch(Expr):
    operand: Expr
    cases: tuple[TypeswitchCase, ...]
    default: Expr
    default_variable: Name | None = None


@node
class QuantifierBinding(SyntaxNode):
    """`$variable as type in source`"""

    variable: Name
    source: Expr
    type: SequenceType | None = None


@node
class Quantified(Expr):
    """`some|every $a in x, $b in y satisfies condition`"""

    quantifier: Literal["some", "every"]
    bindings: tuple[QuantifierBinding, ...]
    condition: Expr


@node
class Catch(SyntaxNode):
    """`catch a | b { body }`; a test is a `NameTest` or a `Wildcard`."""

    tests: tuple[SyntaxNode, ...]
    body: Expr


@node
class TryCatch(Expr):
    body: Expr
    catches: tuple[Catch, ...]


@node
class Ordered(Expr):
    """`ordered { body }` or `unordered { body }`"""

    ordered: bool
    body: Expr


@node
class Pragma(SyntaxNode):
    """`(# name content #)`"""

    name: Name
    content: str = ""


@node
class Extension(Expr):
    """Pragmas, then `{ body }`"""

    pragmas: tuple[Pragma, ...]
    body: Expr | None


@node
class Validate(Expr):
    """`validate mode { body }`; `mode` is `lax`, `strict` or empty. Parsed, but not supported."""

    body: Expr
    mode: str = ""
    type: Name | None = None
