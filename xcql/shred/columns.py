"""From flat columns to a table: nests the elements of a tag's slots according to its shape.

The table of a tag has one row per filler. Its column `element` is a struct for the filler's
element; inside it, every child slot is a struct, or an array of structs if it repeats:

    element struct<_start int, _length int, `@id` string,
                   name struct<_start int, _length int, _text string>,
                   bidder array<struct<…>>,
                   text struct<_start int, _length int, _text string,
                               `/ways` struct<`bold/emph` array<string>>>>

`_start` and `_length` are the element's byte range in `raw`; `_text` is its string value. `/ways`
holds the texts inside an opaque element, one column for each path that has any.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from xcql.arrays import Numbers, borders_of, column_of, flags_of, spread, taken
from xcql.shred.namespaces import context
from xcql.shred.shape import LENGTH, MAX_WAY_LENGTH, START, TEXT, WAYS, Slot
from xcql.shred.shredder import SlotColumns
from xcql.xdm.nodes import ElementNode, TextNode
from xcql.xdm.parse import expanded_name, parse_xml

# the texts on one path inside an element
TEXTS = pa.list_(pa.string())


@dataclass(frozen=True, slots=True)
class FlatSlot:
    """The elements of one slot as columns, and the child slots by tag.

    `texts` is None if the elements have children instead. `attributes` maps an expanded name to the
    numbers of the elements that have the attribute and its values; `ways` maps a path to the texts
    there, with the number of the element for each.
    """

    parents: Numbers
    starts: Numbers
    lengths: Numbers
    texts: pa.StringArray | None
    attributes: dict[str, tuple[Numbers, pa.StringArray]]
    children: dict[str, FlatSlot]
    ways: dict[str, tuple[Numbers, pa.StringArray]]

    def __len__(self) -> int:
        return len(self.starts)


def flat(slot: SlotColumns) -> FlatSlot:
    """The columns that a shredder filled."""
    attributes = {}
    for raw_name, (numbers, values) in slot.attributes.items():
        if numbers:
            name = expanded_name(raw_name)
            key = name.clark if name.uri else name.local
            attributes[key] = _numbers(numbers), pa.array(values, pa.string())
    return FlatSlot(
        _numbers(slot.parents),
        _numbers(slot.starts),
        _numbers(slot.lengths),
        pa.array(slot.texts, pa.string()) if slot.is_leaf or slot.opaque else None,
        attributes,
        {tag: flat(child) for tag, child in slot.children.items() if len(child.starts)},
        {
            way.path: (_numbers(way.numbers), pa.array(way.values, pa.string()))
            for way in slot.inside.with_texts()
        },
    )


def element_type(slot: Slot) -> pa.StructType:
    """The type of one element of the slot."""
    fields = [pa.field(START, pa.int32()), pa.field(LENGTH, pa.int32())]
    if slot.has_text:
        fields.append(pa.field(TEXT, pa.string()))
    if slot.way_columns:
        fields.append(pa.field(WAYS, _ways_type(slot)))
    fields += [pa.field(attribute.column, pa.string()) for attribute in slot.attributes]
    for child in slot.children:
        type = element_type(child)
        fields.append(pa.field(child.column, pa.list_(type) if child.repeats else type))
    return pa.struct(fields)


def _ways_type(slot: Slot) -> pa.StructType:
    return pa.struct([pa.field(column, TEXTS) for column in slot.way_columns])


class Bodies(Protocol):
    """The bytes of fillers' elements, with the namespaces declared around them."""

    def __getitem__(self, row: int, /) -> tuple[bytes, str]: ...


def nest(slot: Slot, flat: FlatSlot, raw: Bodies) -> pa.StructArray:
    """Build one struct per element of the slot, with everything below it.

    `raw` provides the bytes of each element's filler and the namespaces around it, for texts that
    are not known yet.
    """
    size = len(flat)
    arrays: list[pa.Array] = [column_of(flat.starts), column_of(flat.lengths)]
    if slot.has_text:
        flat = _with_texts(slot, flat, raw)
        arrays.append(flat.texts)
    if slot.way_columns:
        columns = [_listed(flat.ways.get(path), size) for path in slot.way_columns]
        arrays.append(pa.StructArray.from_arrays(columns, fields=list(_ways_type(slot))))
    for attribute in slot.attributes:
        arrays.append(_scattered(flat.attributes.get(attribute.name), size))
    type = element_type(slot)
    for child in slot.children:
        field = type.field(len(arrays))
        below = flat.children.get(child.tag)
        if below is None:
            arrays.append(none_of(field.type, size))
            continue
        elements = nest(child, below, _Through(raw, below.parents))
        if child.repeats:
            borders = column_of(borders_of(np.bincount(below.parents, minlength=size)))
            arrays.append(pa.ListArray.from_arrays(borders, elements, type=field.type))
        else:
            arrays.append(_placed(elements, below.parents, size))
    return pa.StructArray.from_arrays(arrays, fields=list(type))


def conform(array: pa.StructArray, old: Slot, new: Slot) -> pa.StructArray:
    """Convert elements nested by one shape to a wider shape; new columns are NULL.

    A single element may become an array of one; nothing may have become opaque.
    """
    if element_type(old) == element_type(new):
        return array
    columns: list[pa.Array] = [array.field(START), array.field(LENGTH)]
    if new.has_text:
        columns.append(array.field(TEXT))
    if new.way_columns:
        columns.append(_conform_ways(array, old, new))
    for attribute in new.attributes:
        known = old.attribute(attribute.name)
        columns.append(array.field(known.column) if known else pa.nulls(len(array), pa.string()))
    type = element_type(new)
    for child in new.children:
        field_type = type.field(len(columns)).type
        was = old.child(child.tag)
        columns.append(
            none_of(field_type, len(array))
            if was is None
            else _conform_child(array.field(was.column), was, child, field_type)
        )
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(columns, fields=list(type), mask=mask)


