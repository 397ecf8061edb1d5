"""The decimal formats of a prolog, for `fn:format-number`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from xcql.diagnostics import error
from xcql.syntax.prolog import DecimalFormatDecl

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "decimal-separator": ".",
        "grouping-separator": ",",
        "infinity": "Infinity",
        "minus-sign": "-",
        "NaN": "NaN",
        "percent": "%",
        "per-mille": "‰",
        "zero-digit": "0",
        "digit": "#",
        "pattern-separator": ";",
        "exponent-separator": "e",
    }
)
_TEXTS = ("infinity", "NaN")
# characters that have a role in a picture, and must therefore differ
_PICTURE_SIGNS = (
    "decimal-separator",
    "grouping-separator",
    "percent",
    "per-mille",
    "zero-digit",
    "digit",
    "pattern-separator",
    "exponent-separator",
)


def read_decimal_format(node: DecimalFormatDecl) -> Mapping[str, str]:
    """The properties that a declaration sets, checked."""
    found: dict[str, str] = {}
    for name, value in node.properties:
        if name in found:
            raise error("XQST0114", f"{name} is set twice", node.span)
        if name not in _TEXTS and len(value) != 1:
            raise error("XQST0097", f"{name} must be one character", node.span)
        if name == "zero-digit" and not (value.isdecimal() and int(value) == 0):
            raise error("XQST0097", "zero-digit must be a digit zero", node.span)
        found[name] = value
    everything = {**DEFAULTS, **found}
    zero = ord(everything["zero-digit"])
    digits = {chr(zero + number) for number in range(1, 10)}
    signs = [everything[name] for name in _PICTURE_SIGNS]
    if len(set(signs)) != len(signs) or digits & set(signs):
        raise error("XQST0098", "two characters of the decimal format are the same", node.span)
    return found
