"""JSON: to maps and arrays, to XML, and from XML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.casting import castable
from xcql.evaluate.functions.documents import read_text
from xcql.evaluate.functions.strings import is_xml_character
from xcql.evaluate.registry import NAMESPACES, CallContext, function
from xcql.evaluate.values import text_of_item
from xcql.xdm.atomic import string_of
from xcql.xdm.builder import TreeBuilder
from xcql.xdm.functions import Item, XdmArray, XdmFunction, XdmMap
from xcql.xdm.names import QName
from xcql.xdm.nodes import (
    CommentNode,
    DocumentNode,
    ElementNode,
    Node,
    ProcessingInstructionNode,
    TextNode,
)

_FN = NAMESPACES["fn"]
_SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})')


class _Number(str):
    """A number as it was written."""


class _Object(list[tuple[str, Any]]):
    """The members of an object, in their original order."""


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _read(text: str) -> Any:
    """JSON as Python values: `_Object`, list, str, `_Number`, bool and None."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_Object,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse,
        )
    except (ValueError, RecursionError) as problem:
        place = ""
        if isinstance(problem, json.JSONDecodeError):
            place = f" at line {problem.lineno}, column {problem.colno}: {problem.msg}"
        raise error("FOJS0001", f"this is not JSON{place}") from None


class _Options:
    """The options of parse-json and json-to-xml."""

    def __init__(self, call: CallContext, given: XdmMap | None, duplicates: dict[str, str]) -> None:
        self.call = call
        self.escape = bool(_option(given, "escape", bool, False))
        _option(given, "liberal", bool, False)
        self.validate = bool(_option(given, "validate", bool, False))
        chosen = _option(given, "duplicates", str, "")
        if chosen and chosen not in duplicates:
            raise error("FOJS0005", f'"{chosen}" is not a valid value of the option duplicates')
        self.duplicates = duplicates[str(chosen)]
        self.fallback = _option(given, "fallback", XdmFunction, None)
        if self.fallback is not None and self.escape:
            raise error("FOJS0005", "the options escape and fallback cannot be combined")
        if self.fallback is not None and self.fallback.arity != 1:
            raise error("FOJS0005", "the option fallback must be a function of one argument")

    def text(self, value: str) -> str:
        """A string, processed as the options require."""
        if self.escape:
            return "".join(map(_escaped, value))
        if all(is_xml_character(ord(sign)) for sign in set(value)):
            return value
        return "".join(
            sign if is_xml_character(ord(sign)) else self._replacement(sign) for sign in value
        )

    def _replacement(self, sign: str) -> str:
        if self.fallback is None:
            return "\ufffd"
        escape = _SHORT.get(ord(sign), f"\\u{ord(sign):04X}")
        return "".join(text_of_item(item) for item in self.call.apply(self.fallback, [escape]))


def _option(given: XdmMap | None, name: str, kind: Any, default: Any) -> Any:
    value = None if given is None else given.get(name)
    if value is None:
        return default
    if len(value) != 1 or not isinstance(value[0], kind):
        raise error("XPTY0004", f"the option {name} has a value of the wrong type")
    return value[0]


def _escaped(sign: str) -> str:
    code = ord(sign)
    if sign == "\\":
        return "\\\\"
    if code < 32 or 127 <= code <= 159 or not is_xml_character(code):
        return _SHORT.get(code, f"\\u{code:04X}")
    return sign


@function("fn:parse-json(xs:string?, [map(*)]) as item()?")
def parse_json(call: CallContext, text: str | None, options: XdmMap | None = None) -> Item | None:
    rules = {"": "use-first", "reject": "reject", "use-first": "use-first", "use-last": "use-last"}
    chosen = _Options(call, options, rules)
    return None if text is None else _item(_read(text), chosen)


@function("fn:json-doc(xs:string?, [map(*)]) as item()?")
def json_doc(call: CallContext, uri: str | None, options: XdmMap | None = None) -> Item | None:
    return parse_json(call, None if uri is None else read_text(call, uri), options)


