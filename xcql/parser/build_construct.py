"""Builder functions for constructors of nodes, maps, arrays and strings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from xcql.diagnostics import XcqlError, error
from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import Builder, builds, builds_node, enclosed, find, has_token
from xcql.parser.characters import normalize_line_ends, reference_value
from xcql.parser.fields import child_at, every
from xcql.source import Span
from xcql.syntax import construct
from xcql.syntax.construct import Enclosed, Text
from xcql.syntax.names import NCNAME, fold_space
from xcql.syntax.node import Expr, Name, SyntaxNode

P = XcqlParser

_BLANKS = str.maketrans("\n\t", "  ")
_PI = re.compile(rf"<\?({NCNAME})(?:[ \t\n]+(.*))?\?>", re.DOTALL)

_NAMED = {
    XcqlLexer.KW_ELEMENT: construct.ComputedElement,
    XcqlLexer.KW_ATTRIBUTE: construct.ComputedAttribute,
    XcqlLexer.KW_PROCESSING_INSTRUCTION: construct.ComputedProcessingInstruction,
    XcqlLexer.KW_NAMESPACE: construct.ComputedNamespace,
}


@builds(P.DirectConstructorContext)
def _direct(b: Builder, context: Any) -> Expr:
    first = context.children[0]
    if type(first) is P.DirectElementContext:
        return b.build(first)  # type: ignore[no-any-return]
    span = b.span(context)
    text = normalize_line_ends(first.symbol.text)
    if first.symbol.type == XcqlLexer.DIRECT_COMMENT:
        return construct.DirectComment(text[4:-3], span=span)
    match = _PI.fullmatch(text)
    if match is None:
        raise b.syntax_error(
            "a processing instruction must begin with its target: <?target ...?>", span
        )
    if match[1].lower() == "xml":
        raise b.syntax_error("a processing instruction cannot be called 'xml'", span)
    return construct.DirectProcessingInstruction(match[1], match[2] or "", span=span)


@builds(P.DirectElementContext)
def _element(b: Builder, context: Any) -> Expr:
    tag_names = [c.symbol for c in context.children if _token_type(c) == XcqlLexer.TAG_NAME]
    name = _tag_name(b, tag_names[0])
    namespaces: list[construct.NamespaceDeclaration] = []
    attributes: list[construct.DirectAttribute] = []
    for child in context.children:
        if type(child) is P.AttributeContext:
            attribute = _attribute(b, child)
            if attribute.name.prefix == "xmlns":
                namespaces.append(_namespace(b, attribute, attribute.name.local))
            elif attribute.name.prefix is None and attribute.name.local == "xmlns":
                namespaces.append(_namespace(b, attribute, ""))
            else:
                attributes.append(attribute)
    parts = [child for child in context.children if type(child) is P.ContentContext]
    content = tuple(_content(b, parts))
    # after the content: if tags overlap, the first wrong end tag is in the content
    if len(tag_names) == 2 and tag_names[1].text != tag_names[0].text:
        raise unmatched_end_tag(tag_names[0].text, b.token_span(tag_names[1]))
    return construct.DirectElement(
        name, tuple(namespaces), tuple(attributes), content, span=b.span(context)
    )


def unmatched_end_tag(start_tag: str, end_tag: Span) -> XcqlError:
    return error(
        "XQST0118",
        f"the end tag '{end_tag.text}' does not match the start tag '{start_tag}'",
        end_tag,
        hints=[f"write </{start_tag}>"],
    )


def _token_type(child: Any) -> int | None:
    symbol = getattr(child, "symbol", None)
    return symbol.type if symbol is not None else None


def _tag_name(b: Builder, token: Any) -> Name:
    span = b.token_span(token)
    prefix, colon, local = token.text.partition(":")
    return Name(local, prefix, span=span) if colon else Name(prefix, span=span)


def _namespace(
    b: Builder, attribute: construct.DirectAttribute, prefix: str
) -> construct.NamespaceDeclaration:
    uri = ""
    for part in attribute.parts:
        if not isinstance(part, Text):
            raise error(
                "XQST0022",
                "a namespace declaration must be a literal, without expressions",
                part.span,
            )
        uri += part.value
    return construct.NamespaceDeclaration(prefix, fold_space(uri), span=attribute.span)


# ---------------------------------------------------------------- attribute values and content


def _attribute(b: Builder, context: Any) -> construct.DirectAttribute:
    name = _tag_name(b, context.children[0].symbol)
    span = b.span(context)
    if has_token(context, XcqlLexer.LBRACE):
        b.warn(
            "an attribute value should be in quotes",
            span,
            f'the standard spelling is {name}="{{ ... }}"',
        )
        value = Enclosed(enclosed(b, context), span=span)
        return construct.DirectAttribute(name, (value,), span=span)
    parts: list[SyntaxNode] = []
    for child in context.children:
        if type(child) is P.ValuePartContext:
            _add_part(parts, _value_part(b, child.children[0]))
    return construct.DirectAttribute(name, tuple(parts), span=span)


def _value_part(b: Builder, child: Any) -> SyntaxNode:
    if type(child) is P.EnclosedContext:
        return Enclosed(b.build(child), span=b.span(child))
    span = b.token_span(child.symbol)
    match child.symbol.type:
        case XcqlLexer.REFERENCE:
            return Text(reference_value(span), span=span)
        case XcqlLexer.VALUE_TEXT:
            # as XML normalises attribute values: line ends and tabs become spaces
            return Text(normalize_line_ends(child.symbol.text).translate(_BLANKS), span=span)
    return Text(child.symbol.text[0], span=span)  # "" '' {{ }}


def _content(b: Builder, children: Iterable[Any]) -> list[SyntaxNode]:
    """The content of a direct element, adjacent text joined and boundary white space dropped."""
    parts: list[SyntaxNode] = []
    droppable = False  # whether the last part is only literal white space
    for child in children:
        first = child.children[0]
        kind = _token_type(first)
        if kind is None:
            if droppable:
                parts.pop()
            droppable = False
            if type(first) is P.EnclosedContext:
                parts.append(Enclosed(b.build(first), span=b.span(first)))
            else:
                parts.append(b.build(first))
            continue
        literal = kind == XcqlLexer.CONTENT_TEXT
        after_text = bool(parts) and isinstance(parts[-1], Text)
        _add_part(parts, _text(b, first.symbol), keep_empty=True)
        last = parts[-1]
        blank = isinstance(last, Text) and not last.value.strip(" \t\r\n")
        droppable = (
            literal and blank and (droppable or not after_text) and not b.preserve_boundary_space
        )
    if droppable:
        parts.pop()
    return [part for part in parts if not (isinstance(part, Text) and not part.value)]


def _text(b: Builder, token: Any) -> Text:
    span = b.token_span(token)
    match token.type:
        case XcqlLexer.REFERENCE:
            return Text(reference_value(span), span=span)
        case XcqlLexer.CDATA:
            return Text(normalize_line_ends(token.text[9:-3]), span=span)
        case XcqlLexer.CONTENT_TEXT:
            return Text(normalize_line_ends(token.text), span=span)
    return Text(token.text[0], span=span)  # {{ }}


def _add_part(parts: list[SyntaxNode], part: SyntaxNode, keep_empty: bool = False) -> None:
    """Append a part, joining text to text."""
    if isinstance(part, Text) and parts and isinstance(parts[-1], Text):
        parts[-1] = Text(parts[-1].value + part.value, span=parts[-1].span.to(part.span))
    elif keep_empty or not (isinstance(part, Text) and not part.value):
        parts.append(part)


# ---------------------------------------------------------------- computed constructors


builds_node(P.ComputedDocumentContext, construct.ComputedDocument, child_at(1))
builds_node(P.ComputedTextContext, construct.ComputedText, child_at(1))
builds_node(P.ComputedCommentContext, construct.ComputedComment, child_at(1))


@builds(P.ComputedNamedContext)
def _computed_named(b: Builder, context: Any) -> Expr:
    kind = context.start.type
    name_context = find(context, P.EqNameContext) or find(context, P.ExprContext)
    name: Name | Expr = b.build(name_context)
    is_bare = kind in (XcqlLexer.KW_PROCESSING_INSTRUCTION, XcqlLexer.KW_NAMESPACE)
    if is_bare and isinstance(name, Name) and (name.prefix or name.uri is not None):
        raise b.syntax_error(f"'{name}' must be a name without a prefix here", name.span)
    return _NAMED[kind](name, b.build(context.children[-1]), span=b.span(context))


# ---------------------------------------------------------------- maps, arrays, strings


builds_node(P.MapConstructorContext, construct.MapConstructor, every(P.MapEntryContext))
builds_node(P.MapEntryContext, construct.MapEntry, child_at(0), child_at(2))


@builds(P.ArrayConstructorContext)
def _array(b: Builder, context: Any) -> Expr:
    if context.start.type == XcqlLexer.LBRACKET:
        members = b.build_all(context, P.ExprSingleContext)
        return construct.SquareArray(members, span=b.span(context))
    return construct.CurlyArray(b.build(context.children[1]), span=b.span(context))


@builds(P.StringConstructorContext)
def _string_constructor(b: Builder, context: Any) -> Expr:
    parts: list[SyntaxNode] = []
    for child in context.children:
        if type(child) is not P.StringPartContext:
            continue
        if _token_type(child.children[0]) == XcqlLexer.STRING_CONSTRUCTOR_TEXT:
            span = b.span(child)
            _add_part(parts, Text(normalize_line_ends(child.children[0].symbol.text), span=span))
        else:
            parts.append(Enclosed(enclosed(b, child), span=b.span(child)))
    return construct.StringConstructor(tuple(parts), span=b.span(context))
