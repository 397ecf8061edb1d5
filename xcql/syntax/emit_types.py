"""Writes sequence types and kind tests."""

from __future__ import annotations

from xcql.syntax.emit_expressions import quoted
from xcql.syntax.emitter import Emitter, emits
from xcql.syntax.layout import Doc, join
from xcql.syntax.names import is_ncname
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
    ProcessingInstructionTest,
    SchemaAttributeTest,
    SchemaElementTest,
    SequenceType,
    SingleType,
    TextTest,
)


@emits(SequenceType)
def _sequence_type(e: Emitter, node: SequenceType) -> Doc:
    if node.item is None:
        return "empty-sequence()"
    item = e.doc(node.item)
    # otherwise the occurrence would belong to the function's result type
    if node.occurrence and isinstance(node.item, FunctionTest) and node.item.result is not None:
        return ["(", item, ")", node.occurrence]
    return [item, node.occurrence]


@emits(SingleType)
def _single_type(e: Emitter, node: SingleType) -> Doc:
    return f"{node.name}?" if node.optional else str(node.name)


@emits(AtomicType)
def _atomic(e: Emitter, node: AtomicType) -> Doc:
    return str(node.name)


@emits(AnyItem)
def _item(e: Emitter, node: AnyItem) -> Doc:
    return "item()"


@emits(AnyKindTest)
def _node(e: Emitter, node: AnyKindTest) -> Doc:
    return "node()"


@emits(TextTest)
def _text(e: Emitter, node: TextTest) -> Doc:
    return "text()"


@emits(CommentTest)
def _comment(e: Emitter, node: CommentTest) -> Doc:
    return "comment()"


@emits(NamespaceNodeTest)
def _namespace_node(e: Emitter, node: NamespaceNodeTest) -> Doc:
    return "namespace-node()"


@emits(ProcessingInstructionTest)
def _processing_instruction(e: Emitter, node: ProcessingInstructionTest) -> Doc:
    if node.target is None:
        return "processing-instruction()"
    target = node.target if is_ncname(node.target) else quoted(node.target)
    return f"processing-instruction({target})"


@emits(DocumentTest)
def _document(e: Emitter, node: DocumentTest) -> Doc:
    return ["document-node(", e.doc(node.content) if node.content else "", ")"]


@emits(ElementTest)
def _element(e: Emitter, node: ElementTest) -> Doc:
    return _named("element", node, "?" if node.nillable else "")


@emits(AttributeTest)
def _attribute(e: Emitter, node: AttributeTest) -> Doc:
    return _named("attribute", node, "")


def _named(keyword: str, node: ElementTest | AttributeTest, nillable: str) -> Doc:
    name = str(node.name) if node.name is not None else "*"
    if node.type is not None:
        return f"{keyword}({name}, {node.type}{nillable})"
    return f"{keyword}({name})" if node.name is not None else f"{keyword}()"


@emits(SchemaElementTest)
def _schema_element(e: Emitter, node: SchemaElementTest) -> Doc:
    return f"schema-element({node.name})"


@emits(SchemaAttributeTest)
def _schema_attribute(e: Emitter, node: SchemaAttributeTest) -> Doc:
    return f"schema-attribute({node.name})"


@emits(FunctionTest)
def _function(e: Emitter, node: FunctionTest) -> Doc:
    annotations: list[Doc] = [[e.doc(annotation), " "] for annotation in node.annotations]
    if node.parameters is None or node.result is None:
        return [*annotations, "function(*)"]
    parameters = join(", ", [e.doc(parameter) for parameter in node.parameters])
    return [*annotations, "function(", parameters, ") as ", e.doc(node.result)]


@emits(MapTest)
def _map(e: Emitter, node: MapTest) -> Doc:
    if node.key is None or node.value is None:
        return "map(*)"
    return ["map(", e.doc(node.key), ", ", e.doc(node.value), ")"]


@emits(ArrayTest)
def _array(e: Emitter, node: ArrayTest) -> Doc:
    return ["array(", e.doc(node.member) if node.member is not None else "*", ")"]
