"""Modules and the declarations of their prologs."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from xcql.diagnostics import Diagnostic
from xcql.syntax.functions import Annotation, Parameter
from xcql.syntax.node import Expr, Name, SyntaxNode, node
from xcql.syntax.types import SequenceType


@node
class MainModule(SyntaxNode):
    """A query: declarations, then the expression that computes the answer.

    `warnings` lists spellings that work but have a standard form.
    """

    declarations: tuple[Declaration, ...]
    body: Expr
    version: str | None = None
    encoding: str | None = None
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, kw_only=True)


@node
class LibraryModule(SyntaxNode):
    """Declarations under a namespace, without an answer."""

    prefix: str
    uri: str
    declarations: tuple[Declaration, ...]
    version: str | None = None
    encoding: str | None = None
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, kw_only=True)


Module = MainModule | LibraryModule


class Declaration(SyntaxNode):
    """Anything that ends with `;` in a prolog."""

    __slots__ = ()


@node
class NamespaceDecl(Declaration):
    """`declare namespace prefix = "uri"`"""

    prefix: str
    uri: str


@node
class DefaultNamespaceDecl(Declaration):
    """`declare default element|function namespace "uri"`"""

    kind: Literal["element", "function"]
    uri: str


@node
class Setter(Declaration):
    """A setting in the prolog: its keyword, and its value as written:

    `boundary-space` (preserve, strip), `construction` (strip, preserve), `ordering` (ordered,
    unordered), `default order empty` (greatest, least), `copy-namespaces` (preserve,inherit and
    the like), `base-uri` and `default collation` (a URI).
    """

    keyword: str
    value: str


@node
class DecimalFormatDecl(Declaration):
    """`declare decimal-format name property = "value" ...`; without a name, the default one"""

    name: Name | None
    properties: tuple[tuple[str, str], ...]


@node
class SchemaImport(Declaration):
    """Parsed, but not supported. `prefix` is ``""`` for `default element namespace`."""

    uri: str
    prefix: str | None = None
    locations: tuple[str, ...] = ()


@node
class ModuleImport(Declaration):
    """Parsed, but not supported."""

    uri: str
    prefix: str | None = None
    locations: tuple[str, ...] = ()


@node
class ContextItemDecl(Declaration):
    """`declare context item as type := value`, or `external := value`"""

    type: SequenceType | None
    value: Expr | None
    external: bool = False


@node
class VariableDecl(Declaration):
    """`declare variable $name as type := value`, or `external := value`"""

    annotations: tuple[Annotation, ...]
    name: Name
    type: SequenceType | None
    value: Expr | None
    external: bool = False


@node
class FunctionDecl(Declaration):
    """`declare function name(parameters) as type { body }`; no body if external"""

    annotations: tuple[Annotation, ...]
    name: Name
    parameters: tuple[Parameter, ...]
    result_type: SequenceType | None
    body: Expr | None


@node
class OptionDecl(Declaration):
    """`declare option name "value"`"""

    name: Name
    value: str
