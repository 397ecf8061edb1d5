"""Builder functions for sequence types and kind tests."""

from __future__ import annotations

from typing import Any

from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import Builder, builds, builds_node, find, first_token, has_token
from xcql.parser.fields import optional
from xcql.syntax import types
from xcql.syntax.names import fold_space
from xcql.syntax.node import SyntaxNode

P = XcqlParser

_OCCURRENCES: dict[int, types.Occurrence] = {
    XcqlLexer.QUESTION: "?",
    XcqlLexer.STAR: "*",
    XcqlLexer.PLUS: "+",
}


@builds(P.TypeDeclarationContext)
def _type_declaration(b: Builder, context: Any) -> types.SequenceType:
    return b.build(context.children[1])  # type: ignore[no-any-return]


@builds(P.SequenceTypeContext)
def _sequence_type(b: Builder, context: Any) -> types.SequenceType:
    sign = first_token(context, *_OCCURRENCES)
    return types.SequenceType(
        b.optional(context, P.ItemTypeContext),
        _OCCURRENCES[sign.type] if sign is not None else "",
        span=b.span(context),
    )


@builds(P.SingleTypeContext)
def _single_type(b: Builder, context: Any) -> types.SingleType:
    return types.SingleType(
        b.build(context.children[0]), len(context.children) == 2, span=b.span(context)
    )


@builds(P.ItemTypeContext)
def _item_type(b: Builder, context: Any) -> SyntaxNode:
    first = context.children[0]
    if type(first) is P.EqNameContext:
        return types.AtomicType(b.build(first), span=b.span(context))
    if has_token(context, XcqlLexer.KW_ITEM):
        return types.AnyItem(span=b.span(context))
    if has_token(context, XcqlLexer.LPAREN):
        return b.build(context.children[1])  # type: ignore[no-any-return]
    return b.build(first)  # type: ignore[no-any-return]


@builds(P.FunctionTestContext)
def _function_test(b: Builder, context: Any) -> SyntaxNode:
    annotations = b.build_all(context, P.AnnotationContext)
    if has_token(context, XcqlLexer.STAR):
        return types.FunctionTest(annotations, span=b.span(context))
    *parameters, result = b.build_all(context, P.SequenceTypeContext)
    return types.FunctionTest(annotations, tuple(parameters), result, span=b.span(context))


@builds(P.MapTestContext)
def _map_test(b: Builder, context: Any) -> SyntaxNode:
    key = find(context, P.EqNameContext)
    return types.MapTest(
        types.AtomicType(b.build(key), span=b.span(key)) if key is not None else None,
        b.optional(context, P.SequenceTypeContext),
        span=b.span(context),
    )


builds_node(P.ArrayTestContext, types.ArrayTest, optional(P.SequenceTypeContext))
builds_node(P.AnyKindTestContext, types.AnyKindTest)
builds_node(P.TextTestContext, types.TextTest)
builds_node(P.CommentTestContext, types.CommentTest)
builds_node(P.NamespaceNodeTestContext, types.NamespaceNodeTest)


@builds(P.PiTestContext)
def _processing_instruction(b: Builder, context: Any) -> SyntaxNode:
    literal = first_token(context, XcqlLexer.STRING)
    name = find(context, P.NcNameContext)
    target = None
    if literal is not None:
        target = fold_space(b.string(literal))
    elif name is not None:
        target = name.start.text
    return types.ProcessingInstructionTest(target, span=b.span(context))


@builds(P.DocumentTestContext)
def _document(b: Builder, context: Any) -> SyntaxNode:
    inner = next((child for child in context.children[2:-1]), None)
    content = b.build(inner) if inner is not None else None
    if content is not None and not isinstance(content, types.ElementTest | types.SchemaElementTest):
        raise b.syntax_error("document-node() takes element() or schema-element()", content.span)
    return types.DocumentTest(content, span=b.span(context))


@builds(P.NamedKindTestContext)
def _named_kind(b: Builder, context: Any) -> SyntaxNode:
    names = list(b.build_all(context, P.EqNameContext))
    name = None if has_token(context, XcqlLexer.STAR) or not names else names.pop(0)
    type_name = names[0] if names else None
    nillable = has_token(context, XcqlLexer.QUESTION)
    if context.start.type == XcqlLexer.KW_ELEMENT:
        return types.ElementTest(name, type_name, nillable, span=b.span(context))
    if nillable:
        raise b.syntax_error("an attribute's type cannot have a '?'", b.span(context))
    return types.AttributeTest(name, type_name, span=b.span(context))


@builds(P.SchemaTestContext)
def _schema(b: Builder, context: Any) -> SyntaxNode:
    kind = (
        types.SchemaElementTest
        if context.start.type == XcqlLexer.KW_SCHEMA_ELEMENT
        else types.SchemaAttributeTest
    )
    return kind(b.build(context.children[2]), span=b.span(context))
