"""Sequence types, item types, and tests on the kind of a node."""

from __future__ import annotations

from typing import Literal

from xcql.syntax.node import Name, SyntaxNode, node

Occurrence = Literal["", "?", "*", "+"]


@node
class SequenceType(SyntaxNode):
    """An item type with an occurrence; without an item type, `empty-sequence()`."""

    item: SyntaxNode | None
    occurrence: Occurrence = ""


@node
class SingleType(SyntaxNode):
    """The target of a cast: an atomic type, optional with `?`."""

    name: Name
    optional: bool = False


@node
class AtomicType(SyntaxNode):
    name: Name


@node
class AnyItem(SyntaxNode):
    """`item()`"""


@node
class AnyKindTest(SyntaxNode):
    """`node()`"""


@node
class TextTest(SyntaxNode):
    """`text()`"""


@node
class CommentTest(SyntaxNode):
    """`comment()`"""


@node
class NamespaceNodeTest(SyntaxNode):
    """`namespace-node()`"""


@node
class ProcessingInstructionTest(SyntaxNode):
    """`processing-instruction(target)`"""

    target: str | None = None


@node
class DocumentTest(SyntaxNode):
    """`document-node(content)`; the content is an `ElementTest` or a `SchemaElementTest`."""

    content: SyntaxNode | None = None


@node
class ElementTest(SyntaxNode):
    """`element(name, type?)`; no name stands for `*`."""

    name: Name | None = None
    type: Name | None = None
    nillable: bool = False


@node
class AttributeTest(SyntaxNode):
    """`attribute(name, type)`; no name stands for `*`."""

    name: Name | None = None
    type: Name | None = None


@node
class SchemaElementTest(SyntaxNode):
    name: Name


@node
class SchemaAttributeTest(SyntaxNode):
    name: Name


@node
class FunctionTest(SyntaxNode):
    """`function(types) as type`; without parameters and result, `function(*)`"""

    annotations: tuple[SyntaxNode, ...] = ()
    parameters: tuple[SequenceType, ...] | None = None
    result: SequenceType | None = None


@node
class MapTest(SyntaxNode):
    """`map(key, value)`; without both, `map(*)`"""

    key: AtomicType | None = None
    value: SequenceType | None = None


@node
class ArrayTest(SyntaxNode):
    """`array(member)`; without a member, `array(*)`"""

    member: SequenceType | None = None
