"""Keys of `order by` as bytes that sort alike, keys of `group by` as equal texts."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

from elementpath import datatypes as ep

from xcql.continuous.parts import NeedsWhole
from xcql.evaluate.collations import CODEPOINT
from xcql.evaluate.context import StaticContext
from xcql.evaluate.sequences import zero_or_one_atomic
from xcql.source import Span
from xcql.syntax.flwor import OrderKey
from xcql.xdm.atomic import instant

_EMPTY_LEAST, _NAN_LEAST, _VALUE, _NAN_GREATEST, _EMPTY_GREATEST = range(5)


def sort_key(items: Any, key: OrderKey, static: StaticContext) -> tuple[str, bytes]:
    """The kind of a sort key's value, and its bytes; only those of one kind can be compared.

    The kind is empty for the empty sequence. Raises NeedsWhole if bytes cannot represent the order.
    """
    atom = zero_or_one_atomic(items, "a sort key", key.span)
    if type(atom) is ep.UntypedAtomic:
        atom = atom.value
    greatest = (key.empty or static.empty_order) == "greatest"
    kind = ""
    if atom is None:
        found = bytes([_EMPTY_GREATEST if greatest else _EMPTY_LEAST])
    elif isinstance(atom, float) and atom != atom:
        kind = "number"
        found = bytes([_NAN_GREATEST if greatest else _NAN_LEAST])
    else:
        kind, value = _encoded(atom, key, static)
        found = bytes([_VALUE]) + value
    return kind, bytes(255 - byte for byte in found) if key.descending else found


def _encoded(atom: Any, key: OrderKey, static: StaticContext) -> tuple[str, bytes]:
    if isinstance(atom, str) and static.default_collation is CODEPOINT:
        # a text sorts before a longer one that starts with it
        data = atom.encode("utf-8", "surrogatepass").replace(b"\0", b"\0\xff") + b"\0\0"
        return "text", data
    if isinstance(atom, (int, float, Decimal)) and not isinstance(atom, bool):
        number = float(atom)
        if number == atom:
            return "number", _number(number + 0.0)
    if isinstance(atom, ep.DateTime):
        days, microseconds = instant(atom)
        return "time", (days + (1 << 62)).to_bytes(8) + microseconds.to_bytes(8)
    raise NeedsWhole("the values of a sort key cannot be compared as bytes", key.span)


def _number(value: float) -> bytes:
    bits = int.from_bytes(struct.pack(">d", value))
    # IEEE numbers sort like their bits, in reverse order for negative ones
    bits = bits ^ ((1 << 64) - 1) if bits >> 63 else bits | 1 << 63
    return bits.to_bytes(8)


def grouping_key(items: Any, span: Span) -> list[str] | None:
    """The key of a group: equal for equal values, None for the empty sequence."""
    atom = zero_or_one_atomic(items, "a grouping key", span)
    if atom is None:
        return None
    if isinstance(atom, (str, ep.UntypedAtomic)):
        return ["text", atom if isinstance(atom, str) else atom.value]
    if isinstance(atom, bool):
        return ["boolean", str(atom)]
    if isinstance(atom, (int, float, Decimal)) and (float(atom) == atom or atom != atom):
        return ["number", repr(float(atom) + 0.0)]
    raise NeedsWhole("the values of a grouping key cannot be compared as text", span)
