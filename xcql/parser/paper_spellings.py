"""The papers' spellings that have a standard form today: each is accepted with a warning.

| the papers write | standard |
| --- | --- |
| `currentDateTime()`, `currentDate()` | `current-dateTime()`, `current-date()` |
| `document("d.xml")` | `doc("d.xml")` |
| `max(a, 5)`, `min(a, 5)` | `max((a, 5))`, `min((a, 5))` |
| `stream(name)`, `stream()` | `stream("name")` |
| `define function f() {}` | `declare function local:f() {};` |
| `return e sortby (k)` | `order by k return e` |
| `<a id={ e }/>` | `<a id="{ e }"/>` |

The grammar handles the last three; the others are calls, which this module rewrites.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xcql.source import Span
from xcql.syntax.functions import FunctionCall, NamedFunctionRef
from xcql.syntax.literals import (
    DecimalLiteral,
    DoubleLiteral,
    IntegerLiteral,
    Sequence,
    StringLiteral,
)
from xcql.syntax.node import Expr, Name, SyntaxNode, Transformer
from xcql.syntax.operators import Binary, Unary
from xcql.syntax.path import AxisStep, NameTest
from xcql.syntax.prolog import FunctionDecl

Warn = Callable[[str, Span, str], None]

_RENAMED = {
    ("currentDateTime", 0): "current-dateTime",
    ("currentDate", 0): "current-date",
    ("document", 1): "doc",
}
_ARITHMETIC = frozenset({"+", "-", "*", "div", "idiv", "mod"})


def modern_call(call: FunctionCall, warn: Warn) -> FunctionCall:
    """A call in its standard spelling."""
    name, arguments = call.name, call.arguments
    if name.prefix is not None or name.uri is not None:
        return call
    if (name.local, len(arguments)) in _RENAMED:
        standard = _RENAMED[name.local, len(arguments)]
        warn(f"'{name.local}' is an old name", name.span, f"the standard spelling is '{standard}'")
        call = replace(call, name=replace(name, local=standard))
    elif name.local in ("max", "min") and len(arguments) == 2 and _is_number(arguments[1]):
        warn(
            f"the second argument of '{name.local}' is a collation, not a value",
            arguments[1].span,
            f"the standard spelling is {name.local}((a, b)), with one more pair of parentheses",
        )
        values = Sequence(arguments, span=arguments[0].span.to(arguments[1].span))
        return replace(call, arguments=(values,))
    if name.local == "stream" and not arguments:
        warn(
            "this means the only stream of the query",
            call.span,
            'the standard spelling is stream("name")',
        )
    if name.local in ("stream", "document") and len(arguments) == 1:
        word = _bare_word(arguments[0])
        if word is not None:
            warn(
                f"the name of a {'stream' if name.local == 'stream' else 'document'} is a string",
                arguments[0].span,
                f'the standard spelling is "{word}", in quotes',
            )
            call = replace(call, arguments=(StringLiteral(word, span=arguments[0].span),))
    return call


def _is_number(argument: Expr) -> bool:
    """Whether an expression returns a number, judging by its form."""
    while isinstance(argument, Unary):
        argument = argument.operand
    if isinstance(argument, Binary):
        return argument.op in _ARITHMETIC
    return isinstance(argument, IntegerLiteral | DecimalLiteral | DoubleLiteral)


def _bare_word(argument: Expr) -> str | None:
    if (
        isinstance(argument, AxisStep)
        and argument.span.text == str(getattr(argument.test, "name", ""))
        and isinstance(argument.test, NameTest)
        and argument.test.name.prefix is None
    ):
        return argument.test.name.local
    return None


class LocalFunctions(Transformer):
    """Puts functions that were declared with `define function` into the namespace `local`."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def _local(self, name: Name) -> Name:
        if name.prefix is None and name.uri is None and name.local in self._names:
            return replace(name, prefix="local")
        return name

    def transform_FunctionDecl(self, target: FunctionDecl) -> SyntaxNode:
        return replace(target, name=self._local(target.name))

    def transform_FunctionCall(self, target: FunctionCall) -> SyntaxNode:
        return replace(target, name=self._local(target.name))

    def transform_NamedFunctionRef(self, target: NamedFunctionRef) -> SyntaxNode:
        return replace(target, name=self._local(target.name))
