"""Builder functions for modules and their declarations."""

from __future__ import annotations

import re
from typing import Any

from xcql.diagnostics import error
from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import (
    Builder,
    builds,
    builds_node,
    find,
    first_token,
    has_token,
    terminals,
)
from xcql.parser.fields import TYPE, child_at, every
from xcql.parser.paper_spellings import LocalFunctions
from xcql.source import Span
from xcql.syntax import functions, prolog, types
from xcql.syntax.names import fold_space, name_set

P = XcqlParser

_ENCODING = re.compile(r"[A-Za-z][A-Za-z0-9._\-]*")
_DECIMAL_FORMAT_PROPERTIES = name_set(
    "decimal-separator grouping-separator infinity minus-sign NaN percent per-mille zero-digit"
    " digit pattern-separator exponent-separator"
)
# setters that are one keyword and one word: their keywords
_SETTERS = {
    P.BoundarySpaceDeclContext: "boundary-space",
    P.ConstructionDeclContext: "construction",
    P.OrderingDeclContext: "ordering",
    P.EmptyOrderDeclContext: "default order empty",
}


@builds(P.ModuleContext)
def _module(b: Builder, context: Any) -> prolog.Module:
    version, encoding = _version(b, find(context, P.VersionDeclContext))
    library = find(context, P.LibraryModuleContext)
    body = library or find(context, P.MainModuleContext)
    declarations = _declarations(b, find(body, P.PrologContext))
    span = Span(b.source, 0, len(b.source.text))
    module: prolog.Module
    if library is not None:
        module = prolog.LibraryModule(
            _prefix(b, library),
            _uri(b, library),
            declarations,
            version,
            encoding,
            warnings=tuple(b.warnings),
            span=span,
        )
    else:
        answer = b.build(find(body, P.ExprContext))
        module = prolog.MainModule(
            declarations, answer, version, encoding, warnings=tuple(b.warnings), span=span
        )
    if b.defined_functions:
        module = LocalFunctions(b.defined_functions).transform(module)
    return module


def _version(b: Builder, context: Any) -> tuple[str | None, str | None]:
    if context is None:
        return None, None
    strings = [t for t in terminals(context) if t.type == XcqlLexer.STRING]
    encoding_token = strings[-1] if has_token(context, XcqlLexer.KW_ENCODING) else None
    version_token = strings[0] if has_token(context, XcqlLexer.KW_VERSION) else None
    if encoding_token is not None and not _ENCODING.fullmatch(b.string(encoding_token)):
        raise error("XQST0087", "not a valid encoding name", b.token_span(encoding_token))
    if version_token is not None and b.string(version_token) not in ("1.0", "3.0", "3.1"):
        raise error(
            "XQST0031",
            f"XQuery {b.string(version_token)} is not supported",
            b.token_span(version_token),
            hints=["XCQL is based on XQuery 3.1"],
        )
    return (
        b.string(version_token) if version_token is not None else None,
        b.string(encoding_token) if encoding_token is not None else None,
    )


def _declarations(b: Builder, context: Any) -> tuple[prolog.Declaration, ...]:
    declarations: list[prolog.Declaration] = []
    for child in context.children or ():
        if hasattr(child, "children"):
            declaration = b.build(child)
            if isinstance(declaration, prolog.Setter) and declaration.keyword == "boundary-space":
                b.preserve_boundary_space = declaration.value == "preserve"
            elif (
                isinstance(declaration, prolog.DefaultNamespaceDecl)
                and declaration.kind == "function"
            ):
                b.default_function_namespace = declaration.uri
            declarations.append(declaration)
    return tuple(declarations)


def _uri(b: Builder, context: Any) -> str:
    """A URI literal, with white space collapsed."""
    return fold_space(_string(b, context))


def _string(b: Builder, context: Any) -> str:
    token = first_token(context, XcqlLexer.STRING)
    assert token is not None
    return b.string(token)


def _prefix(b: Builder, context: Any) -> str:
    return find(context, P.NcNameContext).start.text  # type: ignore[no-any-return]


@builds(P.DefaultNamespaceDeclContext)
def _default_namespace(b: Builder, context: Any) -> prolog.Declaration:
    is_element = has_token(context, XcqlLexer.KW_ELEMENT)
    return prolog.DefaultNamespaceDecl(
        "element" if is_element else "function", _uri(b, context), span=b.span(context)
    )


@builds(*_SETTERS)
def _setter(b: Builder, context: Any) -> prolog.Declaration:
    value = context.stop.text
    return prolog.Setter(_SETTERS[type(context)], value, span=b.span(context))


