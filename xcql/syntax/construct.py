"""Constructors of nodes, maps, arrays and strings."""

from __future__ import annotations

from xcql.syntax.node import Expr, Name, SyntaxNode, node


@node
class Enclosed(SyntaxNode):
    """`{ body }` inside a direct constructor or a string constructor."""

    body: Expr


@node
class Text(SyntaxNode):
    """Characters of a direct constructor, with references resolved and boundary space removed."""

    value: str


@node
class DirectAttribute(SyntaxNode):
    """`name="text{ expression }text"`; the parts are `Text` and `Enclosed`."""

    name: Name
    parts: tuple[SyntaxNode, ...]


@node
class NamespaceDeclaration(SyntaxNode):
    """`xmlns:prefix="uri"` in a start tag; the default namespace has the prefix ``""``."""

    prefix: str
    uri: str


@node
class DirectElement(Expr):
    """`<name attributes>content</name>`

    Content consists of `Text`, `Enclosed` and direct constructors.
    """

    name: Name
    namespaces: tuple[NamespaceDeclaration, ...] = ()
    attributes: tuple[DirectAttribute, ...] = ()
    content: tuple[SyntaxNode, ...] = ()


@node
class DirectComment(Expr):
    value: str


@node
class DirectProcessingInstruction(Expr):
    target: str
    value: str = ""


@node
class ComputedElement(Expr):
    """`element name { content }` or `element { name } { content }`"""

    name: Name | Expr
    content: Expr


@node
class ComputedAttribute(Expr):
    name: Name | Expr
    content: Expr


@node
class ComputedProcessingInstruction(Expr):
    """`processing-instruction target { content }`"""

    target: Name | Expr
    content: Expr


@node
class ComputedNamespace(Expr):
    """`namespace prefix { uri }`"""

    prefix: Name | Expr
    content: Expr


@node
class ComputedDocument(Expr):
    content: Expr


@node
class ComputedText(Expr):
    content: Expr


@node
class ComputedComment(Expr):
    content: Expr


@node
class MapEntry(SyntaxNode):
    key: Expr
    value: Expr


@node
class MapConstructor(Expr):
    """`map { key : value, ... }`"""

    entries: tuple[MapEntry, ...]


@node
class SquareArray(Expr):
    """`[ member, ... ]`"""

    members: tuple[Expr, ...]


@node
class CurlyArray(Expr):
    """`array { content }`: a member for each item of the content"""

    content: Expr


@node
class StringConstructor(Expr):
    """A string template: ``` ``[text `{ expression }` text]`` ```"""

    parts: tuple[SyntaxNode, ...]