def _item(value: Any, options: _Options) -> Item | None:
    if isinstance(value, _Object):
        return XdmMap(
            (options.text(key), _sequence(inner, options)) for key, inner in _kept(value, options)
        )
    if isinstance(value, list):
        return XdmArray(_sequence(inner, options) for inner in value)
    if isinstance(value, _Number):
        return float(value)
    return options.text(value) if isinstance(value, str) else value


def _sequence(value: Any, options: _Options) -> list[Item]:
    item = _item(value, options)
    return [] if item is None else [item]


@function("fn:json-to-xml(xs:string?, [map(*)]) as document-node()?")
def json_to_xml(call: CallContext, text: str | None, options: XdmMap | None = None) -> Node | None:
    rules = {"": "retain", "reject": "reject", "use-first": "use-first", "retain": "retain"}
    chosen = _Options(call, options, rules)
    if chosen.validate:
        raise error("FOJS0004", "there is no schema to validate with")
    if text is None:
        return None
    builder = TreeBuilder()
    builder.start_document(base_uri=call.static.base_uri)
    _write_xml(builder, _read(text), chosen, None)
    builder.end()
    return builder.result()


def _write_xml(builder: TreeBuilder, value: Any, options: _Options, key: str | None) -> None:
    if isinstance(value, _Object):
        kind = "map"
    elif isinstance(value, list):
        kind = "array"
    elif isinstance(value, _Number):
        kind = "number"
    elif isinstance(value, str):
        kind = "string"
    else:
        kind = "null" if value is None else "boolean"
    builder.start_element(QName(_FN, kind))
    if key is not None:
        written = options.text(key)
        if options.escape and "\\" in written:
            builder.attribute(QName("", "escaped-key"), "true")
        builder.attribute(QName("", "key"), written)
    if isinstance(value, _Object):
        for name, inner in _kept(value, options):
            _write_xml(builder, inner, options, name)
    elif isinstance(value, list):
        for inner in value:
            _write_xml(builder, inner, options, None)
    elif kind == "string":
        written = options.text(value)
        if options.escape and "\\" in written:
            builder.attribute(QName("", "escaped"), "true")
        builder.text(written)
    elif value is not None:
        builder.text(str(value) if kind == "number" else "true" if value else "false")
    builder.end()


def _kept(value: _Object, options: _Options) -> Iterable[tuple[str, Any]]:
    """The members of an object; for repeated keys, those that the options select."""
    if options.duplicates == "retain":
        return value
    chosen: dict[str, Any] = {}
    for key, inner in value:
        if key in chosen and options.duplicates == "reject":
            raise error("FOJS0003", f'the object has the key "{key}" twice')
        if key not in chosen or options.duplicates == "use-last":
            chosen[key] = inner
    return chosen.items()


@function("fn:xml-to-json(node()?, [map(*)]) as xs:string?")
def xml_to_json(call: CallContext, node: Node | None, options: XdmMap | None = None) -> str | None:
    _option(options, "indent", bool, False)
    if node is None:
        return None
    if isinstance(node, DocumentNode):
        elements = _elements(node)
        if len(elements) != 1:
            raise _not_json("expected a document with one element")
        node = elements[0]
    if not isinstance(node, ElementNode):
        raise _not_json("expected an element")
    return "".join(_written(node, in_map=False))


def _not_json(reason: str) -> XcqlError:
    return error("FOJS0006", f"this is not the XML form of JSON: {reason}")


def _elements(node: ElementNode | DocumentNode) -> list[ElementNode]:
    """The children that are elements; text between them may only be white space."""
    found = []
    for child in node.children:
        if isinstance(child, ElementNode):
            found.append(child)
        elif isinstance(child, TextNode) and child.value.strip(" \t\r\n"):
            raise _not_json("there is text between elements")
    return found


def _written(element: ElementNode, *, in_map: bool) -> Iterator[str]:
    if element.name.uri != _FN or element.name.local not in _WRITERS:
        raise _not_json(f"unexpected element {element.name.clark}")
    _check_attributes(element, in_map)
    yield from _WRITERS[element.name.local](element)


