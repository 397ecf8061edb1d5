"""Native functions: what they receive from a call, and the table where a module declares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xcql.algebra.scalars import Call
from xcql.analysis.names import FUNCTIONS
from xcql.compile.result import NotNative
from xcql.compile.terms.scope import Compilation, FunctionKey, Scope
from xcql.compile.terms.values import Value
from xcql.source import Span
from xcql.syntax.node import Expr


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call with the values of its arguments; `only_compared` is as in `Scope`."""

    scope: Scope
    span: Span
    arguments: tuple[Value, ...]
    expressions: tuple[Expr, ...]
    only_compared: bool = False

    @property
    def compilation(self) -> Compilation:
        return self.scope.compilation


NativeFunction = Callable[[CallSite], Value]


class NativeFunctions(dict[FunctionKey, NativeFunction]):
    """The functions of one module, each declared where it is defined.

    >>> native = NativeFunctions()
    >>> @native("exists", 1)
    ... def _exists(site): ...
    >>> [(name, arity) for _, name, arity in native]
    [('exists', 1)]
    """

    def __call__(
        self, name: str, *arities: int, uri: str = FUNCTIONS
    ) -> Callable[[NativeFunction], NativeFunction]:
        """Declare the native form of a function, for some numbers of arguments."""

        def declare(code: NativeFunction) -> NativeFunction:
            self.update({(uri, name, arity): code for arity in arities})
            return code

        return declare


def supported(operation: Call, site: CallSite) -> Call:
    """The operation, if the dialect can compute it."""
    reason = site.compilation.dialect.limit(operation)
    if reason is not None:
        raise NotNative(reason, site.span)
    return operation
