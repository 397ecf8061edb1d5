"""From items to atomic values, to text, and to truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.source import Span
from xcql.xdm.atomic import Atomic, is_numeric, string_of, type_of
from xcql.xdm.functions import Item, XdmArray, XdmFunction, XdmMap
from xcql.xdm.nodes import CommentNode, NamespaceNode, Node, ProcessingInstructionNode

_STRING_NODES = (CommentNode, ProcessingInstructionNode, NamespaceNode)


def atomize(items: Iterable[Item]) -> Iterator[Atomic]:
    """The typed values of items, one after the other: `fn:data`."""
    for item in items:
        if isinstance(item, Node):
            yield typed_value(item)
        elif isinstance(item, XdmArray):
            for member in item.members:
                yield from atomize(member)
        elif isinstance(item, XdmFunction):
            raise error("FOTY0013", f"{kind_of(item)} has no atomic value")
        else:
            yield item


def typed_value(node: Node) -> Atomic:
    """The atomic value of a node: there is no schema, so text is untyped."""
    text = node.string_value()
    return text if isinstance(node, _STRING_NODES) else untyped(text)


def untyped(text: str) -> ep.UntypedAtomic:
    """An xs:untypedAtomic; faster than its constructor, which checks many types."""
    value = object.__new__(ep.UntypedAtomic)
    value.value = text
    value.parser = None
    return value


def text_of_item(item: Item) -> str:
    """The string value of any item: `fn:string`."""
    if isinstance(item, Node):
        return item.string_value()
    if isinstance(item, XdmFunction):
        raise error("FOTY0014", f"{kind_of(item)} has no string value")
    return string_of(item)


def kind_of(item: Item) -> str:
    """The kind of an item, for messages: `xs:integer`, `an element`, `a map`."""
    if isinstance(item, Node):
        article = "an" if item.kind[0] in "ae" else "a"
        return f"{article} {item.kind} node"
    if isinstance(item, XdmMap):
        return "a map"
    if isinstance(item, XdmArray):
        return "an array"
    if isinstance(item, XdmFunction):
        return "a function"
    return str(type_of(item))


def effective_boolean(items: Iterable[Item], span: Span | None = None) -> bool:
    """The effective boolean value, for `if`, `and` and `fn:boolean`; reads no more than needed."""
    if isinstance(items, (tuple, list, range)):
        found: Sequence[Item] = items
    else:
        found = []
        for item in items:
            found.append(item)
            if len(found) == 2:
                break
    if not found:
        return False
    first = found[0]
    if isinstance(first, Node):
        return True
    if len(found) > 1:
        raise error(
            "FORG0006",
            "a sequence of several items that does not begin with a node is neither true nor false",
            span,
            hints=["use exists(…) to test whether there are items"],
        )
    if isinstance(first, bool):
        return first
    if isinstance(first, str):
        return first != ""
    if isinstance(first, (ep.UntypedAtomic, ep.AnyURI)):
        return first.value != ""
    if not isinstance(first, XdmFunction) and is_numeric(first):
        return bool(first) and first == first
    raise error("FORG0006", f"{kind_of(first)} is neither true nor false", span)
