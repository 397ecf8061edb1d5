"""fn:serialize: items as text, with the output methods xml, text, json and adaptive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.evaluate.functions.json import quote_json
from xcql.evaluate.registry import CallContext, function
from xcql.evaluate.values import kind_of, text_of_item
from xcql.xdm.atomic import double_text, is_numeric, string_of, type_of
from xcql.xdm.functions import Item, XdmArray, XdmFunction, XdmMap
from xcql.xdm.nodes import AttributeNode, DocumentNode, ElementNode, NamespaceNode, Node
from xcql.xdm.serialize import escape_text
from xcql.xdm.serialize import serialize as xml_text

_OUTPUT = "http://www.w3.org/2010/xslt-xquery-serialization"
_METHODS = ("xml", "xhtml", "html", "text", "json", "adaptive")


@function("fn:serialize(item()*, [item()?]) as xs:string")
def serialize(call: CallContext, items: Iterable[Item], options: Item | None = None) -> str:
    settings = _settings(options)
    method = settings.get("method", "xml")
    if method not in _METHODS:
        raise error("SEPM0016", f'"{method}" is not a supported output method')
    separator = settings.get("item-separator")
    if method == "json":
        return json_text(
            list(items), allow_duplicates=settings.get("allow-duplicate-names") == "yes"
        )
    if method == "adaptive":
        return ("\n" if separator is None else separator).join(map(_adaptive, items))
    written = _normalized(items, separator)
    if method == "text":
        return "".join(part if isinstance(part, str) else part.string_value() for part in written)
    text = "".join(
        escape_text(part) if isinstance(part, str) else xml_text(part) for part in written
    )
    if settings.get("omit-xml-declaration", "yes") == "no" and method != "html":
        standalone = settings.get("standalone", "omit")
        extra = "" if standalone == "omit" else f' standalone="{standalone}"'
        text = f'<?xml version="1.0" encoding="UTF-8"{extra}?>{text}'
    return text


def _settings(options: Item | None) -> dict[str, str]:
    if options is None:
        return {}
    if isinstance(options, XdmMap):
        return {
            string_of(key): _setting(value[0])
            for key, value in options.items()
            if len(value) == 1 and not isinstance(key, ep.QName)
        }
    if isinstance(options, DocumentNode) and options.document_element is not None:
        options = options.document_element
    if not isinstance(options, ElementNode) or options.name.uri != _OUTPUT:
        raise error("XPTY0004", f"the options of serialize() must be a map, not {kind_of(options)}")
    return {
        child.name.local: child.attribute_value("value") or ""
        for child in options.children
        if isinstance(child, ElementNode) and child.name.uri == _OUTPUT
    }


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return text_of_item(value)


def _normalized(items: Iterable[Item], separator: str | None) -> Iterator[Node | str]:
    """Sequence normalization: texts and nodes in output order."""
    previous_atomic = False
    for index, item in enumerate(_flattened(items)):
        if isinstance(item, (AttributeNode, NamespaceNode)):
            raise error("SENR0001", f"{kind_of(item)} cannot be written by itself")
        if isinstance(item, XdmFunction):
            raise error("SENR0001", f"this output method cannot write {kind_of(item)}")
        atomic = not isinstance(item, Node)
        if separator is not None and index:
            yield separator
        elif atomic and previous_atomic:
            yield " "
        yield string_of(item) if atomic else item
        previous_atomic = atomic


def _flattened(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        if isinstance(item, XdmArray):
            yield from item.flattened()
        else:
            yield item


def json_text(items: list[Item], *, allow_duplicates: bool = False) -> str:
    """The JSON form of a value of at most one item.

    >>> json_text([XdmMap([("a", [1, 2])])])
    Traceback (most recent call last):
    xcql.diagnostics.XcqlError: error[SERE0023]: JSON has no form for a sequence of several items
    """
    if not items:
        return "null"
    if len(items) > 1:
        raise error("SERE0023", "JSON has no form for a sequence of several items")
    item = items[0]
    if isinstance(item, XdmArray):
        inner = (json_text(list(m), allow_duplicates=allow_duplicates) for m in item.members)
        return f"[{','.join(inner)}]"
    if isinstance(item, XdmMap):
        return _json_map(item, allow_duplicates)
    if isinstance(item, XdmFunction):
        raise error("SERE0021", "JSON has no form for a function")
    if isinstance(item, Node):
        return quote_json(xml_text(item))
    if isinstance(item, bool):
        return "true" if item else "false"
    if is_numeric(item):
        if isinstance(item, float) and not math.isfinite(item):
            raise error("SERE0020", f"JSON has no form for {double_text(item)}")
        return string_of(item)
    return quote_json(string_of(item))


def _json_map(item: XdmMap, allow_duplicates: bool) -> str:
    entries = []
    seen = set()
    for key, value in item.items():
        name = string_of(key)
        if name in seen and not allow_duplicates:
            raise error("SERE0022", f'two keys of the map have the form "{name}"')
        seen.add(name)
        inner = json_text(list(value), allow_duplicates=allow_duplicates)
        entries.append(f"{quote_json(name)}:{inner}")
    return f"{{{','.join(entries)}}}"


def _adaptive(item: Item) -> str:
    """An item in the adaptive method's form, which shows its type."""
    if isinstance(item, XdmMap):
        entries = (f"{_adaptive(key)}:{_adaptive_value(value)}" for key, value in item.items())
        return f"map{{{','.join(entries)}}}"
    if isinstance(item, XdmArray):
        return f"[{','.join(_adaptive_value(member) for member in item.members)}]"
    if isinstance(item, XdmFunction):
        return f"{item.name.clark if item.name else '(anonymous-function)'}#{item.arity}"
    if isinstance(item, NamespaceNode):
        return f'xmlns{":" if item.prefix else ""}{item.prefix}="{escape_text(item.uri)}"'
    if isinstance(item, Node):
        return xml_text(item)
    if isinstance(item, bool):
        return f"{'true' if item else 'false'}()"
    if isinstance(item, (str, ep.AnyURI, ep.UntypedAtomic)):
        return '"' + string_of(item).replace('"', '""') + '"'
    if isinstance(item, ep.QName):
        return f"Q{{{item.uri or ''}}}{item.local_name}"
    if type(item) is float and math.isfinite(item):
        return _exponential(item)
    if is_numeric(item) and not isinstance(item, float):
        return string_of(item)
    return f'{type_of(item)}("{string_of(item)}")' if not is_numeric(item) else string_of(item)


def _exponential(value: float) -> str:
    """A double, always with an exponent, so that it cannot be confused with a decimal."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent or 0)}"


def _adaptive_value(items: Iterable[Item]) -> str:
    written = [_adaptive(item) for item in items]
    return written[0] if len(written) == 1 else f"({','.join(written)})"
