"""Functions on URIs."""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin, urlsplit

from elementpath import datatypes as ep

from xcql.diagnostics import error
from xcql.evaluate.casting import make_uri
from xcql.evaluate.registry import CallContext, function

_PRINTABLE = "".join(map(chr, range(0x20, 0x7F)))
# characters that iri-to-uri leaves unchanged: all ASCII that is allowed in an IRI
_IRI_SAFE = "".join(sign for sign in _PRINTABLE if sign not in ' "<>\\^`{|}')
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_INVALID = re.compile(r"%(?![0-9A-Fa-f]{2})|[\x00-\x20<>\"{}|\\^`]")


@function("fn:encode-for-uri(xs:string?) as xs:string")
def encode_for_uri(call: CallContext, text: str | None) -> str:
    return quote(text or "", safe="~")


@function("fn:iri-to-uri(xs:string?) as xs:string")
def iri_to_uri(call: CallContext, text: str | None) -> str:
    return quote(text or "", safe=_IRI_SAFE)


@function("fn:escape-html-uri(xs:string?) as xs:string")
def escape_html_uri(call: CallContext, text: str | None) -> str:
    return quote(text or "", safe=_PRINTABLE)


@function("fn:resolve-uri(xs:string?, [xs:string]) as xs:anyURI?")
def resolve_uri(
    call: CallContext, relative: str | None, base: str | None = None
) -> ep.AnyURI | None:
    if relative is None:
        return None
    if base is None:
        base = call.static.base_uri
        if base is None and not _SCHEME.match(relative):
            raise error("FONS0005", "there is no base URI to resolve against")
    return make_uri(resolved(relative, base))


def resolved(relative: str, base: str | None) -> str:
    """Make a URI absolute; FORG0002 if one of the two is unsuitable."""
    # before the first slash, a colon can only end a scheme
    if _INVALID.search(relative) or (
        ":" in re.split("[/?#]", relative)[0] and not _SCHEME.match(relative)
    ):
        raise error("FORG0002", f'"{relative}" is not a URI reference')
    if _SCHEME.match(relative):
        return relative
    try:
        if base is None or _INVALID.search(base) or not _SCHEME.match(base) or "#" in base:
            raise ValueError("base")
        parts = urlsplit(base)
        if not parts.netloc and not parts.path.startswith("/"):
            # urn:x:y and mailto:… have no hierarchy
            raise ValueError("base")
        return _joined(base, relative)
    except ValueError:
        raise error("FORG0002", f'"{base}" is not a base URI') from None


def _joined(base: str, relative: str) -> str:
    """urljoin for every hierarchical scheme, not only those that Python knows."""
    scheme, _, rest = base.partition(":")
    joined = urljoin(f"http:{rest}", relative)
    return scheme + joined.removeprefix("http") if joined.startswith("http:") else joined