def _check_attributes(element: ElementNode, in_map: bool) -> None:
    allowed = {"escaped"} if element.name.local == "string" else set()
    if in_map:
        allowed |= {"key", "escaped-key"}
        if element.attribute_value("key") is None:
            raise _not_json("an entry of a map has no key")
    for attribute in element.attributes:
        ignorable = attribute.name.local in ("key", "escaped-key") and not attribute.name.uri
        if attribute.name.uri in ("", _FN) and (
            attribute.name.local not in allowed and not ignorable
        ):
            raise _not_json(f"unexpected attribute {attribute.name}")


def _flag(element: ElementNode, name: str) -> bool:
    value = (element.attribute_value(name) or "false").strip(" \t\r\n")
    if value not in ("true", "false", "1", "0"):
        raise _not_json(f"the attribute {name} is not a boolean")
    return value in ("true", "1")


def _content(element: ElementNode) -> str:
    ignored = (CommentNode, ProcessingInstructionNode)
    if not all(isinstance(child, (TextNode, *ignored)) for child in element.children):
        raise _not_json(f"there is an element inside {element.name.local}")
    return "".join(child.value for child in element.children if isinstance(child, TextNode))


def _map(element: ElementNode) -> Iterator[str]:
    seen = set()
    yield "{"
    for index, entry in enumerate(_elements(element)):
        inner = "".join(_written(entry, in_map=True))
        key = _quoted(entry.attribute_value("key") or "", escaped=_flag(entry, "escaped-key"))
        if json.loads(key) in seen:
            raise _not_json(f"duplicate key {key}")
        seen.add(json.loads(key))
        yield f"{',' if index else ''}{key}:{inner}"
    yield "}"


def _array(element: ElementNode) -> Iterator[str]:
    yield "["
    for index, member in enumerate(_elements(element)):
        yield "," if index else ""
        yield from _written(member, in_map=False)
    yield "]"


def _string(element: ElementNode) -> Iterator[str]:
    yield _quoted(_content(element), escaped=_flag(element, "escaped"))


def _number(element: ElementNode) -> Iterator[str]:
    text = _content(element).strip(" \t\r\n")
    if not castable(text, "double") or text.lstrip("+-") in ("INF", "NaN"):
        raise _not_json(f'"{text}" is not a number')
    yield string_of(float(text))


def _boolean(element: ElementNode) -> Iterator[str]:
    text = _content(element).strip(" \t\r\n")
    if text not in ("true", "false", "1", "0"):
        raise _not_json(f'"{text}" is not a boolean')
    yield "true" if text in ("true", "1") else "false"


def _null(element: ElementNode) -> Iterator[str]:
    if _content(element).strip(" \t\r\n"):
        raise _not_json("a null element is not empty")
    yield "null"


_WRITERS: dict[str, Callable[[ElementNode], Iterator[str]]] = {
    "map": _map,
    "array": _array,
    "string": _string,
    "number": _number,
    "boolean": _boolean,
    "null": _null,
}


def _quoted(text: str, *, escaped: bool) -> str:
    """A JSON string; with `escaped`, escapes in the text are kept."""
    if not escaped:
        return quote_json(text)
    parts = ['"']
    position = 0
    while position < len(text):
        sign = text[position]
        if sign == "\\":
            match = _ESCAPE.match(text, position)
            if match is None:
                raise error("FOJS0007", f'"{text[position : position + 6]}" is not a JSON escape')
            parts.append(match[0])
            position = match.end()
            continue
        parts.append(quote_json(sign)[1:-1])
        position += 1
    return "".join([*parts, '"'])


def quote_json(text: str) -> str:
    """A text as a JSON string."""
    parts = []
    for sign in text:
        code = ord(sign)
        if sign in '"\\/':
            parts.append("\\" + sign)
        elif code in _SHORT:
            parts.append(_SHORT[code])
        elif code < 32 or 127 <= code <= 159:
            parts.append(f"\\u{code:04X}")
        else:
            parts.append(sign)
    return f'"{"".join(parts)}"'
