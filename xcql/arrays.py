"""Conversions between numpy arrays and Arrow columns.

numpy computes with positions and numbers; Arrow holds the bytes and strings. These functions
avoid copies wherever possible.
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
    """A numpy array as an Arrow column, with NULL where `is_there` is false.

    >>> column_of(np.array([1, 2]), np.array([True, False])).to_pylist()
    [1, None]
    """
    bits = None
    if is_there is not None and not is_there.all():
        bits = pa.py_buffer(np.packbits(is_there, bitorder="little"))
    numbers = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [bits, numbers])


def taken(values: pa.Array, places: Ints | Numbers, is_there: Flags | None = None) -> pa.Array:
    """The values at the given positions, with NULL where `is_there` is false."""
    return values.take(column_of(places, is_there))


def spread(values: pa.Array, is_there: Flags) -> pa.Array:
    """The values in order at the rows where `is_there` is true, with NULL in all other rows.

    Strings and list items are not copied: only the array of their offsets is rebuilt.

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
    """The integers of all ranges, preceded by an array with the index of each one's range.

    >>> [array.tolist() for array in ranges(np.array([5, 0]), np.array([7, 1]))]
    [[0, 0, 1], [5, 6, 0]]
    """
    counts = ends - begins
    numbers = np.repeat(np.arange(len(counts)), counts)
    firsts = np.cumsum(counts) - counts
    return numbers, np.arange(len(numbers)) - firsts[numbers] + begins[numbers]


def borders_of(counts: Ints | Flags) -> Numbers:
    """The offsets of consecutive lists with the given lengths."""
    borders = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=borders[1:])
    return borders


def slices(data: bytes | pa.Buffer, begins: Ints, ends: Ints) -> pa.BinaryArray:
    """Byte ranges of `data`, in ascending order, as a binary array."""
    size = len(begins)
    borders = np.empty(2 * size + 1, np.int32)
    borders[0:-1:2], borders[1::2] = begins, ends
    borders[-1] = ends[-1] if size else 0
    buffer = data if isinstance(data, pa.Buffer) else pa.py_buffer(data)
    pieces = pa.Array.from_buffers(pa.binary(), 2 * size, [None, pa.py_buffer(borders), buffer])
    return taken(pieces, np.arange(0, 2 * size, 2, dtype=np.int32))


def offsets_of(array: pa.BinaryArray) -> Ints:
    """The byte offsets of the values of an array, which must not be a slice of another."""
    return np.frombuffer(array.buffers()[1], np.int32, len(array) + 1).astype(np.int64)


def octets_of(array: pa.BinaryArray) -> Octets:
    """The concatenated bytes of all values of an array."""
    size = int(offsets_of(array)[-1]) if len(array) else 0
    return np.frombuffer(array.buffers()[2], np.uint8, size) if size else np.empty(0, np.uint8)


def having(array: pa.BinaryArray, octets: bytes) -> Ints:
    """The indexes of the values that contain at least one of the given bytes."""
    values = octets_of(array)
    is_there = values == octets[0]
    for octet in octets[1:]:
        is_there |= values == octet
    positions = np.flatnonzero(is_there)
    return np.unique(np.searchsorted(offsets_of(array), positions, "right") - 1)


def flags_of(column: pa.Array) -> Flags:
    """A boolean column as a numpy array; NULL becomes false."""
    return numbers_of(column, 0).astype(np.bool_)


def numbers_of(column: pa.Array | pa.ChunkedArray, null: int = -1) -> Ints:
    """An integer column as a numpy array; NULL becomes `null`."""
    numbers = column.cast(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(null)
    return np.asarray(numbers)
