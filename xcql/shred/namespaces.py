"""The namespaces declared around an element, as the text of the attributes that declare them.

That is how the column `namespaces` has them: ready to be put into the element's start tag.
"""

from __future__ import annotations

import re
from functools import lru_cache
from xml.sax.saxutils import unescape

from xcql.model.fragments import Namespaces
from xcql.model.scan import START_TAG
from xcql.model.tags import STREAM_NAMESPACE
from xcql.xdm.serialize import escape_attribute

_VALUES = re.compile(rb"""\"[^\"]*\"|'[^']*'""")
_DECLARATION = re.compile(r' xmlns(?::([^=]+))?="([^"]*)"')


_OWN = re.compile(rb"""\sxmlns(?::([^\s=]+))?\s*=""")


def declarations(namespaces: Namespaces, element: bytes, is_default_used: bool) -> str:
    """The text for the namespaces that an element needs to stand anywhere else.

    What its start tag declares itself is left out, and so is `stream`, which is not the data's.
    Where a default namespace is used at all, an element without one says so, too.

    >>> around = (("p", "urn:p"), ("q", "urn:q"), ("stream", "urn:xcql:stream"))
    >>> declarations(around, b"<p:a xmlns:q='urn:r'/>", True)
    ' xmlns="" xmlns:p="urn:p"'
    """
    needed = dict(namespaces)
    if is_default_used:
        needed.setdefault("", "")
    elif not needed.get(""):
        needed.pop("", None)
    own = set()
    if b"xmlns" in element:
        start = START_TAG.match(element)
        if start:
            own = {(one or b"").decode() for one in _OWN.findall(_VALUES.sub(b'""', start[0]))}
    return "".join(
        f' xmlns{":" if prefix else ""}{prefix}="{escape_attribute(uri)}"'
        for prefix, uri in sorted(needed.items())
        if prefix not in own and prefix not in ("stream", "xml")
    )


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
    """What to put before and after an element to have the declarations, and `stream:`, in force."""
    return f'<context xmlns:stream="{STREAM_NAMESPACE}"{text}>'.encode(), b"</context>"
