"""Sequence types: whether a value is an instance, and how to convert an argument to one.

A type comes from the query's text (`syntax.types`, by `TypeReader`) or from a builtin's signature
(`registry.BuiltinType`, by `builtin_type`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

from xcql.evaluate.registry import BuiltinType
from xcql.evaluate.sequences import Items
from xcql.xdm.atomic import ATOMIC_TYPES, NUMERIC_NAMES, is_numeric, type_of
from xcql.xdm.functions import Item, XdmArray, XdmFunction, XdmMap
from xcql.xdm.names import QName
from xcql.xdm.nodes import DocumentNode, Node


class ItemType:
    """The item type of a sequence type."""

    __slots__ = ()
    # whether arguments for it are atomized, and untyped values cast
    atomic: ClassVar[bool] = False

    def matches(self, item: Item) -> bool:
        raise NotImplementedError

    def includes(self, other: ItemType) -> bool:
        """Whether every item of the other type also has this type."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class AnyItemType(ItemType):
    def matches(self, item: Item) -> bool:
        return True

    def includes(self, other: ItemType) -> bool:
        return True

    def __str__(self) -> str:
        return "item()"


@dataclass(frozen=True, slots=True)
class AtomicItemType(ItemType):
    """An atomic type by its local name; `numeric` and `error` are the two unions."""

    name: str
    # for Python classes seen so far: whether their instances have this type
    _known: dict[type, bool] = field(default_factory=dict, compare=False, repr=False)
    atomic: ClassVar[bool] = True

    def matches(self, item: Item) -> bool:
        known = self._known.get(type(item))
        if known is None:
            if isinstance(item, (Node, XdmFunction)):
                known = False
            elif self.name == "numeric":
                known = is_numeric(item)
            else:
                known = self.name in type_of(item).ancestors
            self._known[type(item)] = known
        return known

    def includes(self, other: ItemType) -> bool:
        if not isinstance(other, AtomicItemType):
            return False
        if other.name == "error" or self.name == other.name:
            return True
        if other.name == "numeric":
            return self.name == "anyAtomicType"
        above = ATOMIC_TYPES[other.name].ancestors
        return bool(above & NUMERIC_NAMES) if self.name == "numeric" else self.name in above

    def __str__(self) -> str:
        return f"xs:{self.name}"


@dataclass(frozen=True, slots=True)
class NodeType(ItemType):
    """A kind of node (None: any), with its name or parts of it, as in `element(p:a)`."""

    kind: str | None = None
    uri: str | None = None
    local: str | None = None
    content: NodeType | None = None
    # a type annotation that untyped nodes never have, as in element(*, xs:integer)
    impossible: bool = False

    def matches(self, item: Item) -> bool:
        if not isinstance(item, Node):
            return False
        if self.kind is None:
            return True
        if item.kind != self.kind or self.impossible:
            return False
        if self.content is not None:
            assert isinstance(item, DocumentNode)
            elements = [child for child in item.children if child.kind in ("element", "text")]
            return len(elements) == 1 and self.content.matches(elements[0])
        name: QName | None = getattr(item, "name", None)
        if self.local is not None and (name is None or name.local != self.local):
            return False
        return self.uri is None or (name is not None and name.uri == self.uri)

    def includes(self, other: ItemType) -> bool:
        if not isinstance(other, NodeType):
            return False
        if self.kind is None:
            return True
        if self.kind != other.kind or self.impossible:
            return False
        if self.content is not None and (
            other.content is None or not self.content.includes(other.content)
        ):
            return False
        return (self.local is None or self.local == other.local) and (
            self.uri is None or self.uri == other.uri
        )

    def __str__(self) -> str:
        if self.kind is None:
            return "node()"
        kind = "document-node" if self.kind == "document" else self.kind
        kind = "namespace-node" if kind == "namespace" else kind
        name = "" if self.local is None else self.local
        if self.local is not None and self.uri:
            name = f"Q{{{self.uri}}}{self.local}"
        return f"{kind}({self.content or name})"


