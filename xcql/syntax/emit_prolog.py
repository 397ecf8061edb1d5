"""Writes modules and their declarations."""

from __future__ import annotations

from xcql.syntax.emit_expressions import quoted, signature
from xcql.syntax.emitter import Emitter, emits, is_lone_root
from xcql.syntax.layout import HARD_LINE, LINE, Doc, Group, Indent
from xcql.syntax.node import Expr, SyntaxNode
from xcql.syntax.prolog import (
    ContextItemDecl,
    DecimalFormatDecl,
    DefaultNamespaceDecl,
    FunctionDecl,
    LibraryModule,
    MainModule,
    Module,
    ModuleImport,
    NamespaceDecl,
    OptionDecl,
    SchemaImport,
    Setter,
    VariableDecl,
)

_URI_SETTERS = ("base-uri", "default collation")


@emits(MainModule)
def _main_module(e: Emitter, node: MainModule) -> Doc:
    body: Doc = "/" if is_lone_root(node.body) else e.doc(node.body)
    return [_version(node), *_declarations(e, node), body]


@emits(LibraryModule)
def _library_module(e: Emitter, node: LibraryModule) -> Doc:
    opening = f"module namespace {node.prefix} = {quoted(node.uri)};"
    return [_version(node), opening, HARD_LINE, *_declarations(e, node)]


def _version(node: Module) -> Doc:
    if node.version is None and node.encoding is None:
        return ""
    version = f" version {quoted(node.version)}" if node.version is not None else ""
    encoding = f" encoding {quoted(node.encoding)}" if node.encoding is not None else ""
    return [f"xquery{version}{encoding};", HARD_LINE]


def _declarations(e: Emitter, node: Module) -> list[Doc]:
    return [[e.doc(declaration), ";", HARD_LINE] for declaration in node.declarations]


@emits(NamespaceDecl)
def _namespace(e: Emitter, node: NamespaceDecl) -> Doc:
    return f"declare namespace {node.prefix} = {quoted(node.uri)}"


@emits(DefaultNamespaceDecl)
def _default_namespace(e: Emitter, node: DefaultNamespaceDecl) -> Doc:
    return f"declare default {node.kind} namespace {quoted(node.uri)}"


@emits(Setter)
def _setter(e: Emitter, node: Setter) -> Doc:
    value = quoted(node.value) if node.keyword in _URI_SETTERS else node.value.replace(",", ", ")
    return f"declare {node.keyword} {value}"


@emits(DecimalFormatDecl)
def _decimal_format(e: Emitter, node: DecimalFormatDecl) -> Doc:
    name = "default decimal-format" if node.name is None else f"decimal-format {node.name}"
    properties = "".join(f" {key} = {quoted(value)}" for key, value in node.properties)
    return f"declare {name}{properties}"


@emits(SchemaImport)
def _schema_import(e: Emitter, node: SchemaImport) -> Doc:
    prefix = ""
    if node.prefix is not None:
        prefix = f"namespace {node.prefix} = " if node.prefix else "default element namespace "
    return f"import schema {prefix}{quoted(node.uri)}{_locations(node.locations)}"


@emits(ModuleImport)
def _module_import(e: Emitter, node: ModuleImport) -> Doc:
    prefix = f"namespace {node.prefix} = " if node.prefix is not None else ""
    return f"import module {prefix}{quoted(node.uri)}{_locations(node.locations)}"


def _locations(locations: tuple[str, ...]) -> str:
    return f" at {', '.join(quoted(place) for place in locations)}" if locations else ""


@emits(ContextItemDecl)
def _context_item(e: Emitter, node: ContextItemDecl) -> Doc:
    type_doc: Doc = [" as ", e.doc(node.type)] if node.type is not None else ""
    return Group(["declare context item", type_doc, _value(e, node.value, node.external)])


@emits(VariableDecl)
def _variable(e: Emitter, node: VariableDecl) -> Doc:
    type_doc: Doc = [" as ", e.doc(node.type)] if node.type is not None else ""
    return Group(
        [
            "declare ",
            _annotations(e, node.annotations),
            f"variable ${node.name}",
            type_doc,
            _value(e, node.value, node.external),
        ]
    )


def _value(e: Emitter, value: Expr | None, external: bool) -> Doc:
    assigned: Doc = [" :=", Indent([LINE, e.argument(value)])] if value is not None else ""
    return [" external" if external else "", assigned]


def _annotations(e: Emitter, annotations: tuple[SyntaxNode, ...]) -> Doc:
    return [[e.doc(annotation), " "] for annotation in annotations]


@emits(FunctionDecl)
def _function(e: Emitter, node: FunctionDecl) -> Doc:
    body: Doc = " external"
    if node.body is not None:
        body = [" {", Indent([LINE, e.doc(node.body)]), LINE, "}"]
    return Group(
        [
            "declare ",
            _annotations(e, node.annotations),
            f"function {node.name}",
            signature(e, node.parameters, node.result_type),
            body,
        ]
    )


@emits(OptionDecl)
def _option(e: Emitter, node: OptionDecl) -> Doc:
    return f"declare option {node.name} {quoted(node.value)}"
