"""Functions on qualified names."""

from __future__ import annotations

from collections.abc import Iterator

from elementpath import datatypes as ep

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.casting import cast, make_qname, make_uri
from xcql.evaluate.registry import CallContext, function
from xcql.xdm.names import QName
from xcql.xdm.nodes import ElementNode


def qname_of(name: QName) -> ep.QName:
    """A node's name as an atomic value."""
    return make_qname(name.uri, name.prefix, name.local)


@function("fn:resolve-QName(xs:string?, element()) as xs:QName?")
def resolve_qname(call: CallContext, name: str | None, element: ElementNode) -> ep.QName | None:
    if name is None:
        return None
    try:
        value: ep.QName = cast(name, "QName", element.namespaces())
    except XcqlError as problem:
        if problem.code == "FORG0001":
            raise error("FOCA0002", f'"{name}" is not a qualified name') from None
        raise
    return value


@function("fn:QName(xs:string?, xs:string) as xs:QName")
def make(call: CallContext, uri: str | None, name: str) -> ep.QName:
    prefix = name.rpartition(":")[0]
    if prefix and not uri:
        raise error("FOCA0002", f'"{name}" has a prefix, but there is no namespace')
    try:
        value: ep.QName = cast(name, "QName", {prefix: uri or ""})
    except XcqlError:
        raise error("FOCA0002", f'"{name}" is not a qualified name') from None
    return value


@function("fn:prefix-from-QName(xs:QName?) as xs:NCName?")
def prefix_from_qname(call: CallContext, name: ep.QName | None) -> str | None:
    return None if name is None or not name.prefix else _ncname(name.prefix)


@function("fn:local-name-from-QName(xs:QName?) as xs:NCName?")
def local_name_from_qname(call: CallContext, name: ep.QName | None) -> str | None:
    return None if name is None else _ncname(name.local_name)


def _ncname(text: str) -> str:
    return str.__new__(ep.NCName, text)


@function("fn:namespace-uri-from-QName(xs:QName?) as xs:anyURI?")
def namespace_uri_from_qname(call: CallContext, name: ep.QName | None) -> ep.AnyURI | None:
    return None if name is None else make_uri(name.uri or "")


@function("fn:namespace-uri-for-prefix(xs:string?, element()) as xs:anyURI?")
def namespace_uri_for_prefix(
    call: CallContext, prefix: str | None, element: ElementNode
) -> ep.AnyURI | None:
    uri = element.namespaces().get(prefix or "")
    return make_uri(uri) if uri else None


@function("fn:in-scope-prefixes(element()) as xs:string*")
def in_scope_prefixes(call: CallContext, element: ElementNode) -> Iterator[str]:
    return iter(element.namespaces())
