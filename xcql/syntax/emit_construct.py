"""Writes constructors of nodes, maps, arrays and strings.

No white space is added to the content of a direct element: it would be part of the answer.
"""

from __future__ import annotations

from typing import Any

from xcql.syntax import construct
from xcql.syntax.emitter import Emitter, emits, emits_text
from xcql.syntax.layout import LINE, Doc, Group, Indent, join, render
from xcql.syntax.node import Expr, Name, SyntaxNode

_CONTENT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", "{": "{{", "}": "}}", "\r": "&#xD;"})
_VALUE_ESCAPES = _CONTENT_ESCAPES | str.maketrans({'"': "&quot;", "\n": "&#xA;", "\t": "&#x9;"})
_KEYWORDS = {
    construct.ComputedDocument: "document ",
    construct.ComputedText: "text ",
    construct.ComputedComment: "comment ",
    construct.CurlyArray: "array ",
}

emits_text(construct.Text, "{node.value}")
emits_text(construct.DirectComment, "<!--{node.value}-->")


@emits(construct.DirectElement)
def _element(e: Emitter, node: construct.DirectElement) -> Doc:
    inside: list[Doc] = [[LINE, e.doc(declaration)] for declaration in node.namespaces]
    inside += [[LINE, e.doc(attribute)] for attribute in node.attributes]
    start = Group([f"<{node.name}", Indent(inside)])
    if not node.content:
        return [start, "/>"]
    content = [_content(e, part) for part in node.content]
    return [start, ">", Indent(content), f"</{node.name}>"]


def _content(e: Emitter, part: SyntaxNode) -> Doc:
    if not isinstance(part, construct.Text):
        return e.doc(part)
    if not part.value.strip(" \t\n\r"):
        # white space alone between tags would be dropped if written as characters
        return f"&#x{ord(part.value[0]):X};" + part.value[1:].translate(_CONTENT_ESCAPES)
    return part.value.translate(_CONTENT_ESCAPES)


@emits(construct.NamespaceDeclaration)
def _namespace(e: Emitter, node: construct.NamespaceDeclaration) -> Doc:
    name = f"xmlns:{node.prefix}" if node.prefix else "xmlns"
    return f'{name}="{node.uri.translate(_VALUE_ESCAPES)}"'


@emits(construct.DirectAttribute)
def _attribute(e: Emitter, node: construct.DirectAttribute) -> Doc:
    parts: list[Doc] = [
        part.value.translate(_VALUE_ESCAPES) if isinstance(part, construct.Text) else e.doc(part)
        for part in node.parts
    ]
    return [f'{node.name}="', *parts, '"']


@emits(construct.Enclosed)
def _enclosed(e: Emitter, node: construct.Enclosed) -> Doc:
    return e.enclosed(node.body)


@emits(construct.DirectProcessingInstruction)
def _processing_instruction(e: Emitter, node: construct.DirectProcessingInstruction) -> Doc:
    return f"<?{node.target} {node.value}?>" if node.value else f"<?{node.target}?>"


@emits(construct.ComputedElement)
def _computed_element(e: Emitter, node: construct.ComputedElement) -> Doc:
    return _computed(e, "element", node.name, node.content)


@emits(construct.ComputedAttribute)
def _computed_attribute(e: Emitter, node: construct.ComputedAttribute) -> Doc:
    return _computed(e, "attribute", node.name, node.content)


@emits(construct.ComputedProcessingInstruction)
def _computed_pi(e: Emitter, node: construct.ComputedProcessingInstruction) -> Doc:
    return _computed(e, "processing-instruction", node.target, node.content)


@emits(construct.ComputedNamespace)
def _computed_namespace(e: Emitter, node: construct.ComputedNamespace) -> Doc:
    return _computed(e, "namespace", node.prefix, node.content)


def _computed(e: Emitter, keyword: str, name: Name | Expr, content: Expr) -> Doc:
    written: Doc = str(name)
    if isinstance(name, Expr):
        # on one line if the tag alone fits, however long the content is
        written = e.braced(name)
        text = render(written)
        written = text if "\n" not in text else written
    return [keyword, " ", written, " ", e.enclosed(content)]


@emits(*_KEYWORDS)
def _keyword_and_content(e: Emitter, node: Any) -> Doc:
    return [_KEYWORDS[type(node)], e.enclosed(node.content)]


@emits(construct.MapConstructor)
def _map(e: Emitter, node: construct.MapConstructor) -> Doc:
    if not node.entries:
        return "map {}"
    entries = join([",", LINE], [e.doc(entry) for entry in node.entries])
    return Group(["map {", Indent([LINE, entries]), LINE, "}"])


@emits(construct.MapEntry)
def _map_entry(e: Emitter, node: construct.MapEntry) -> Doc:
    return [e.single(node.key), " : ", e.single(node.value)]


@emits(construct.SquareArray)
def _square_array(e: Emitter, node: construct.SquareArray) -> Doc:
    return e.listed("[", node.members, "]")


@emits(construct.StringConstructor)
def _string_constructor(e: Emitter, node: construct.StringConstructor) -> Doc:
    return ["``[", *[_template_part(e, part) for part in node.parts], "]``"]


def _template_part(e: Emitter, part: Any) -> Doc:
    if isinstance(part, construct.Text):
        return part.value
    return ["`", e.enclosed(part.body), "`"]
