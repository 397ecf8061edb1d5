"""The types of the texts in an answer, as far as they are known before it is computed.

    for $a in stream("credit")//account return <a n="{count($a/transaction)}"><id>{$a/@id}</id></a>

    @n: xs:integer            (the content of `id` is untyped, so it stays a text)

An answer is XML, in which everything is text; the table of an answer has columns of these types.
"""

from __future__ import annotations

from collections.abc import Iterable

from xcql.compile.terms.items import Atomic, AttributeItem, Element, Item, StreamElement, TextItem
from xcql.compile.terms.values import EMPTY, Value, at_most_one, leaves

# at each level the name of a child, or of an attribute after an @; () is the item itself
Place = tuple[str, ...]
_UNKNOWN = "xs:untypedAtomic"


def leaf_types(value: Value) -> dict[Place, str]:
    """The type of the text at each place of the answer's items, if there is only one."""
    found: dict[Place, str] = {}
    for leaf in leaves(value):
        _see(leaf.item, (), found)
    return {place: type_ for place, type_ in found.items() if type_ != _UNKNOWN}


def type_of_one(values: Iterable[Value]) -> str:
    """The type of the only atomic value that is possible; the untyped one if there may be more."""
    several = [value for value in values if value != EMPTY]
    if len(several) != 1 or not at_most_one(several[0]):
        return _UNKNOWN
    types = {
        leaf.item.type if isinstance(leaf.item, Atomic) else _UNKNOWN for leaf in leaves(several[0])
    }
    return types.pop() if len(types) == 1 else _UNKNOWN


def _see(item: Item, place: Place, found: dict[Place, str]) -> None:
    match item:
        case Atomic(type=type_):
            _note(place, type_, found)
        case Element(attributes=attributes, content=content):
            for attribute in attributes:
                _note((*place, f"@{attribute.name}"), attribute.made_of, found)
            _note(place, type_of_one(content), found)
            _see_children(content, place, found)
        case _:
            _note(place, _UNKNOWN, found)


def _see_children(content: Iterable[Value], place: Place, found: dict[Place, str]) -> None:
    below: dict[Place, str] = {}
    for value in content:
        for leaf in leaves(value):
            match leaf.item:
                case Element(name=name) as child:
                    _see(child, (*place, name), below)
                case StreamElement(shape=shape):
                    _note((*place, shape.name), _UNKNOWN, below)
                case Atomic() | TextItem() | AttributeItem():
                    pass
                case _:  # elements whose names are only in the data
                    return
    for where, type_ in below.items():
        _note(where, type_, found)


def _note(place: Place, type_: str, found: dict[Place, str]) -> None:
    found[place] = type_ if found.get(place, type_) == type_ else _UNKNOWN
