"""The namespaces declared around an element, as the text of the declaring attributes.

The column `namespaces` stores them in this form, ready to insert into the element's start tag.
"""

from __future__ import annotations

import re
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
    return "".join(
        f' xmlns{":" if prefix else ""}{prefix}="{escape_attribute(uri)}"'
        for prefix, uri in sorted(needed.items())
        if prefix not in ("stream", "xml")
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

    >>> namespaces_of(' xmlns="urn:a" xmlns:p="urn:p"')
    {'': 'urn:a', 'p': 'urn:p'}
    """
    return {
        match[1] or "": unescape(match[2], {"&quot;": '"'}) for match in _DECLARATION.finditer(text)
    }


@lru_cache(maxsize=256)
def context(text: str) -> tuple[bytes, bytes]:
    """The start and end tags that put the declarations and `stream:` in scope for an element."""
    return f'<context xmlns:stream="{STREAM_NAMESPACE}"{text}>'.encode(), b"</context>"
