"""Writes modules and their declarations."""

from __future__ import annotations

from xcql.syntax import prolog
from xcql.syntax.emit_expressions import as_type, quoted, signature, written_annotations
from xcql.syntax.emitter import Emitter, emits, is_lone_root
from xcql.syntax.layout import HARD_LINE, LINE, Doc, Group, Indent
from xcql.syntax.node import Expr

_URI_SETTERS = ("base-uri", "default collation")


@emits(prolog.MainModule)
def _main_module(e: Emitter, node: prolog.MainModule) -> Doc:
    body: Doc = "/" if is_lone_root(node.body) else e.doc(node.body)
    return [_version(node), *_declarations(e, node), body]


@emits(prolog.LibraryModule)
def _library_module(e: Emitter, node: prolog.LibraryModule) -> Doc:
    opening = f"module namespace {node.prefix} = {quoted(node.uri)};"
    return [_version(node), opening, HARD_LINE, *_declarations(e, node)]


def _version(node: prolog.Module) -> Doc:
    if node.version is None and node.encoding is None:
        return ""
    version = f" version {quoted(node.version)}" if node.version is not None else ""
    encoding = f" encoding {quoted(node.encoding)}" if node.encoding is not None else ""
    return [f"xquery{version}{encoding};", HARD_LINE]


def _declarations(e: Emitter, node: prolog.Module) -> list[Doc]:
    return [[e.doc(declaration), ";", HARD_LINE] for declaration in node.declarations]


@emits(prolog.NamespaceDecl)
def _namespace(e: Emitter, node: prolog.NamespaceDecl) -> Doc:
    return f"declare namespace {node.prefix} = {quoted(node.uri)}"


@emits(prolog.DefaultNamespaceDecl)
def _default_namespace(e: Emitter, node: prolog.DefaultNamespaceDecl) -> Doc:
    return f"declare default {node.kind} namespace {quoted(node.uri)}"


@emits(prolog.Setter)
def _setter(e: Emitter, node: prolog.Setter) -> Doc:
    value = quoted(node.value) if node.keyword in _URI_SETTERS else node.value.replace(",", ", ")
    return f"declare {node.keyword} {value}"


@emits(prolog.DecimalFormatDecl)
def _decimal_format(e: Emitter, node: prolog.DecimalFormatDecl) -> Doc:
    name = "default decimal-format" if node.name is None else f"decimal-format {node.name}"
    properties = "".join(f" {key} = {quoted(value)}" for key, value in node.properties)
    return f"declare {name}{properties}"


@emits(prolog.SchemaImport)
def _schema_import(e: Emitter, node: prolog.SchemaImport) -> Doc:
    prefix = ""
    if node.prefix is not None:
        prefix = f"namespace {node.prefix} = " if node.prefix else "default element namespace "
    return f"import schema {prefix}{quoted(node.uri)}{_locations(node.locations)}"


@emits(prolog.ModuleImport)
def _module_import(e: Emitter, node: prolog.ModuleImport) -> Doc:
    prefix = f"namespace {node.prefix} = " if node.prefix is not None else ""
    return f"import module {prefix}{quoted(node.uri)}{_locations(node.locations)}"


def _locations(locations: tuple[str, ...]) -> str:
    return f" at {', '.join(quoted(place) for place in locations)}" if locations else ""


@emits(prolog.ContextItemDecl)
def _context_item(e: Emitter, node: prolog.ContextItemDecl) -> Doc:
    return Group(
        ["declare context item", as_type(e, node.type), _value(e, node.value, node.external)]
    )


@emits(prolog.VariableDecl)
def _variable(e: Emitter, node: prolog.VariableDecl) -> Doc:
    return Group(
        [
            "declare ",
            written_annotations(e, node.annotations),
            f"variable ${node.name}",
            as_type(e, node.type),
            _value(e, node.value, node.external),
        ]
    )


def _value(e: Emitter, value: Expr | None, external: bool) -> Doc:
    assigned: Doc = [" :=", Indent([LINE, e.argument(value)])] if value is not None else ""
    return [" external" if external else "", assigned]


@emits(prolog.FunctionDecl)
def _function(e: Emitter, node: prolog.FunctionDecl) -> Doc:
    body: Doc = " external"
    if node.body is not None:
        body = [" {", Indent([LINE, e.doc(node.body)]), LINE, "}"]
    return Group(
        [
            "declare ",
            written_annotations(e, node.annotations),
            f"function {node.name}",
            signature(e, node.parameters, node.result_type),
            body,
        ]
    )


@emits(prolog.OptionDecl)
def _option(e: Emitter, node: prolog.OptionDecl) -> Doc:
    return f"declare option {node.name} {quoted(node.value)}"
