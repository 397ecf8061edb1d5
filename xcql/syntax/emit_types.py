"""Writes sequence types and kind tests."""

from __future__ import annotations

from xcql.syntax import types
from xcql.syntax.emit_expressions import quoted, written_annotations
from xcql.syntax.emitter import Emitter, emits, emits_text
from xcql.syntax.layout import Doc, join
from xcql.syntax.names import is_ncname

emits_text(types.AtomicType, "{node.name}")
emits_text(types.AnyItem, "item()")
emits_text(types.AnyKindTest, "node()")
emits_text(types.TextTest, "text()")
emits_text(types.CommentTest, "comment()")
emits_text(types.NamespaceNodeTest, "namespace-node()")
emits_text(types.SchemaElementTest, "schema-element({node.name})")
emits_text(types.SchemaAttributeTest, "schema-attribute({node.name})")


@emits(types.SequenceType)
def _sequence_type(e: Emitter, node: types.SequenceType) -> Doc:
    if node.item is None:
        return "empty-sequence()"
    item = e.doc(node.item)
    # otherwise the occurrence would belong to the function's result type
    if (
        node.occurrence
        and isinstance(node.item, types.FunctionTest)
        and node.item.result is not None
    ):
        return ["(", item, ")", node.occurrence]
    return [item, node.occurrence]


@emits(types.SingleType)
def _single_type(e: Emitter, node: types.SingleType) -> Doc:
    return f"{node.name}?" if node.optional else str(node.name)


@emits(types.ProcessingInstructionTest)
def _processing_instruction(e: Emitter, node: types.ProcessingInstructionTest) -> Doc:
    if node.target is None:
        return "processing-instruction()"
    target = node.target if is_ncname(node.target) else quoted(node.target)
    return f"processing-instruction({target})"


@emits(types.DocumentTest)
def _document(e: Emitter, node: types.DocumentTest) -> Doc:
    return ["document-node(", e.doc(node.content) if node.content else "", ")"]


@emits(types.ElementTest)
def _element(e: Emitter, node: types.ElementTest) -> Doc:
    return _named("element", node, "?" if node.nillable else "")


@emits(types.AttributeTest)
def _attribute(e: Emitter, node: types.AttributeTest) -> Doc:
    return _named("attribute", node, "")


def _named(keyword: str, node: types.ElementTest | types.AttributeTest, nillable: str) -> Doc:
    name = str(node.name) if node.name is not None else "*"
    if node.type is not None:
        return f"{keyword}({name}, {node.type}{nillable})"
    return f"{keyword}({name})" if node.name is not None else f"{keyword}()"


@emits(types.FunctionTest)
def _function(e: Emitter, node: types.FunctionTest) -> Doc:
    before = written_annotations(e, node.annotations)
    if node.parameters is None or node.result is None:
        return [before, "function(*)"]
    parameters = join(", ", [e.doc(parameter) for parameter in node.parameters])
    return [before, "function(", parameters, ") as ", e.doc(node.result)]


@emits(types.MapTest)
def _map(e: Emitter, node: types.MapTest) -> Doc:
    if node.key is None or node.value is None:
        return "map(*)"
    return ["map(", e.doc(node.key), ", ", e.doc(node.value), ")"]


@emits(types.ArrayTest)
def _array(e: Emitter, node: types.ArrayTest) -> Doc:
    return ["array(", e.doc(node.member) if node.member is not None else "*", ")"]
