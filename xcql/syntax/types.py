"""Sequence types, item types, and tests on the kind of a node."""

from __future__ import annotations

from typing import Literal

from xcql.syntax.node import Name, Node, node

Occurrence = Literal["", "?", "*", "+"]


@node
class SequenceType(Node):
    """An item type with an occurrence; without an item type, `empty-sequence()`."""

    item: Node | None
    occurrence: Occurrence = ""


@node
class SingleType(Node):
    """The target of a cast: an atomic type, optional with `?`."""

    name: Name
    optional: bool = False


@node
class AtomicType(Node):
    name: Name


@node
class AnyItem(Node):
    """`item()`"""


@node
class AnyKindTest(Node):
    """`node()`"""


@node
class TextTest(Node):
    """`text()`"""


@node
class CommentTest(Node):
    """`comment()`"""


@node
class NamespaceNodeTest(Node):
    """`namespace-node()`"""


@node
class ProcessingInstructionTest(Node):
    """`processing-instruction(target)`"""

    target: str | None = None


@node
class DocumentTest(Node):
    """`document-node(content)`; the content is an `ElementTest` or a `SchemaElementTest`."""

    content: Node | None = None


@node
class ElementTest(Node):
    """`element(name, type?)`; no name stands for `*`."""

    name: Name | None = None
    type: Name | None = None
    nillable: bool = False


@node
class AttributeTest(Node):
    """`attribute(name, type)`; no name stands for `*`."""

    name: Name | None = None
    type: Name | None = None


@node
class SchemaElementTest(Node):
    name: Name


@node
class SchemaAttributeTest(Node):
    name: Name


@node
class FunctionTest(Node):
    """`function(types) as type`; without parameters and result, `function(*)`"""

    annotations: tuple[Node, ...] = ()
    parameters: tuple[SequenceType, ...] | None = None
    result: SequenceType | None = None


@node
class MapTest(Node):
    """`map(key, value)`; without both, `map(*)`"""

    key: AtomicType | None = None
    value: SequenceType | None = None


@node
class ArrayTest(Node):
    """`array(member)`; without a member, `array(*)`"""

    member: SequenceType | None = None