@dataclass(frozen=True, slots=True)
class Signature:
    """The types of a function's parameters and of its result."""

    parameters: tuple[ValueType, ...]
    result: ValueType


@dataclass(frozen=True, slots=True)
class FunctionType(ItemType):
    """`function(*)`, or with a signature, `function(A, B) as C`"""

    signature: Signature | None = None

    def matches(self, item: Item) -> bool:
        if not isinstance(item, XdmFunction):
            return False
        wanted = self.signature
        if wanted is None:
            return True
        if len(wanted.parameters) != item.arity:
            return False
        return _includes_signature(wanted, signature_of(item))

    def includes(self, other: ItemType) -> bool:
        if isinstance(other, MapType):
            return self.signature is None or _includes_signature(
                self.signature, other.as_signature()
            )
        if isinstance(other, ArrayType):
            return self.signature is None or _includes_signature(
                self.signature, other.as_signature()
            )
        if not isinstance(other, FunctionType):
            return False
        if self.signature is None:
            return True
        return other.signature is not None and _includes_signature(self.signature, other.signature)

    def __str__(self) -> str:
        if self.signature is None:
            return "function(*)"
        parameters = ", ".join(map(str, self.signature.parameters))
        return f"function({parameters}) as {self.signature.result}"


@dataclass(frozen=True, slots=True)
class MapType(ItemType):
    """`map(*)`, or `map(key, value)`"""

    key: ItemType | None = None
    value: ValueType | None = None

    def matches(self, item: Item) -> bool:
        if not isinstance(item, XdmMap):
            return False
        if self.key is None or self.value is None:
            return True
        return all(self.key.matches(k) and self.value.matches(v) for k, v in item.items())

    def includes(self, other: ItemType) -> bool:
        if not isinstance(other, MapType):
            return False
        if self.key is None or self.value is None:
            return True
        return (
            other.key is not None
            and other.value is not None
            and self.key.includes(other.key)
            and self.value.includes(other.value)
        )

    def as_signature(self) -> Signature:
        result = self.value or ANY_SEQUENCE
        if result.occurrence in ("", "+"):
            result = ValueType(result.item, "?" if result.occurrence == "" else "*")
        return Signature((ValueType(AtomicItemType("anyAtomicType"), ""),), result)

    def __str__(self) -> str:
        return "map(*)" if self.key is None else f"map({self.key}, {self.value})"


@dataclass(frozen=True, slots=True)
class ArrayType(ItemType):
    """`array(*)`, or `array(member)`"""

    member: ValueType | None = None

    def matches(self, item: Item) -> bool:
        if not isinstance(item, XdmArray):
            return False
        return self.member is None or all(self.member.matches(m) for m in item.members)

    def includes(self, other: ItemType) -> bool:
        if not isinstance(other, ArrayType):
            return False
        if self.member is None:
            return True
        return other.member is not None and self.member.includes(other.member)

    def as_signature(self) -> Signature:
        return Signature((ValueType(AtomicItemType("integer"), ""),), self.member or ANY_SEQUENCE)

    def __str__(self) -> str:
        return "array(*)" if self.member is None else f"array({self.member})"


@dataclass(frozen=True, slots=True)
class ValueType:
    """An item type with an occurrence; without an item type, `empty-sequence()`."""

    item: ItemType | None
    occurrence: str = ""

    def matches(self, items: Items) -> bool:
        """Whether a value is an instance of the type."""
        if self.item is None:
            return all(False for _ in items)
        if self.item.atomic and isinstance(items, (tuple, list)) and len(items) > 1:
            return self.occurrence in ("*", "+") and all_match(self.item, items)
        count = 0
        for item in items:
            count += 1
            if count > 1 and self.occurrence in ("", "?"):
                return False
            if not self.item.matches(item):
                return False
        return count > 0 or self.occurrence in ("?", "*")

    def includes(self, other: ValueType) -> bool:
        """Whether every value of the other type also has this type."""
        if other.item is None:
            return self.item is None or self.occurrence in ("?", "*")
        if self.item is None:
            return False
        return _NARROWER[self.occurrence] >= _NARROWER[other.occurrence] and self.item.includes(
            other.item
        )

    def __str__(self) -> str:
        if self.item is None:
            return "empty-sequence()"
        text = str(self.item)
        if self.occurrence and " as " in text:
            text = f"({text})"
        return text + self.occurrence