@builds(P.CopyNamespacesDeclContext)
def _copy_namespaces(b: Builder, context: Any) -> prolog.Declaration:
    preserve, inherit = context.children[2].symbol.text, context.children[4].symbol.text
    return prolog.Setter("copy-namespaces", f"{preserve},{inherit}", span=b.span(context))


@builds(P.BaseUriDeclContext)
def _base_uri(b: Builder, context: Any) -> prolog.Declaration:
    return prolog.Setter("base-uri", _uri(b, context), span=b.span(context))


@builds(P.DefaultCollationDeclContext)
def _default_collation(b: Builder, context: Any) -> prolog.Declaration:
    return prolog.Setter("default collation", _uri(b, context), span=b.span(context))


@builds(P.DecimalFormatDeclContext)
def _decimal_format(b: Builder, context: Any) -> prolog.Declaration:
    names = [child.start for child in context.children if type(child) is P.NcNameContext]
    values = [token for token in terminals(context) if token.type == XcqlLexer.STRING]
    for name in names:
        if name.text not in _DECIMAL_FORMAT_PROPERTIES:
            raise b.syntax_error(
                f"a decimal format has no property '{name.text}'",
                b.token_span(name),
                f"the properties are {', '.join(sorted(_DECIMAL_FORMAT_PROPERTIES))}",
            )
    return prolog.DecimalFormatDecl(
        b.optional(context, P.EqNameContext),
        tuple((n.text, b.string(v)) for n, v in zip(names, values, strict=True)),
        span=b.span(context),
    )


@builds(P.SchemaImportContext, P.ModuleImportContext)
def _import(b: Builder, context: Any) -> prolog.Declaration:
    prefix_name = find(context, P.NcNameContext)
    prefix = prefix_name.start.text if prefix_name is not None else None
    locations: tuple[str, ...] = b.optional(context, P.LocationsContext) or ()
    if type(context) is P.ModuleImportContext:
        return prolog.ModuleImport(_uri(b, context), prefix, locations, span=b.span(context))
    if has_token(context, XcqlLexer.KW_DEFAULT):
        prefix = ""
    return prolog.SchemaImport(_uri(b, context), prefix, locations, span=b.span(context))


@builds(P.LocationsContext)
def _locations(b: Builder, context: Any) -> tuple[str, ...]:
    return tuple(b.string(t) for t in terminals(context) if t.type == XcqlLexer.STRING)


@builds(P.ContextItemDeclContext)
def _context_item(b: Builder, context: Any) -> prolog.Declaration:
    item_type = find(context, P.ItemTypeContext)
    declared = context.children[-1]
    return prolog.ContextItemDecl(
        types.SequenceType(b.build(item_type), span=b.span(item_type)) if item_type else None,
        b.optional(declared, P.ExprSingleContext),
        has_token(declared, XcqlLexer.KW_EXTERNAL),
        span=b.span(context),
    )


@builds(P.VariableDeclContext)
def _variable(b: Builder, context: Any) -> prolog.Declaration:
    declared = context.children[-1]
    return prolog.VariableDecl(
        b.build_all(context, P.AnnotationContext),
        b.build(find(context, P.EqNameContext)),
        b.optional(context, P.TypeDeclarationContext),
        b.optional(declared, P.ExprSingleContext),
        has_token(declared, XcqlLexer.KW_EXTERNAL),
        span=b.span(context),
    )


@builds(P.FunctionDeclContext, P.DefinedFunctionContext)
def _function(b: Builder, context: Any) -> prolog.Declaration:
    declaration = prolog.FunctionDecl(
        b.build_all(context, P.AnnotationContext),
        b.build(find(context, P.FunctionNameContext)),
        b.build(find(context, P.ParameterListContext)),
        b.optional(context, P.TypeDeclarationContext),
        b.optional(context, P.EnclosedContext),
        span=b.span(context),
    )
    if type(context) is P.DefinedFunctionContext:
        b.warn(
            "'define function' is an old spelling",
            b.token_span(context.start),
            f"the standard spelling is 'declare function local:{declaration.name.local}(...)"
            " { ... };'",
        )
        if declaration.name.prefix is None and declaration.name.uri is None:
            b.defined_functions.add(declaration.name.local)
    return declaration


builds_node(P.NamespaceDeclContext, prolog.NamespaceDecl, _prefix, _uri)
builds_node(P.OptionDeclContext, prolog.OptionDecl, child_at(1), _string)
builds_node(P.AnnotationContext, functions.Annotation, child_at(1), every(P.LiteralContext))
builds_node(P.ParameterContext, functions.Parameter, child_at(1), TYPE)


@builds(P.ParameterListContext)
def _parameters(b: Builder, context: Any) -> tuple[functions.Parameter, ...]:
    return b.build_all(context, P.ParameterContext)
