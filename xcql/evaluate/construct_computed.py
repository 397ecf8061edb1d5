"""Computed constructors: nodes whose names, or whose whole content, are expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from elementpath.datatypes import QName as QNameValue
from elementpath.datatypes import UntypedAtomic

from xcql.diagnostics import error
from xcql.evaluate.casting import is_ncname
from xcql.evaluate.construct import Place, add_content, joined_text
from xcql.evaluate.context import Context, StaticContext
from xcql.evaluate.scope import (
    Code,
    Environment,
    NameScope,
    compile_expression,
    compiles,
    element_name,
    plain_name,
)
from xcql.evaluate.sequences import Items, computed, zero_or_one_atomic
from xcql.evaluate.values import atomize, kind_of
from xcql.source import Span
from xcql.syntax import construct as syntax
from xcql.syntax.node import Expr, Name
from xcql.xdm.atomic import string_of
from xcql.xdm.builder import TreeBuilder
from xcql.xdm.names import XML_NAMESPACE, XMLNS_NAMESPACE, QName
from xcql.xdm.nodes import (
    AttributeNode,
    CommentNode,
    NamespaceNode,
    ProcessingInstructionNode,
    TextNode,
)


@compiles(syntax.ComputedElement)
def computed_element(node: syntax.ComputedElement, scope: NameScope) -> Code:
    name_of = _name(node.name, scope, is_attribute=False)
    content = compile_expression(node.content, scope)
    namespaces, static, span = scope.constructor_namespaces, scope.static, node.content.span

    def run(env: Environment, context: Context) -> Items:
        name = name_of(env, context)
        items = computed(content(env, context))
        builder = TreeBuilder()
        kept = _compatible(namespaces, name)
        # a namespace node keeps its prefix; the element's name gets another
        kept.update((i.prefix, i.uri) for i in items if isinstance(i, NamespaceNode) and name.uri)
        builder.start_element(name, kept, static.base_uri)
        place = Place(builder, static, name)
        place.prefixes = dict(kept)
        add_content(place, items, span)
        builder.end()
        return (builder.result(),)

    return run


def _compatible(namespaces: Mapping[str, str], name: QName) -> dict[str, str]:
    """The surrounding namespaces, except one that the element's own name overrides."""
    return {
        prefix: uri
        for prefix, uri in namespaces.items()
        if prefix != name.prefix or uri == name.uri
    }


@compiles(syntax.ComputedAttribute)
def computed_attribute(node: syntax.ComputedAttribute, scope: NameScope) -> Code:
    name_of = _name(node.name, scope, is_attribute=True)
    content = compile_expression(node.content, scope)

    def run(env: Environment, context: Context) -> Items:
        name = name_of(env, context)
        value = joined_text(content(env, context))
        if name.uri == XML_NAMESPACE and name.local == "id":
            return (AttributeNode(name, " ".join(value.split()), "ID"),)
        return (AttributeNode(name, value),)

    return run


def _name(
    given: Name | Expr, scope: NameScope, *, is_attribute: bool
) -> Callable[[Environment, Context], QName]:
    """The name of a computed element or attribute, fixed or computed."""
    code_of_bad_name = "XQDY0044" if is_attribute else "XQDY0096"
    if isinstance(given, Name):
        resolve = plain_name if is_attribute else element_name
        fixed, given_span = resolve(given, scope.static), given.span
        return lambda env, context: _checked_name(fixed, code_of_bad_name, given_span)
    code, span, static = compile_expression(given, scope), given.span, scope.static

    def name(env: Environment, context: Context) -> QName:
        value = zero_or_one_atomic(code(env, context), "the name", span)
        if isinstance(value, QNameValue):
            found = QName(value.uri or "", value.local_name, value.prefix or "")
        elif isinstance(value, (str, UntypedAtomic)):
            found = _lexical_name(string_of(value), static, span, is_attribute=is_attribute)
        else:
            shown = "an empty sequence" if value is None else kind_of(value)
            raise error("XPTY0004", f"a name must be text or an xs:QName; this is {shown}", span)
        return _checked_name(found, code_of_bad_name, span)

    return name


_EXPANDED = re.compile(r"Q\{([^{}]*)\}(.+)", re.S)


def _lexical_name(text: str, static: StaticContext, span: Span, *, is_attribute: bool) -> QName:
    text = text.strip(" \t\r\n")
    expanded = _EXPANDED.fullmatch(text)
    if expanded is not None:
        uri, prefix, local = " ".join(expanded[1].split()), "", expanded[2]
    else:
        prefix, _, local = text.rpartition(":")
        uri = "" if is_attribute else static.default_element_namespace
    if not is_ncname(local) or (prefix and not is_ncname(prefix)) or text.startswith(":"):
        raise error("XQDY0074", f'"{text}" is not a name', span)
    if prefix:
        found = static.namespaces.get(prefix)
        if found is None:
            raise error("XQDY0074", f"the prefix '{prefix}' is not declared", span)
        uri = found
    return QName(uri, local, prefix)


