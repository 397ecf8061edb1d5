"""Converts types of the syntax tree to types that can check values."""

from __future__ import annotations

from xcql.diagnostics import error
from xcql.evaluate import types
from xcql.evaluate.casting import is_ncname
from xcql.evaluate.context import XS
from xcql.evaluate.scope import NameScope, element_name, near, plain_name
from xcql.source import Span
from xcql.syntax import types as syntax
from xcql.syntax.node import Name, SyntaxNode
from xcql.xdm.atomic import ATOMIC_TYPES

# types of nodes that are not validated, and their base types
_UNTYPED_ELEMENT = frozenset(["anyType", "untyped"])
_UNTYPED_ATTRIBUTE = frozenset(["anyType", "anySimpleType", "anyAtomicType", "untypedAtomic"])
_OTHER_TYPES = frozenset(
    ["anyType", "anySimpleType", "untyped", "numeric", "error", "NMTOKENS", "IDREFS", "ENTITIES"]
)


def read_sequence_type(node: syntax.SequenceType, scope: NameScope) -> types.ValueType:
    if node.item is None:
        return types.ValueType(None)
    return types.ValueType(read_item_type(node.item, scope), node.occurrence)


def read_item_type(node: SyntaxNode, scope: NameScope) -> types.ItemType:
    match node:
        case syntax.AnyItem():
            return types.AnyItemType()
        case syntax.AtomicType(name=name):
            return types.AtomicItemType(atomic_type_name(name, scope))
        case syntax.AnyKindTest():
            return types.NodeType()
        case syntax.TextTest():
            return types.NodeType("text")
        case syntax.CommentTest():
            return types.NodeType("comment")
        case syntax.NamespaceNodeTest():
            return types.NodeType("namespace")
        case syntax.ProcessingInstructionTest(target=target):
            local = None if target is None else " ".join(target.split())
            if local is not None and not is_ncname(local):
                raise error("XPTY0004", f'"{local}" is not a valid target name', node.span)
            return types.NodeType("processing-instruction", None, local)
        case syntax.DocumentTest(content=content):
            if content is None:
                return types.NodeType("document")
            inner = read_item_type(content, scope)
            assert isinstance(inner, types.NodeType)
            return types.NodeType("document", content=inner)
        case syntax.ElementTest():
            return _node_type("element", node, scope)
        case syntax.AttributeTest():
            return _node_type("attribute", node, scope)
        case syntax.SchemaElementTest(name=name) | syntax.SchemaAttributeTest(name=name):
            raise error("XPST0008", f"no schema declares '{name}'", node.span)
        case syntax.FunctionTest():
            return _function_type(node, scope)
        case syntax.MapTest(key=key, value=value):
            if key is None or value is None:
                return types.MapType()
            return types.MapType(read_item_type(key, scope), read_sequence_type(value, scope))
        case syntax.ArrayTest(member=member):
            if member is None:
                return types.ArrayType()
            return types.ArrayType(read_sequence_type(member, scope))
    raise AssertionError(f"no such item type: {node}")


def _node_type(
    kind: str, node: syntax.ElementTest | syntax.AttributeTest, scope: NameScope
) -> types.NodeType:
    impossible = False
    if node.type is not None:
        untyped = _UNTYPED_ELEMENT if kind == "element" else _UNTYPED_ATTRIBUTE
        impossible = schema_type_name(node.type, scope) not in untyped
    if node.name is None:
        return types.NodeType(kind, impossible=impossible)
    resolve = element_name if kind == "element" else plain_name
    name = resolve(node.name, scope.static)
    return types.NodeType(kind, name.uri, name.local, impossible=impossible)


def _function_type(node: syntax.FunctionTest, scope: NameScope) -> types.ItemType:
    if node.parameters is None or node.result is None:
        return types.FunctionType()
    return types.FunctionType(
        types.Signature(
            tuple(read_sequence_type(parameter, scope) for parameter in node.parameters),
            read_sequence_type(node.result, scope),
        )
    )


def atomic_type_name(name: Name, scope: NameScope, code: str = "XPST0051") -> str:
    """The local name of an atomic XML Schema type in the query."""
    local = _schema_name(name, scope)
    if local is None or (local not in ATOMIC_TYPES and local not in ("numeric", "error")):
        raise _unknown_type(name, code, name.span)
    return local


def schema_type_name(name: Name, scope: NameScope) -> str:
    """The local name of any XML Schema type, as in `element(*, xs:untyped)`."""
    local = _schema_name(name, scope)
    if local is None or (local not in ATOMIC_TYPES and local not in _OTHER_TYPES):
        raise _unknown_type(name, "XPST0008", name.span)
    return local


def _schema_name(name: Name, scope: NameScope) -> str | None:
    resolved = element_name(name, scope.static)
    return resolved.local if resolved.uri == XS else None


def _unknown_type(name: Name, code: str, span: Span) -> Exception:
    known = [f"xs:{local}" for local in ATOMIC_TYPES]
    return error(
        code, f"unknown type {name}", span, hints=near(str(name), known, "did you mean {}?")
    )
