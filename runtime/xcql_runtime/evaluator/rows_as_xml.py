"""A DataFrame as a sequence of elements: `<row>` with one child per column that has a value.

    <row><id>7</id><price>4.5</price><name><first>Ann</first></name><tag>a</tag><tag>b</tag></row>

NULL produces no element. A struct is an element with its fields inside. An array is one element per
value (a nested array: elements `item` inside); a map is like an array of structs with `key` and
`value`. Times are in UTC without a zone. A name that XML does not allow is escaped as in SQL/XML:
`unit price` becomes `unit_x0020_price`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.casting import is_ncname
from xcql.evaluate.python_values import from_python
from xcql.xdm.atomic import string_of
from xcql.xdm.serialize import escape_text

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def rows_as_xml(rows: pa.StructArray, names: Sequence[str]) -> list[str]:
    """The rows as elements; the fields of the structs have these names."""
    return _wrapped("row", _fields(rows, names))


def _elements(array: pa.Array, name: str) -> list[str]:
    """The text of the elements for each value of a column; empty for NULL."""
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return _repeated(array, name)
    if pa.types.is_struct(kind):
        fields = [kind.field(number).name for number in range(kind.num_fields)]
        contents: Sequence[str] = _fields(array, fields)
    else:
        contents = _texts(array, name)
    texts = _wrapped(element_name(name), contents)
    return [text if there else "" for text, there in zip(texts, _present(array), strict=True)]


def _wrapped(element: str, contents: Sequence[str]) -> list[str]:
    return [
        f"<{element}>{content}</{element}>" if content else f"<{element}/>" for content in contents
    ]


def _fields(array: pa.StructArray, names: Sequence[str]) -> list[str]:
    """The elements of all fields, for each struct in a column."""
    fields = [_elements(field, name) for field, name in zip(array.flatten(), names, strict=True)]
    return ["".join(row) for row in zip(*fields, strict=True)] if fields else [""] * len(array)


def _repeated(array: pa.Array, name: str) -> list[str]:
    """The elements for the values of lists or maps; a nested list is one element."""
    is_map = pa.types.is_map(array.type)
    if is_map:
        values = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
    else:
        values = array.values
    is_list = pa.types.is_list(values.type) or pa.types.is_map(values.type)
    if is_list:
        inner = _wrapped(element_name(name), _elements(values, "item"))
        present = _present(values)
        texts = [text if there else "" for text, there in zip(inner, present, strict=True)]
    else:
        texts = _elements(values, name)
    offsets = array.offsets.to_pylist()
    return [
        "".join(texts[offsets[row] : offsets[row + 1]]) if there else ""
        for row, there in enumerate(_present(array))
    ]


def _present(array: pa.Array) -> list[bool]:
    return array.is_valid().to_pylist()  # type: ignore[no-any-return]


def _texts(array: pa.Array, name: str) -> list[str]:
    """The text of each value, as a query would serialize it."""
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us"))  # in UTC, whatever its time zone
    return ["" if value is None else _text(value, name) for value in array.to_pylist()]


def _text(value: Any, name: str) -> str:
    try:
        (item,) = from_python(value)
    except XcqlError:
        raise error(
            "XCQL0503",
            f"the column '{name}' has values of type {type(value).__name__}, which XML lacks",
            hints=["drop the column, or convert it to a string"],
        ) from None
    text = string_of(item)
    if found := _NOT_IN_XML.search(text):
        raise error(
            "XCQL0503",
            f"a value of the column '{name}' has the character U+{ord(found[0]):04X}, which XML"
            " does not allow",
            hints=["replace it in the DataFrame first"],
        )
    return escape_text(text)


def element_name(name: str) -> str:
    """Convert a column name to an element name.

    >>> element_name("unit price")
    'unit_x0020_price'
    """
    if is_ncname(name):
        return name
    signs = [sign if is_ncname(f"a{sign}") else f"_x{ord(sign):04X}_" for sign in name]
    if signs and len(signs[0]) == 1 and not is_ncname(signs[0]):
        signs[0] = f"_x{ord(name[0]):04X}_"
    return "".join(signs) or "_x0000_"