_NARROWER = {
    "": frozenset([1]),
    "?": frozenset([0, 1]),
    "+": frozenset([1, 2]),
    "*": frozenset([0, 1, 2]),
}

ANY_SEQUENCE = ValueType(AnyItemType(), "*")


def all_match(item_type: ItemType, items: Sequence[Item]) -> bool:
    """Whether all items have an atomic type, judging by their Python classes."""
    return all(item_type.matches(item) for item in {type(item): item for item in items}.values())


def _includes_signature(wanted: Signature, given: Signature) -> bool:
    return (
        len(wanted.parameters) == len(given.parameters)
        and wanted.result.includes(given.result)
        and all(
            theirs.includes(ours)
            for ours, theirs in zip(wanted.parameters, given.parameters, strict=True)
        )
    )


def signature_of(function: XdmFunction) -> Signature:
    """A function item's signature; for a map or an array, the narrowest one."""
    if isinstance(function, XdmMap):
        return _map_signature(function)
    if isinstance(function, XdmArray):
        return Signature(
            (ValueType(AtomicItemType("integer"), ""),), _common_type(function.members)
        )
    given = function.signature
    if isinstance(given, Signature):
        return given
    return Signature((ANY_SEQUENCE,) * function.arity, ANY_SEQUENCE)


def _map_signature(map_: XdmMap) -> Signature:
    return MapType(
        AtomicItemType("anyAtomicType"), _common_type([value for _, value in map_.items()])
    ).as_signature()


def _common_type(values: Any) -> ValueType:
    """A type that all values have; only as narrow as function types need."""
    kinds = {
        type_of(i).name if not isinstance(i, (Node, XdmFunction)) else None
        for value in values
        for i in value
    }
    lengths = {len(value) for value in values}
    occurrence = "" if lengths <= {1} else "?" if lengths <= {0, 1} else "*"
    if len(kinds) == 1 and None not in kinds:
        name = kinds.pop()
        assert name is not None
        return ValueType(AtomicItemType(name), occurrence)
    if kinds and None not in kinds:
        return ValueType(AtomicItemType("anyAtomicType"), occurrence)
    nodes = all(isinstance(i, Node) for value in values for i in value)
    return ValueType(NodeType() if nodes and kinds else AnyItemType(), occurrence)


@cache
def builtin_type(given: BuiltinType) -> ValueType:
    """The type of a builtin's parameter or result."""
    if given.item == "empty-sequence()":
        return ValueType(None)
    return ValueType(_builtin_item(given), given.occurrence)


def _builtin_item(given: BuiltinType) -> ItemType:
    name = given.item
    if given.inner:
        *parameters, result = given.inner
        return FunctionType(
            Signature(tuple(builtin_type(part) for part in parameters), builtin_type(result))
        )
    if name.startswith("xs:"):
        return AtomicItemType(name[3:])
    return _BUILTIN_ITEMS[name]


_BUILTIN_ITEMS: dict[str, ItemType] = {
    "item()": AnyItemType(),
    "node()": NodeType(),
    "element()": NodeType("element"),
    "attribute()": NodeType("attribute"),
    "text()": NodeType("text"),
    "document-node()": NodeType("document"),
    "document-node(element(*))": NodeType("document", content=NodeType("element")),
    "function(*)": FunctionType(),
    "map(*)": MapType(),
    "array(*)": ArrayType(),
}