def _checked_name(name: QName, code: str, span: Span) -> QName:
    """A valid name of an element or attribute: not in the xmlns namespace."""
    is_xmlns = name.prefix == "xmlns" or name.uri == XMLNS_NAMESPACE
    if code == "XQDY0044" and not name.prefix and not name.uri and name.local == "xmlns":
        is_xmlns = True
    if is_xmlns or (name.prefix == "xml") != (name.uri == XML_NAMESPACE and name.prefix != ""):
        raise error(code, f"{name} is not allowed as a name here", span)
    if name.uri == XML_NAMESPACE and name.prefix != "xml":
        return QName(name.uri, name.local, "xml")
    if code == "XQDY0044" and name.uri and not name.prefix:
        # an attribute in a namespace needs a prefix
        return QName(name.uri, name.local, "ns0")
    return name


@compiles(syntax.ComputedProcessingInstruction)
def computed_processing_instruction(
    node: syntax.ComputedProcessingInstruction, scope: NameScope
) -> Code:
    target_of = _nc_name(node.target, scope, "XQDY0041")
    content, span = compile_expression(node.content, scope), node.span

    def run(env: Environment, context: Context) -> Items:
        target = target_of(env, context)
        if target.lower() == "xml":
            raise error("XQDY0064", f"a processing instruction cannot be called {target}", span)
        value = joined_text(content(env, context))
        if "?>" in value:
            raise error("XQDY0026", "a processing instruction cannot contain ?>", span)
        return (ProcessingInstructionNode(target, value.lstrip(" \t\r\n")),)

    return run


def _nc_name(
    given: Name | Expr, scope: NameScope, code_of_bad_name: str
) -> Callable[[Environment, Context], str]:
    """A name without a prefix, fixed or computed; an empty sequence is an error."""
    if isinstance(given, Name):
        fixed = given.local
        return lambda env, context: fixed
    code, span = compile_expression(given, scope), given.span

    def name(env: Environment, context: Context) -> str:
        value = zero_or_one_atomic(code(env, context), "the name", span)
        if not isinstance(value, (str, UntypedAtomic)):
            shown = "an empty sequence" if value is None else kind_of(value)
            raise error("XPTY0004", f"a name must be text; this is {shown}", span)
        text = string_of(value).strip(" \t\r\n")
        if not is_ncname(text):
            raise error(code_of_bad_name, f'"{text}" is not a name without a prefix', span)
        return text

    return name


@compiles(syntax.ComputedNamespace)
def computed_namespace(node: syntax.ComputedNamespace, scope: NameScope) -> Code:
    given = node.prefix
    content, span = compile_expression(node.content, scope), node.span
    prefix_code = None if isinstance(given, Name) else compile_expression(given, scope)

    def prefix_of(env: Environment, context: Context) -> str:
        if prefix_code is None:
            assert isinstance(given, Name)
            return given.local
        value = zero_or_one_atomic(prefix_code(env, context), "the prefix", span)
        if value is None:
            return ""
        if not isinstance(value, (str, UntypedAtomic)):
            raise error("XPTY0004", f"a prefix must be text; this is {kind_of(value)}", span)
        text = string_of(value).strip(" \t\r\n")
        if text and not is_ncname(text):
            raise error("XQDY0074", f'"{text}" is not a prefix', span)
        return text

    def run(env: Environment, context: Context) -> Items:
        prefix = prefix_of(env, context)
        uri = joined_text(content(env, context))
        if prefix == "xmlns" or (prefix == "xml") != (uri == XML_NAMESPACE):
            raise error("XQDY0101", f"the prefix '{prefix}' cannot be bound to {uri!r}", span)
        if uri in (XMLNS_NAMESPACE, ""):
            raise error("XQDY0101", f"{uri!r} cannot be the namespace of a prefix", span)
        return (NamespaceNode(prefix, uri),)

    return run


@compiles(syntax.ComputedDocument)
def computed_document(node: syntax.ComputedDocument, scope: NameScope) -> Code:
    content, static, span = compile_expression(node.content, scope), scope.static, node.span

    def run(env: Environment, context: Context) -> Items:
        items = computed(content(env, context))
        builder = TreeBuilder()
        builder.start_document(base_uri=static.base_uri)
        add_content(Place(builder, static), items, span)
        builder.end()
        return (builder.result(),)

    return run


@compiles(syntax.ComputedText)
def computed_text(node: syntax.ComputedText, scope: NameScope) -> Code:
    content = compile_expression(node.content, scope)

    def run(env: Environment, context: Context) -> Items:
        items = computed(atomize(content(env, context)))
        return (TextNode(joined_text(items)),) if items else ()

    return run


@compiles(syntax.ComputedComment)
def computed_comment(node: syntax.ComputedComment, scope: NameScope) -> Code:
    content, span = compile_expression(node.content, scope), node.span

    def run(env: Environment, context: Context) -> Items:
        text = joined_text(content(env, context))
        if "--" in text or text.endswith("-"):
            raise error("XQDY0072", "a comment cannot contain -- or end with -", span)
        return (CommentNode(text),)

    return run
