"""From flat columns to a table: nests the elements of a tag's slots as its shape says.

The table of a tag has one row a filler. Its column `element` is a struct for the filler's
element; inside, every child slot is a struct, or an array of structs where it repeats:

    element struct<_start int, _length int, `@id` string,
                   name struct<_start int, _length int, _text string>,
                   bidder array<struct<…>>>

`_start` and `_length` are the element's byte span in `raw`, `_text` is its string value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from xcql.shred.arrays import Numbers, borders_of, column_of, flags_of, taken
from xcql.shred.namespaces import context
from xcql.shred.shape import LENGTH, START, TEXT, Slot
from xcql.shred.shredder import SlotColumns
from xcql.xdm.parse import expanded_name, parse_xml


@dataclass(frozen=True, slots=True)
class FlatSlot:
    """The elements of one slot as columns, and the slots below by their tags.

    `texts` is None where the elements have children instead. Attributes, by their expanded names,
    have the numbers of the elements that have them, and their values.
    """

    parents: Numbers
    starts: Numbers
    lengths: Numbers
    texts: pa.StringArray | None
    attributes: dict[str, tuple[Numbers, pa.StringArray]]
    children: dict[str, FlatSlot]

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
    )


def element_type(slot: Slot) -> pa.StructType:
    """The type of one element of the slot."""
    fields = [pa.field(START, pa.int32()), pa.field(LENGTH, pa.int32())]
    if slot.has_text:
        fields.append(pa.field(TEXT, pa.string()))
    fields += [pa.field(attribute.column, pa.string()) for attribute in slot.attributes]
    for child in slot.children:
        type = element_type(child)
        fields.append(pa.field(child.column, pa.list_(type) if child.repeats else type))
    return pa.struct(fields)


class Bodies(Protocol):
    """The bytes of fillers' elements, with the namespaces declared around them."""

    def __getitem__(self, row: int, /) -> tuple[bytes, str]: ...


def nest(slot: Slot, flat: FlatSlot, raw: Bodies) -> pa.StructArray:
    """One struct an element of the slot, with all that is below it.

    `raw` has the bytes of the filler of each element and the namespaces around it, for string
    values that are not known yet.
    """
    size = len(flat)
    arrays: list[pa.Array] = [column_of(flat.starts), column_of(flat.lengths)]
    if slot.has_text:
        arrays.append(_string_values(flat, raw))
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
    """Elements nested by one shape, as a wider shape has them: new columns are NULL.

    What was one may have become an array of one; nothing may have become opaque.
    """
    if element_type(old) == element_type(new):
        return array
    columns: list[pa.Array] = [array.field(START), array.field(LENGTH)]
    if new.has_text:
        columns.append(array.field(TEXT))
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
    """Whether `conform` can make of elements of the old shape those of the new one."""
    return old.opaque == new.opaque and all(
        is_nested_alike(child, new_child)
        for child in old.children
        if (new_child := new.child(child.tag)) is not None
    )


def none_of(type: pa.DataType, size: int) -> pa.Array:
    """A column for a slot that no element has: empty arrays where it repeats, else NULLs."""
    if pa.types.is_list(type):
        borders = column_of(np.zeros(size + 1, np.int32))
        return pa.ListArray.from_arrays(borders, pa.array([], type.value_type), type=type)
    return pa.nulls(size, type)


def string_value(element: bytes, declarations: str) -> str:
    """The string value of an element given by its bytes and the namespaces around it."""
    lead, trail = context(declarations)
    return parse_xml(lead + element + trail).string_value()


@dataclass(frozen=True, slots=True)
class _Through:
    """What the elements of a child slot find at the parents' places."""

    values: Bodies
    parents: Numbers

    def __getitem__(self, number: int) -> tuple[bytes, str]:
        return self.values[int(self.parents[number])]


def _string_values(flat: FlatSlot, raw: Bodies) -> pa.Array:
    """The string values; those that came before the slot was known to be opaque, made now."""
    if flat.texts is not None and not flat.texts.null_count:
        return flat.texts
    values = [None] * len(flat) if flat.texts is None else flat.texts.to_pylist()
    for number, value in enumerate(values):
        if value is None:
            begin = int(flat.starts[number])
            element, declarations = raw[number]
            end = begin + int(flat.lengths[number])
            values[number] = string_value(element[begin:end], declarations)
    return pa.array(values, pa.string())


def _scattered(attribute: tuple[Numbers, pa.StringArray] | None, size: int) -> pa.Array:
    """A column with the given values at the given places, and NULL elsewhere."""
    if attribute is None:
        return pa.nulls(size, pa.string())
    numbers, values = attribute
    return _placed(values, numbers, size)


def _placed(values: pa.Array, places: Numbers, size: int) -> pa.Array:
    """The values at the given places (each given once, in order), and NULL elsewhere."""
    if len(values) == size:
        return values
    indices = np.full(size, -1, np.int32)
    indices[places] = np.arange(len(places), dtype=np.int32)
    return taken(values, indices, indices >= 0)


def _numbers(values: Any) -> Numbers:
    return np.frombuffer(values, np.int32) if len(values) else np.empty(0, np.int32)
