"""Names: resolves the names in a query, and reports unknown ones."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.context import Context, StaticContext
from xcql.source import Span
from xcql.syntax.node import Name, SyntaxNode
from xcql.xdm.names import QName

if TYPE_CHECKING:
    from xcql.evaluate.calls import UserFunction

# local variables at run time: (value, the variables around it)
Environment = Any
# an expression, ready to run
Code = Callable[[Environment, Context], Iterable[Any]]


@dataclass(slots=True)
class GlobalVariable:
    """A variable of the prolog; `code` computes its value, once per evaluation."""

    name: QName
    span: Span
    code: Code | None = None


@dataclass(slots=True)
class Module:
    """The declarations of a query, filled in while its prolog is read."""

    functions: dict[tuple[QName, int], UserFunction] = field(default_factory=dict)
    variables: dict[QName, GlobalVariable] = field(default_factory=dict)
    external_functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Local:
    name: QName
    outer: _Local | None


@dataclass(frozen=True, slots=True)
class NameScope:
    """The meaning of names at one place of the query.

    `constructor_namespaces` are those that the enclosing direct constructors declare: elements
    that are created here have them in scope.
    """

    static: StaticContext
    module: Module
    locals: _Local | None = None
    constructor_namespaces: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def bind(self, *names: QName) -> NameScope:
        """The scope with one more local variable for each name, the last one innermost."""
        inner = self.locals
        for name in names:
            inner = _Local(name, inner)
        return replace(self, locals=inner)

    def without_locals(self) -> NameScope:
        """The scope of a declared function's body."""
        return replace(self, locals=None)

    def depth_of(self, name: QName) -> int | None:
        """How many local variables were bound after that one, or None if it is not local."""
        depth, local = 0, self.locals
        while local is not None:
            if local.name == name:
                return depth
            depth, local = depth + 1, local.outer
        return None

    def variable_names(self) -> Iterator[str]:
        """All variables that are visible here, innermost first."""
        local = self.locals
        while local is not None:
            yield str(local.name)
            local = local.outer
        yield from (str(name) for name in self.module.variables)

    def inside_constructor(self, declared: Mapping[str, str]) -> NameScope:
        """The scope inside an element constructor with these `xmlns` attributes."""
        if not declared:
            return self
        return replace(
            self,
            static=self.static.with_namespaces(declared),
            constructor_namespaces={**self.constructor_namespaces, **declared},
        )


N = TypeVar("N", bound=SyntaxNode)
_COMPILERS: dict[type[SyntaxNode], Callable[[Any, NameScope], Code]] = {}


def compiles(
    node_class: type[N],
) -> Callable[[Callable[[N, NameScope], Code]], Callable[[N, NameScope], Code]]:
    """Decorator: the function compiles this kind of syntax node."""

    def register(function: Callable[[N, NameScope], Code]) -> Callable[[N, NameScope], Code]:
        _COMPILERS[node_class] = function
        return function

    return register


def compile_expression(node: SyntaxNode, scope: NameScope) -> Code:
    """The code of an expression; static errors are raised here."""
    return _COMPILERS[type(node)](node, scope)


def element_name(name: Name, static: StaticContext) -> QName:
    """The name of an element or type: without a prefix, in the default element namespace."""
    return _resolved(name, static, static.default_element_namespace)


def plain_name(name: Name, static: StaticContext) -> QName:
    """The name of an attribute or variable: without a prefix, in no namespace."""
    return _resolved(name, static, "")


def function_name(name: Name, static: StaticContext) -> QName:
    """The name of a function: without a prefix, in the default function namespace."""
    return _resolved(name, static, static.default_function_namespace)


def _resolved(name: Name, static: StaticContext, default: str) -> QName:
    if name.uri is not None:
        return QName(name.uri, name.local)
    if not name.prefix:
        return QName(default, name.local)
    return QName(prefix_uri(name.prefix, static, name.span), name.local, name.prefix)


def prefix_uri(prefix: str, static: StaticContext, span: Span) -> str:
    """The namespace of a prefix in the query."""
    uri = static.namespaces.get(prefix)
    if uri is None:
        raise error(
            "XPST0081",
            f"the prefix '{prefix}' is not declared",
            span,
            hints=near(prefix, static.namespaces, "did you mean the prefix {}?")
            or [f'declare namespace {prefix} = "…";'],
        )
    return uri


def unknown_variable(name: QName, scope: NameScope, span: Span) -> XcqlError:
    return error(
        "XPST0008",
        f"unknown variable ${name}",
        span,
        hints=near(str(name), set(scope.variable_names()), "did you mean ${}?"),
    )


def near(wanted: str, known: Iterable[str], template: str) -> list[str]:
    """A hint with the names that are similar to a misspelt one; no hint if there are none."""
    found = difflib.get_close_matches(wanted, list(known), n=3, cutoff=0.6)
    return [template.format(" or ".join(found))] if found else []
