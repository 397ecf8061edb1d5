"""Writes constructors of nodes, maps, arrays and strings.

No white space is added to the content of a direct element: it would be part of the answer.
"""

from __future__ import annotations

from typing import Any

from xcql.syntax.construct import (
    ComputedAttribute,
    ComputedComment,
    ComputedDocument,
    ComputedElement,
    ComputedNamespace,
    ComputedProcessingInstruction,
    ComputedText,
    CurlyArray,
    DirectAttribute,
    DirectComment,
    DirectElement,
    DirectProcessingInstruction,
    Enclosed,
    MapConstructor,
    MapEntry,
    NamespaceDeclaration,
    SquareArray,
    StringConstructor,
    Text,
)
from xcql.syntax.emitter import Emitter, emits
from xcql.syntax.layout import LINE, Doc, Group, Indent, join, render
from xcql.syntax.node import Expr, Name, SyntaxNode

_CONTENT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", "{": "{{", "}": "}}", "\r": "&#xD;"})
_VALUE_ESCAPES = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        "{": "{{",
        "}": "}}",
        '"': "&quot;",
        "\r": "&#xD;",
        "\n": "&#xA;",
        "\t": "&#x9;",
    }
)


@emits(DirectElement)
def _element(e: Emitter, node: DirectElement) -> Doc:
    inside: list[Doc] = [[LINE, e.doc(declaration)] for declaration in node.namespaces]
    inside += [[LINE, e.doc(attribute)] for attribute in node.attributes]
    start = Group([f"<{node.name}", Indent(inside)])
    if not node.content:
        return [start, "/>"]
    content = [_content(e, part) for part in node.content]
    return [start, ">", Indent(content), f"</{node.name}>"]


def _content(e: Emitter, part: SyntaxNode) -> Doc:
    if not isinstance(part, Text):
        return e.doc(part)
    if not part.value.strip(" \t\n\r"):
        # white space alone between tags would be dropped if written as characters
        return f"&#x{ord(part.value[0]):X};" + part.value[1:].translate(_CONTENT_ESCAPES)
    return part.value.translate(_CONTENT_ESCAPES)


@emits(NamespaceDeclaration)
def _namespace(e: Emitter, node: NamespaceDeclaration) -> Doc:
    name = f"xmlns:{node.prefix}" if node.prefix else "xmlns"
    return f'{name}="{node.uri.translate(_VALUE_ESCAPES)}"'


@emits(DirectAttribute)
def _attribute(e: Emitter, node: DirectAttribute) -> Doc:
    parts: list[Doc] = [
        part.value.translate(_VALUE_ESCAPES) if isinstance(part, Text) else e.doc(part)
        for part in node.parts
    ]
    return [f'{node.name}="', *parts, '"']


@emits(Enclosed)
def _enclosed(e: Emitter, node: Enclosed) -> Doc:
    return e.enclosed(node.body)


@emits(DirectComment)
def _comment(e: Emitter, node: DirectComment) -> Doc:
    return f"<!--{node.value}-->"


@emits(DirectProcessingInstruction)
def _processing_instruction(e: Emitter, node: DirectProcessingInstruction) -> Doc:
    return f"<?{node.target} {node.value}?>" if node.value else f"<?{node.target}?>"


@emits(ComputedElement)
def _computed_element(e: Emitter, node: ComputedElement) -> Doc:
    return _computed(e, "element", node.name, node.content)


@emits(ComputedAttribute)
def _computed_attribute(e: Emitter, node: ComputedAttribute) -> Doc:
    return _computed(e, "attribute", node.name, node.content)


@emits(ComputedProcessingInstruction)
def _computed_pi(e: Emitter, node: ComputedProcessingInstruction) -> Doc:
    return _computed(e, "processing-instruction", node.target, node.content)


@emits(ComputedNamespace)
def _computed_namespace(e: Emitter, node: ComputedNamespace) -> Doc:
    return _computed(e, "namespace", node.prefix, node.content)


def _computed(e: Emitter, keyword: str, name: Name | Expr, content: Expr) -> Doc:
    written: Doc = str(name)
    if isinstance(name, Expr):
        # on one line if the tag alone fits, however long the content is
        written = e.braced(name)
        text = render(written)
        written = text if "\n" not in text else written
    return [keyword, " ", written, " ", e.enclosed(content)]


@emits(ComputedDocument)
def _computed_document(e: Emitter, node: ComputedDocument) -> Doc:
    return ["document ", e.enclosed(node.content)]


@emits(ComputedText)
def _computed_text(e: Emitter, node: ComputedText) -> Doc:
    return ["text ", e.enclosed(node.content)]


@emits(ComputedComment)
def _computed_comment(e: Emitter, node: ComputedComment) -> Doc:
    return ["comment ", e.enclosed(node.content)]


@emits(MapConstructor)
def _map(e: Emitter, node: MapConstructor) -> Doc:
    if not node.entries:
        return "map {}"
    entries = join([",", LINE], [e.doc(entry) for entry in node.entries])
    return Group(["map {", Indent([LINE, entries]), LINE, "}"])


@emits(MapEntry)
def _map_entry(e: Emitter, node: MapEntry) -> Doc:
    return [e.single(node.key), " : ", e.single(node.value)]


@emits(SquareArray)
def _square_array(e: Emitter, node: SquareArray) -> Doc:
    return e.listed("[", node.members, "]")


@emits(CurlyArray)
def _curly_array(e: Emitter, node: CurlyArray) -> Doc:
    return ["array ", e.enclosed(node.content)]


@emits(StringConstructor)
def _string_constructor(e: Emitter, node: StringConstructor) -> Doc:
    return ["``[", *[_template_part(e, part) for part in node.parts], "]``"]


def _template_part(e: Emitter, part: Any) -> Doc:
    if isinstance(part, Text):
        return part.value
    return ["`", e.enclosed(part.body), "`"]


@emits(Text)
def _text(e: Emitter, node: Text) -> Doc:
    return node.value
