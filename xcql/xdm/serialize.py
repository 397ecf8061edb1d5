"""Trees as text: the W3C xml output method, and a canonical form for comparing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from xcql.xdm.names import XML_NAMESPACE, QName
from xcql.xdm.nodes import (
    AttributeNode,
    CommentNode,
    DocumentNode,
    ElementNode,
    NamespaceNode,
    Node,
    ProcessingInstructionNode,
    TextNode,
)

# Besides markup, characters that a parser would change or reject must be references.
_TEXT_SPECIALS = re.compile(r"[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028]")
_ATTRIBUTE_SPECIALS = re.compile(r'[&<>"\t\n\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028]')
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def escape_text(value: str) -> str:
    """Text, escaped for use between tags.

    >>> escape_text("Ann & Co")
    'Ann &amp; Co'
    """
    return _TEXT_SPECIALS.sub(_reference, value)


def escape_attribute(value: str) -> str:
    """Text, escaped for use in a double-quoted attribute value."""
    return _ATTRIBUTE_SPECIALS.sub(_reference, value)


def serialize(node: Node) -> str:
    """One node by itself, with the xml output method, without an XML declaration.

    A lone attribute is written as `name="value"`, a document as its content.
    """
    return "".join(_written(node, _xml_start_tag))


def canonical(node: Node) -> str:
    """A text that is equal for trees that differ only in how they were written.

    Attributes are sorted; a namespace is declared where a name first uses it, and only there.
    Prefixes, comments and processing instructions are kept.

    >>> from xcql.xdm.parse import parse_xml
    >>> canonical(parse_xml("<a y='1'   x='2' xmlns:p='urn:p'/>"))
    '<a x="2" y="1"></a>'
    """
    return "".join(_written(node, _canonical_start_tag))


# writes a start tag in a scope, and returns the scope of its content and the end tag
_StartTag = Callable[
    [ElementNode, Mapping[str, str], bool], tuple[str, Mapping[str, str], str | None]
]


def _written(node: Node, start_tag: _StartTag) -> Iterator[str]:
    scope: Mapping[str, str] = {"xml": XML_NAMESPACE}
    scopes: list[Mapping[str, str]] = []
    pending: list[Node | str] = [node]
    while pending:
        here = pending.pop()
        if isinstance(here, str):
            yield here
            scope = scopes.pop()
        elif isinstance(here, ElementNode):
            text, inner, end = start_tag(here, scope, here is node)
            yield text
            if end is not None:
                scopes.append(scope)
                scope = inner
                pending.append(end)
                pending += reversed(here.children)
        elif isinstance(here, TextNode):
            yield escape_text(here.value)
        elif isinstance(here, CommentNode):
            yield f"<!--{here.value}-->"
        elif isinstance(here, ProcessingInstructionNode):
            yield f"<?{here.target} {here.value}?>" if here.value else f"<?{here.target}?>"
        elif isinstance(here, DocumentNode):
            pending += reversed(here.children)
        elif isinstance(here, AttributeNode):
            yield f'{here.name}="{escape_attribute(here.value)}"'
        elif isinstance(here, NamespaceNode):
            yield _declaration(here.prefix, here.uri).lstrip()


def _xml_start_tag(
    element: ElementNode, scope: Mapping[str, str], is_top: bool
) -> tuple[str, Mapping[str, str], str | None]:
    declared = element.namespaces() if is_top else element.declarations
    changed = {
        prefix: uri
        for prefix, uri in declared.items()
        # XML 1.0 can undeclare only the default namespace
        if scope.get(prefix, "") != uri and (uri or not prefix)
    }
    inner = {**scope, **changed} if changed else scope
    parts = [f"<{element.name}"]
    # sorted, so that the same namespaces look the same wherever they were declared
    parts += [_declaration(prefix, uri) for prefix, uri in sorted(changed.items())]
    parts += [f' {at.name}="{escape_attribute(at.value)}"' for at in element.attributes]
    if not element.children:
        return "".join([*parts, "/>"]), inner, None
    return "".join([*parts, ">"]), inner, f"</{element.name}>"


def _canonical_start_tag(
    element: ElementNode, scope: Mapping[str, str], is_top: bool
) -> tuple[str, Mapping[str, str], str | None]:
    used: list[QName] = [element.name, *(at.name for at in element.attributes if at.name.prefix)]
    changed = {name.prefix: name.uri for name in used if scope.get(name.prefix, "") != name.uri}
    inner = {**scope, **changed} if changed else scope
    attributes = sorted(element.attributes, key=lambda at: (at.name.uri, at.name.local))
    parts = [f"<{element.name}"]
    parts += [_declaration(prefix, uri) for prefix, uri in sorted(changed.items())]
    parts += [f' {at.name}="{escape_attribute(at.value)}"' for at in attributes]
    return "".join([*parts, ">"]), inner, f"</{element.name}>"


def _declaration(prefix: str, uri: str) -> str:
    return f' xmlns{":" if prefix else ""}{prefix}="{escape_attribute(uri)}"'


def _reference(match: re.Match[str]) -> str:
    character = match[0]
    return _ESCAPES.get(character) or f"&#x{ord(character):X};"
