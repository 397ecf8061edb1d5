"""numpy and Arrow side by side: columns as arrays of numbers, and numbers as columns.

numpy computes with positions and numbers; Arrow has the bytes and texts. Nothing is copied here
that need not be.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int32]
Octets: TypeAlias = NDArray[np.uint8]
Flags: TypeAlias = NDArray[np.bool_]


def column_of(values: Ints | Numbers, is_there: Flags | None = None) -> pa.Array:
    """Numbers as a column, NULL where they are not there.

    >>> column_of(np.array([1, 2]), np.array([True, False])).to_pylist()
    [1, None]
    """
    bits = None
    if is_there is not None and not is_there.all():
        bits = pa.py_buffer(np.packbits(is_there, bitorder="little"))
    numbers = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [bits, numbers])


def taken(values: pa.Array, places: Ints | Numbers, is_there: Flags | None = None) -> pa.Array:
    """The values at the given places, NULL where there is none."""
    return values.take(column_of(places, is_there))


def spread(values: pa.Array, is_there: Flags) -> pa.Array:
    """The values where they are said to be there, one after the other, and NULL elsewhere.

    Texts, and what is in lists, are not copied: it is enough to say anew where each begins.

    >>> spread(pa.array([["x"], None, []]), np.array([True, False, True, True])).to_pylist()
    [['x'], None, None, []]
    """
    size, type = len(is_there), values.type
    is_valid = is_there
    if values.null_count:
        is_valid = is_there.copy()
        is_valid[is_there] = flags_of(values.is_valid())
    bits = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
    if pa.types.is_struct(type):
        fields = [spread(values.field(number), is_there) for number in range(type.num_fields)]
        return pa.Array.from_buffers(type, size, [bits], children=fields)
    if len(values) and pa.types.is_list(type):
        borders = np.asarray(values.offsets)[borders_of(is_there)]
        buffers = [bits, pa.py_buffer(borders)]
        return pa.Array.from_buffers(type, size, buffers, children=[values.values])
    if len(values) and pa.types.is_string(type) and not values.offset:
        borders = np.frombuffer(values.buffers()[1], np.int32)[borders_of(is_there)]
        return pa.Array.from_buffers(type, size, [bits, pa.py_buffer(borders), values.buffers()[2]])
    return taken(values, np.cumsum(is_there) - 1, is_there)


def ranges(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """All numbers of some ranges, each with the number of its range.

    >>> [array.tolist() for array in ranges(np.array([5, 0]), np.array([7, 1]))]
    [[0, 0, 1], [5, 6, 0]]
    """
    counts = ends - begins
    numbers = np.repeat(np.arange(len(counts)), counts)
    firsts = np.cumsum(counts) - counts
    return numbers, np.arange(len(numbers)) - firsts[numbers] + begins[numbers]


def borders_of(counts: Ints | Flags) -> Numbers:
    """Where lists of the given lengths begin and end, if they stand one after the other."""
    borders = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=borders[1:])
    return borders


def slices(data: bytes | pa.Buffer, begins: Ints, ends: Ints) -> pa.BinaryArray:
    """Stretches of bytes that follow each other, as an array."""
    size = len(begins)
    borders = np.empty(2 * size + 1, np.int32)
    borders[0:-1:2], borders[1::2] = begins, ends
    borders[-1] = ends[-1] if size else 0
    buffer = data if isinstance(data, pa.Buffer) else pa.py_buffer(data)
    pieces = pa.Array.from_buffers(pa.binary(), 2 * size, [None, pa.py_buffer(borders), buffer])
    return taken(pieces, np.arange(0, 2 * size, 2, dtype=np.int32))


def offsets_of(array: pa.BinaryArray) -> Ints:
    """Where the values of an array (that is no slice of another) begin and end in its bytes."""
    return np.frombuffer(array.buffers()[1], np.int32, len(array) + 1).astype(np.int64)


def octets_of(array: pa.BinaryArray) -> Octets:
    """The bytes of all values of an array, one after the other."""
    size = int(offsets_of(array)[-1]) if len(array) else 0
    return np.frombuffer(array.buffers()[2], np.uint8, size) if size else np.empty(0, np.uint8)


def having(array: pa.BinaryArray, octets: bytes) -> Ints:
    """Which values of an array have one of some bytes in them."""
    values = octets_of(array)
    is_there = values == octets[0]
    for octet in octets[1:]:
        is_there |= values == octet
    positions = np.flatnonzero(is_there)
    return np.unique(np.searchsorted(offsets_of(array), positions, "right") - 1)


def flags_of(column: pa.Array) -> Flags:
    """A column of truth values; NULL is false."""
    return numbers_of(column, 0).astype(np.bool_)


def numbers_of(column: pa.Array | pa.ChunkedArray, null: int = -1) -> Ints:
    """A column of whole numbers."""
    numbers = column.cast(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(null)
    return np.asarray(numbers)
