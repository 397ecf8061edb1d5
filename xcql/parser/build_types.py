"""Builder functions for sequence types and kind tests."""

from __future__ import annotations

from typing import Any

from xcql.parser._generated.XcqlLexer import XcqlLexer
from xcql.parser._generated.XcqlParser import XcqlParser
from xcql.parser.builder import Builder, builds, find, first_token, has_token
from xcql.syntax.names import fold_space
from xcql.syntax.node import SyntaxNode
from xcql.syntax.types import (
    AnyItem,
    AnyKindTest,
    ArrayTest,
    AtomicType,
    AttributeTest,
    CommentTest,
    DocumentTest,
    ElementTest,
    FunctionTest,
    MapTest,
    NamespaceNodeTest,
    Occurrence,
    ProcessingInstructionTest,
    SchemaAttributeTest,
    SchemaElementTest,
    SequenceType,
    SingleType,
    TextTest,
)

P = XcqlParser

_OCCURRENCES: dict[int, Occurrence] = {
    XcqlLexer.QUESTION: "?",
    XcqlLexer.STAR: "*",
    XcqlLexer.PLUS: "+",
}


@builds(P.TypeDeclarationContext)
def _type_declaration(b: Builder, context: Any) -> SequenceType:
    return b.build(context.children[1])  # type: ignore[no-any-return]


@builds(P.SequenceTypeContext)
def _sequence_type(b: Builder, context: Any) -> SequenceType:
    sign = first_token(context, *_OCCURRENCES)
    return SequenceType(
        b.optional(context, P.ItemTypeContext),
        _OCCURRENCES[sign.type] if sign is not None else "",
        span=b.span(context),
    )


@builds(P.SingleTypeContext)
def _single_type(b: Builder, context: Any) -> SingleType:
    return SingleType(
        b.build(context.children[0]), len(context.children) == 2, span=b.span(context)
    )


@builds(P.ItemTypeContext)
def _item_type(b: Builder, context: Any) -> SyntaxNode:
    first = context.children[0]
    if type(first) is P.EqNameContext:
        return AtomicType(b.build(first), span=b.span(context))
    if has_token(context, XcqlLexer.KW_ITEM):
        return AnyItem(span=b.span(context))
    if has_token(context, XcqlLexer.LPAREN):
        return b.build(context.children[1])  # type: ignore[no-any-return]
    return b.build(first)  # type: ignore[no-any-return]


@builds(P.FunctionTestContext)
def _function_test(b: Builder, context: Any) -> SyntaxNode:
    annotations = b.build_all(context, P.AnnotationContext)
    if has_token(context, XcqlLexer.STAR):
        return FunctionTest(annotations, span=b.span(context))
    *parameters, result = b.build_all(context, P.SequenceTypeContext)
    return FunctionTest(annotations, tuple(parameters), result, span=b.span(context))


@builds(P.MapTestContext)
def _map_test(b: Builder, context: Any) -> SyntaxNode:
    key = find(context, P.EqNameContext)
    return MapTest(
        AtomicType(b.build(key), span=b.span(key)) if key is not None else None,
        b.optional(context, P.SequenceTypeContext),
        span=b.span(context),
    )


@builds(P.ArrayTestContext)
def _array_test(b: Builder, context: Any) -> SyntaxNode:
    return ArrayTest(b.optional(context, P.SequenceTypeContext), span=b.span(context))


@builds(P.AnyKindTestContext)
def _any_kind(b: Builder, context: Any) -> SyntaxNode:
    return AnyKindTest(span=b.span(context))


@builds(P.TextTestContext)
def _text(b: Builder, context: Any) -> SyntaxNode:
    return TextTest(span=b.span(context))


@builds(P.CommentTestContext)
def _comment(b: Builder, context: Any) -> SyntaxNode:
    return CommentTest(span=b.span(context))


@builds(P.NamespaceNodeTestContext)
def _namespace_node(b: Builder, context: Any) -> SyntaxNode:
    return NamespaceNodeTest(span=b.span(context))


@builds(P.PiTestContext)
def _processing_instruction(b: Builder, context: Any) -> SyntaxNode:
    literal = first_token(context, XcqlLexer.STRING)
    name = find(context, P.NcNameContext)
    target = None
    if literal is not None:
        target = fold_space(b.string(literal))
    elif name is not None:
        target = name.start.text
    return ProcessingInstructionTest(target, span=b.span(context))


@builds(P.DocumentTestContext)
def _document(b: Builder, context: Any) -> SyntaxNode:
    inner = next((child for child in context.children[2:-1]), None)
    content = b.build(inner) if inner is not None else None
    if content is not None and not isinstance(content, ElementTest | SchemaElementTest):
        raise b.syntax_error("document-node() takes element() or schema-element()", content.span)
    return DocumentTest(content, span=b.span(context))


@builds(P.NamedKindTestContext)
def _named_kind(b: Builder, context: Any) -> SyntaxNode:
    names = list(b.build_all(context, P.EqNameContext))
    name = None if has_token(context, XcqlLexer.STAR) or not names else names.pop(0)
    type_name = names[0] if names else None
    nillable = has_token(context, XcqlLexer.QUESTION)
    if context.start.type == XcqlLexer.KW_ELEMENT:
        return ElementTest(name, type_name, nillable, span=b.span(context))
    if nillable:
        raise b.syntax_error("an attribute's type cannot have a '?'", b.span(context))
    return AttributeTest(name, type_name, span=b.span(context))


@builds(P.SchemaTestContext)
def _schema(b: Builder, context: Any) -> SyntaxNode:
    kind = (
        SchemaElementTest
        if context.start.type == XcqlLexer.KW_SCHEMA_ELEMENT
        else SchemaAttributeTest
    )
    return kind(b.build(context.children[2]), span=b.span(context))
