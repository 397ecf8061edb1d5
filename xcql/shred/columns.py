"""From flat columns to a table: nests the elements of a tag's slots as its shape says.

The table of a tag has one row a filler. Its column `element` is a struct for the filler's
element; inside, every child slot is a struct, or an array of structs where it repeats:

    element struct<_start int, _length int, `@id` string,
                   name struct<_start int, _length int, _text string>,
                   bidder array<struct<…>>>

`_start` and `_length` are the element's byte span in `raw`, `_text` is its string value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

import pyarrow as pa

from xcql.shred.namespaces import context
from xcql.shred.shape import LENGTH, START, TEXT, Slot
from xcql.shred.shredder import SlotColumns
from xcql.xdm.parse import expanded_name, parse_xml

# one slot's flat columns as one row: how they are put down between the two passes of an ingest
STAGED_SLOT = pa.schema(
    [
        ("path", pa.list_(pa.string())),
        ("parents", pa.list_(pa.int32())),
        ("starts", pa.list_(pa.int32())),
        ("lengths", pa.list_(pa.int32())),
        ("texts", pa.list_(pa.string())),
        (
            "attributes",
            pa.list_(
                pa.struct(
                    [
                        ("name", pa.string()),
                        ("numbers", pa.list_(pa.int32())),
                        ("values", pa.list_(pa.string())),
                    ]
                )
            ),
        ),
    ]
)


@dataclass(frozen=True, slots=True)
class FlatSlot:
    """The elements of one slot as Arrow arrays, and the slots below by their tags."""

    parents: pa.Array
    starts: pa.Array
    lengths: pa.Array
    texts: pa.Array
    attributes: dict[str, tuple[pa.Array, pa.Array]]
    children: dict[str, FlatSlot]

    def __len__(self) -> int:
        return len(self.starts)


def stage(root: SlotColumns) -> pa.RecordBatch:
    """The columns that a shredder filled, one row a slot, parents before their children."""
    rows = list(_staged(root, [root.tag.id]))
    arrays = []
    for index, field in enumerate(STAGED_SLOT):
        parts = [row[index] for row in rows]
        if isinstance(parts[0], pa.Array):
            arrays.append(_list_of(parts))
        else:
            arrays.append(pa.array(parts, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=STAGED_SLOT)


def _staged(slot: SlotColumns, path: list[str]) -> Iterable[tuple[Any, ...]]:
    attributes = [
        {"name": name, "numbers": numbers, "values": values}
        for name, (numbers, values) in slot.attributes.items()
        if numbers
    ]
    has_text = slot.is_leaf or slot.opaque
    yield (
        path,
        _integers(slot.parents),
        _integers(slot.starts),
        _integers(slot.lengths),
        pa.array(slot.texts if has_text else [], pa.string()),
        attributes,
    )
    for tag, child in slot.children.items():
        if len(child.starts):
            yield from _staged(child, [*path, tag])


def unstage(batch: pa.RecordBatch) -> FlatSlot:
    """The flat columns that `stage` put down."""
    slots: dict[tuple[str, ...], FlatSlot] = {}
    columns = {name: batch.column(name) for name in STAGED_SLOT.names}
    for row in range(batch.num_rows):
        path = tuple(columns["path"][row].as_py())
        attributes = {}
        for attribute in columns["attributes"][row].values or ():
            name = expanded_name(attribute["name"].as_py())
            key = name.clark if name.uri else name.local
            attributes[key] = attribute["numbers"].values, attribute["values"].values
        slots[path] = FlatSlot(
            columns["parents"][row].values,
            columns["starts"][row].values,
            columns["lengths"][row].values,
            columns["texts"][row].values,
            attributes,
            {},
        )
        if len(path) > 1:
            slots[path[:-1]].children[path[-1]] = slots[path]
    return next(iter(slots.values()))


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
    arrays = [flat.starts, flat.lengths]
    if slot.has_text:
        arrays.append(_string_values(flat, raw))
    for attribute in slot.attributes:
        arrays.append(_scattered(flat.attributes.get(attribute.name), size))
    type = element_type(slot)
    for child in slot.children:
        field = type.field(len(arrays))
        below = flat.children.get(child.tag)
        if below is None:
            if child.repeats:
                offsets = pa.array([0] * (size + 1), pa.int32())
                empty = pa.array([], field.type.value_type)
                arrays.append(pa.ListArray.from_arrays(offsets, empty, type=field.type))
            else:
                arrays.append(pa.nulls(size, field.type))
            continue
        parents = below.parents.to_pylist()
        elements = nest(child, below, _Through(raw, parents))
        if child.repeats:
            counts = [0] * (size + 1)
            for parent in parents:
                counts[parent + 1] += 1
            offsets = pa.array(accumulate(counts), pa.int32())
            arrays.append(pa.ListArray.from_arrays(offsets, elements, type=field.type))
        elif len(parents) == size:
            arrays.append(elements)
        else:
            places: list[int | None] = [None] * size
            for number, parent in enumerate(parents):
                places[parent] = number
            arrays.append(elements.take(pa.array(places, pa.int32())))
    return pa.StructArray.from_arrays(arrays, fields=list(type))


def string_value(element: bytes, declarations: str) -> str:
    """The string value of an element given by its bytes and the namespaces around it."""
    lead, trail = context(declarations)
    return parse_xml(lead + element + trail).string_value()


@dataclass(frozen=True, slots=True)
class _Through:
    """What the elements of a child slot find at the parents' places."""

    values: Bodies
    parents: list[int]

    def __getitem__(self, number: int) -> tuple[bytes, str]:
        return self.values[self.parents[number]]


def _string_values(flat: FlatSlot, raw: Bodies) -> pa.Array:
    """The string values; those that came before the slot was known to be opaque, made now."""
    if len(flat.texts) == len(flat) and not flat.texts.null_count:
        return flat.texts
    values = flat.texts.to_pylist() or [None] * len(flat)
    for number, value in enumerate(values):
        if value is None:
            begin = flat.starts[number].as_py()
            element, declarations = raw[number]
            end = begin + flat.lengths[number].as_py()
            values[number] = string_value(element[begin:end], declarations)
    return pa.array(values, pa.string())


def _scattered(attribute: tuple[pa.Array, pa.Array] | None, size: int) -> pa.Array:
    """A column with the given values at the given places, and NULL elsewhere."""
    if attribute is None:
        return pa.nulls(size, pa.string())
    numbers, values = attribute
    if len(numbers) == size:
        return values
    places: list[int | None] = [None] * size
    for index, number in enumerate(numbers.to_pylist()):
        places[number] = index
    return values.take(pa.array(places, pa.int32()))


def _integers(values: Any) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(values)])


def _list_of(parts: list[pa.Array]) -> pa.ListArray:
    """A list array with one row for each of the arrays."""
    offsets = pa.array(accumulate(map(len, parts), initial=0), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays(parts))
