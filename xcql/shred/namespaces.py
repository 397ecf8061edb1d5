"""The namespaces declared around an element, as the text of the declaring attributes.

The column `namespaces` stores them in this form, ready to insert into the element's start tag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from xml.parsers import expat
from xml.sax.saxutils import unescape

from xcql.model.fragments import Namespaces
from xcql.model.scan import START_TAG
from xcql.model.tags import STREAM_NAMESPACE
from xcql.xdm.serialize import escape_attribute

# undeclares a default namespace
NO_DEFAULT = ' xmlns=""'
_REFERENCE = re.compile("&#x([0-9A-F]+);")
# in the normal form, no `>` stands inside a tag
_MARKUP = re.compile(r"(?s)<!--.*?-->|<\?.*?\?>|<[^>]*>")
_TAG_NAME = re.compile(r"(<[^\s/>]+)")
_DECLARATION = re.compile(r' xmlns(?::([^=]+))?="([^"]*)"')


def declarations(namespaces: Namespaces, element: bytes, is_default_used: bool) -> str:
    """The text for the namespaces in scope at an element: those around it and its own.

    The prefix `stream` is left out, because it is not part of the data. If any element uses a
    default namespace, an element without one declares that, too.

    >>> around = (("p", "urn:p"), ("q", "urn:q"), ("stream", "urn:xcql:stream"))
    >>> declarations(around, b"<p:a xmlns:q='urn:r'/>", True)
    ' xmlns="" xmlns:p="urn:p" xmlns:q="urn:r"'
    """
    needed = {**dict(namespaces), **_own(element)}
    if is_default_used:
        needed.setdefault("", "")
    elif not needed.get(""):
        needed.pop("", None)
    return declaring(
        {
            prefix: escape_attribute(uri)
            for prefix, uri in needed.items()
            if prefix not in ("stream", "xml")
        }
    )


def declaring(values: Mapping[str, str]) -> str:
    """The attributes that declare prefixes, in their order; the values are escaped already."""
    return "".join(
        f' xmlns{":" if prefix else ""}{prefix}="{value}"'
        for prefix, value in sorted(values.items())
    )


def _own(element: bytes) -> dict[str, str]:
    """The namespaces declared in an element's start tag; none if it is malformed."""
    start = START_TAG.match(element) if b"xmlns" in element else None
    if start is None:
        return {}
    found: dict[str, str] = {}

    def take(name: str, attributes: dict[str, str]) -> None:
        for attribute, value in attributes.items():
            if attribute == "xmlns" or attribute.startswith("xmlns:"):
                found[attribute[6:]] = value

    # without namespace support, so that declarations are attributes
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = take
    with suppress(expat.ExpatError):
        parser.Parse(start[0], False)
    return found


def namespaces_of(text: str) -> dict[str, str]:
    """The namespaces by prefix that a text declares.

    >>> namespaces_of(' xmlns="urn:a" xmlns:p="urn:&quot;&#xA0;"')
    {'': 'urn:a', 'p': 'urn:"\\xa0'}
    """
    return {prefix: _unescaped(value) for prefix, value in declared_in(text).items()}


def _unescaped(value: str) -> str:
    characters = _REFERENCE.sub(lambda match: chr(int(match[1], 16)), value)
    return unescape(characters, {"&quot;": '"'})


def declared_in(text: str) -> dict[str, str]:
    """The prefixes that a text declares, and the values of the attributes as they are written."""
    return {match[1] or "": match[2] for match in _DECLARATION.finditer(text)}


def to_declare(text: str, scope: Mapping[str, str]) -> dict[str, str]:
    """What of an element's declarations is still to be written in a scope.

    XML has no way to undeclare a prefix, only the default namespace.

    >>> to_declare(' xmlns:p="urn:p" xmlns:q="urn:q"', {"": "urn:d", "p": "urn:p", "r": "urn:r"})
    {'': '', 'q': 'urn:q'}
    """
    needed = {"": "", **declared_in(text)}
    return {prefix: value for prefix, value in needed.items() if scope.get(prefix, "") != value}


def declared_once(text: str) -> str:
    """Some elements in the normal form, without the declarations that are in scope already.

    >>> declared_once('<a xmlns="" xmlns:p="urn:p"><p:b xmlns:p="urn:p"/><c xmlns:p="urn:q"/></a>')
    '<a xmlns:p="urn:p"><p:b/><c xmlns:p="urn:q"/></a>'
    """
    if " xmlns" not in text:
        return text
    scopes: list[Mapping[str, str]] = [{}]

    def in_scope(markup: re.Match[str]) -> str:
        tag = markup[0]
        if tag.startswith("</"):
            scopes.pop()
        elif not tag.startswith(("<!", "<?")):
            scope, declared = scopes[-1], declared_in(tag) if " xmlns" in tag else {}
            if declared:
                new = {one: value for one, value in declared.items() if scope.get(one, "") != value}
                name, rest = _TAG_NAME.split(tag, maxsplit=1)[1:]
                tag = name + declaring(new) + _DECLARATION.sub("", rest)
                scope = {**scope, **new}
            if not tag.endswith("/>"):
                scopes.append(scope)
        return tag

    return _MARKUP.sub(in_scope, text)


def out_of_default(text: str) -> str:
    """Some elements as the content of an element with a default namespace, which they do not have.

    >>> out_of_default('<a><b/></a><p:c><d/></p:c><e xmlns="urn:e"/>')
    '<a xmlns=""><b/></a><p:c><d xmlns=""/></p:c><e xmlns="urn:e"/>'
    """
    # for each open element, whether it has a default namespace or none
    decided = [False]

    def undeclared(markup: re.Match[str]) -> str:
        tag = markup[0]
        if tag.startswith("</"):
            decided.pop()
        elif not tag.startswith(("<!", "<?")):
            name, rest = _TAG_NAME.split(tag, maxsplit=1)[1:]
            is_decided = decided[-1] or ' xmlns="' in rest
            if not is_decided and ":" not in name:
                is_decided, tag = True, f"{name}{NO_DEFAULT}{rest}"
            if not tag.endswith("/>"):
                decided.append(is_decided)
        return tag

    return _MARKUP.sub(undeclared, text)


def namespaces_at(element: bytes, around: str, start: int) -> str:
    """The declarations in scope at an offset inside an element, except those made there.

    >>> namespaces_at(b'<a xmlns="urn:d"><b/><c xmlns:p="urn:q"/></a>', ' xmlns:p="urn:p"', 21)
    ' xmlns="urn:d"'
    """
    if b" xmlns" not in element:
        return around
    scopes: list[dict[str, str]] = [declared_in(around)]
    for markup in _MARKUP.finditer(element[:start].decode()):
        tag = markup[0]
        if tag.startswith("</"):
            scopes.pop()
        elif not tag.startswith(("<!", "<?")) and not tag.endswith("/>"):
            scopes.append({**scopes[-1], **declared_in(tag)})
    own = _MARKUP.match(element[start:].decode())
    here = declared_in(own[0]) if own else {}
    return declaring({one: value for one, value in scopes[-1].items() if one not in here})


@lru_cache(maxsize=256)
def context(text: str) -> tuple[bytes, bytes]:
    """The start and end tags that put the declarations and `stream:` in scope for an element."""
    return f'<context xmlns:stream="{STREAM_NAMESPACE}"{text}>'.encode(), b"</context>"
