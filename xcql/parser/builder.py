"""Parse tree to syntax tree: the dispatcher, and helpers for all builder functions.

A builder function takes the builder and one parse-tree context and returns a syntax node; it is
registered with `@builds(Context)`. A node whose fields are just parts of the context needs no
function of its own: `builds_node` lists the parts. Both live in the `build_*` modules, by topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from antlr4 import Token

from xcql.diagnostics import Diagnostic, XcqlError, error, warning
from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.characters import braced_uri_value, string_value
from xcql.source import Source, Span
from xcql.syntax import literals
from xcql.syntax.node import Expr, Name

BuilderFunction = Callable[["Builder", Any], Any]

# None for contexts with one child that add no information
_BUILDERS: dict[type, BuilderFunction | None] = {
    XcqlParser.ExprSingleContext: None,
    XcqlParser.InitialClauseContext: None,
    XcqlParser.ClauseContext: None,
    XcqlParser.OperandContext: None,
    XcqlParser.PlainPathContext: None,
    XcqlParser.PrimaryContext: None,
    XcqlParser.NodeTestContext: None,
}


def builds(*contexts: type) -> Callable[[BuilderFunction], BuilderFunction]:
    """Decorator: this function builds the syntax node for these contexts."""

    def register(function: BuilderFunction) -> BuilderFunction:
        for context in contexts:
            _BUILDERS[context] = function
        return function

    return register


def builds_node(kind: type, node: type, *fields: BuilderFunction) -> None:
    """Such contexts become nodes of this class; the functions build its fields, in order."""
    _BUILDERS[kind] = lambda b, context: node(
        *[field(b, context) for field in fields], span=b.span(context)
    )


class Builder:
    """The state of builder functions: the source, and the prolog's declarations so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.warnings: list[Diagnostic] = []
        self.preserve_boundary_space = False
        self.default_function_namespace: str | None = None
        self.defined_functions: set[str] = set()  # with the papers' `define function`
        self.version_intervals = 0  # how many #[ ] enclose the current place

    def build(self, context: Any) -> Any:
        """The syntax node of a context."""
        while (build := _BUILDERS[type(context)]) is None:
            context = context.children[0]
        return build(self, context)

    def build_all(self, parent: Any, kind: type) -> tuple[Any, ...]:
        """The syntax nodes of a context's children of one kind, in order."""
        return tuple(self.build(child) for child in parent.children if type(child) is kind)

    def optional(self, parent: Any, kind: type) -> Any:
        """The syntax node of a context's child of one kind, or None."""
        child = find(parent, kind)
        return self.build(child) if child is not None else None

    def span(self, context: Any) -> Span:
        return Span(self.source, context.start.start, context.stop.stop + 1)

    def token_span(self, token: Token) -> Span:
        return Span(self.source, token.start, token.stop + 1)

    def string(self, token: Token) -> str:
        """The value of a STRING token."""
        return string_value(self.token_span(token))

    def syntax_error(self, message: str, span: Span, *hints: str) -> XcqlError:
        return error("XPST0003", message, span, hints=hints)

    def warn(self, message: str, span: Span, hint: str) -> None:
        self.warnings.append(warning("XCQL0001", message, span, hints=[hint]))


def find(parent: Any, kind: type) -> Any:
    """The first child of a kind, or None."""
    for child in parent.children:
        if type(child) is kind:
            return child
    return None


def terminals(parent: Any) -> Iterator[Token]:
    """The tokens that are direct children of a context."""
    for child in parent.children:
        symbol = getattr(child, "symbol", None)
        if symbol is not None:
            yield symbol


def has_token(parent: Any, token_type: int) -> bool:
    return any(token.type == token_type for token in terminals(parent))


def first_token(parent: Any, *token_types: int) -> Token | None:
    return next((token for token in terminals(parent) if token.type in token_types), None)


@builds(XcqlParser.ExprContext)
def _expr(b: Builder, context: Any) -> Expr:
    if len(context.children) == 1:
        return b.build(context.children[0])  # type: ignore[no-any-return]
    items = b.build_all(context, XcqlParser.ExprSingleContext)
    return literals.Sequence(items, span=b.span(context))


@builds(XcqlParser.EnclosedContext, XcqlParser.ParenthesizedContext)
def enclosed(b: Builder, context: Any) -> Expr:
    """`{ expr }` or `( expr )`; if empty, the empty sequence."""
    inner = find(context, XcqlParser.ExprContext)
    return b.build(inner) if inner is not None else literals.Sequence((), span=b.span(context))


@builds(XcqlParser.EqNameContext, XcqlParser.FunctionNameContext, XcqlParser.NcNameContext)
def _name(b: Builder, context: Any) -> Name:
    token = context.start
    span = b.token_span(token)
    text = token.text
    if token.type == XcqlLexer.PREFIXED_NAME:
        prefix, local = text.split(":")
        return Name(local, prefix, span=span)
    if token.type == XcqlLexer.BRACED_NAME:
        return Name(text[text.index("}") + 1 :], uri=braced_uri_value(span), span=span)
    return Name(text, span=span)
