"""Names: the characters that XML allows in them."""

from __future__ import annotations

import re

_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
# a pattern for a name without a prefix, for use in other patterns
NCNAME = f"[{_START}][{_START}\\-.0-9\u00b7\u0300-\u036f\u203f-\u2040]*"

_NCNAME = re.compile(NCNAME)
_SPACE = re.compile("[ \t\r\n]+")
_URI_ESCAPES = str.maketrans({"&": "&amp;", "{": "&#x7B;", "}": "&#x7D;"})


def is_ncname(text: str) -> bool:
    return _NCNAME.fullmatch(text) is not None


def name_set(names: str) -> frozenset[str]:
    """The names in a text, with spaces between them."""
    return frozenset(names.split())


def fold_space(text: str) -> str:
    """A URI without surrounding white space, and with single spaces inside.

    >>> fold_space(" urn:a\\n  b ")
    'urn:a b'
    """
    return _SPACE.sub(" ", text).strip(" ")


def braced_uri(uri: str) -> str:
    """`Q{uri}`, the form of a namespace before a name.

    >>> braced_uri("http://example.org/?a&b")
    'Q{http://example.org/?a&amp;b}'
    """
    return f"Q{{{uri.translate(_URI_ESCAPES)}}}"