def _conform_ways(array: pa.StructArray, old: Slot, new: Slot) -> pa.StructArray:
    known = old.way_columns
    columns = [
        array.field(WAYS).field(path) if path in known else none_of(TEXTS, len(array))
        for path in new.way_columns
    ]
    return pa.StructArray.from_arrays(columns, fields=list(_ways_type(new)))


def _conform_child(array: pa.Array, old: Slot, new: Slot, type: pa.DataType) -> pa.Array:
    if old.repeats:
        values = conform(array.values, old, new)
        return pa.ListArray.from_arrays(array.offsets, values, type=type)
    if not new.repeats:
        return conform(array, old, new)
    borders = column_of(borders_of(flags_of(array.is_valid())))
    values = conform(array.drop_null() if array.null_count else array, old, new)
    return pa.ListArray.from_arrays(borders, values, type=type)


def is_nested_alike(old: Slot, new: Slot) -> bool:
    """Whether `conform` can convert elements of the old shape to the new one."""
    return old.opaque == new.opaque and all(
        is_nested_alike(child, new_child)
        for child in old.children
        if (new_child := new.child(child.tag)) is not None
    )


def none_of(type: pa.DataType, size: int) -> pa.Array:
    """A column for a slot without elements: empty arrays if it repeats, else NULLs."""
    if pa.types.is_list(type):
        borders = column_of(np.zeros(size + 1, np.int32))
        return pa.ListArray.from_arrays(borders, pa.array([], type.value_type), type=type)
    return pa.nulls(size, type)


@dataclass(frozen=True, slots=True)
class _Through:
    """The bodies for the elements of a child slot, looked up by their parents."""

    values: Bodies
    parents: Numbers

    def __getitem__(self, number: int) -> tuple[bytes, str]:
        return self.values[int(self.parents[number])]


def _with_texts(slot: Slot, flat: FlatSlot, raw: Bodies) -> FlatSlot:
    """The elements, with texts added for those read before the slot was known to be opaque."""
    if flat.texts is not None and not flat.texts.null_count:
        return flat
    values = [None] * len(flat) if flat.texts is None else flat.texts.to_pylist()
    late: dict[str, tuple[list[int], list[str]]] = {path: ([], []) for path in slot.way_columns}
    for number, value in enumerate(values):
        if value is None:
            begin = int(flat.starts[number])
            body, declarations = raw[number]
            element = _element(body[begin : begin + int(flat.lengths[number])], declarations)
            values[number] = element.string_value()
            for path, text in _texts_below(element, "", MAX_WAY_LENGTH if late else 0):
                if path in late:
                    late[path][0].append(number)
                    late[path][1].append(text)
    ways = {
        path: _in_order(
            [(np.array(numbers, np.int32), pa.array(texts, pa.string())), flat.ways.get(path)]
        )
        for path, (numbers, texts) in late.items()
    }
    return replace(flat, texts=pa.array(values, pa.string()), ways=ways)


def _element(data: bytes, declarations: str) -> ElementNode:
    """Parse an element from its bytes and the namespaces around it."""
    lead, trail = context(declarations)
    around = parse_xml(lead + data + trail).document_element
    assert around is not None
    return next(child for child in around.children if isinstance(child, ElementNode))


def _texts_below(element: ElementNode, way: str, levels: int) -> Iterator[tuple[str, str]]:
    """The texts directly in descendants, up to some number of levels, with their paths."""
    for child in element.children if levels else ():
        if isinstance(child, ElementNode):
            path = f"{way}{child.name.local}"
            for inner in child.children:
                if isinstance(inner, TextNode):
                    yield path, inner.value
            yield from _texts_below(child, f"{path}/", levels - 1)


def _in_order(parts: list[tuple[Numbers, pa.StringArray] | None]) -> tuple[Numbers, pa.StringArray]:
    """Merge the texts of several elements, ordered by element."""
    there = [part for part in parts if part is not None]
    numbers = np.concatenate([part[0] for part in there])
    order = np.argsort(numbers, kind="stable")
    return numbers[order], taken(pa.concat_arrays([part[1] for part in there]), order)


def _listed(texts: tuple[Numbers, pa.StringArray] | None, size: int) -> pa.ListArray:
    """A column with an array of the texts of each element."""
    if texts is None:
        return none_of(TEXTS, size)
    numbers, values = texts
    borders = column_of(borders_of(np.bincount(numbers, minlength=size)))
    return pa.ListArray.from_arrays(borders, values, type=TEXTS)


def _scattered(attribute: tuple[Numbers, pa.StringArray] | None, size: int) -> pa.Array:
    """A column with the values at the given positions, and NULL elsewhere."""
    if attribute is None:
        return pa.nulls(size, pa.string())
    numbers, values = attribute
    return _placed(values, numbers, size)


def _placed(values: pa.Array, places: Numbers, size: int) -> pa.Array:
    """The values at the given positions (distinct, in order), and NULL elsewhere."""
    if len(values) == size:
        return values
    is_there = np.zeros(size, np.bool_)
    is_there[places] = True
    return spread(values, is_there)


def _numbers(values: Any) -> Numbers:
    return np.frombuffer(values, np.int32) if len(values) else np.empty(0, np.int32)
