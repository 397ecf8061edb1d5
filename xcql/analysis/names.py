"""The names of a query: their meaning, the streams it names, and how it can name a tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from xcql.model.tags import Tag
from xcql.source import Span
from xcql.syntax.construct import NamespaceDeclaration
from xcql.syntax.functions import FunctionCall, NamedFunctionRef
from xcql.syntax.literals import StringLiteral
from xcql.syntax.node import Name, SyntaxNode, walk
from xcql.syntax.operators import Arrow
from xcql.syntax.path import NameTest, Wildcard
from xcql.syntax.prolog import (
    Declaration,
    DefaultNamespaceDecl,
    FunctionDecl,
    MainModule,
    NamespaceDecl,
)
from xcql.syntax.types import AnyKindTest, ElementTest
from xcql.xdm.names import XML_NAMESPACE

FUNCTIONS = "http://www.w3.org/2005/xpath-functions"
LOCAL = "http://www.w3.org/2005/xquery-local-functions"
_PREDECLARED = {
    "xml": XML_NAMESPACE,
    "xs": "http://www.w3.org/2001/XMLSchema",
    "fn": FUNCTIONS,
    "map": f"{FUNCTIONS}/map",
    "array": f"{FUNCTIONS}/array",
    "math": f"{FUNCTIONS}/math",
    "err": "http://www.w3.org/2005/xqt-errors",
    "local": LOCAL,
}


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The statically known namespaces at one place of a query."""

    prefixes: Mapping[str, str]
    element: str = ""
    function: str = FUNCTIONS

    @staticmethod
    def of(declarations: Iterable[Declaration]) -> Namespaces:
        """The namespaces that a prolog declares."""
        prefixes = dict(_PREDECLARED)
        element, function = "", FUNCTIONS
        for declaration in declarations:
            if isinstance(declaration, NamespaceDecl):
                prefixes[declaration.prefix] = declaration.uri
            elif isinstance(declaration, DefaultNamespaceDecl):
                if declaration.kind == "element":
                    element = declaration.uri
                else:
                    function = declaration.uri
        return Namespaces(prefixes, element, function)

    def within(self, declarations: Iterable[NamespaceDeclaration]) -> Namespaces:
        """The namespaces inside an element constructor that declares its own."""
        known = {declaration.prefix: declaration.uri for declaration in declarations}
        if not known:
            return self
        element = known.pop("", self.element)
        return replace(self, prefixes={**self.prefixes, **known}, element=element)

    def element_name(self, name: Name) -> tuple[str | None, str]:
        """Namespace and local part of an element's name; None for an undeclared prefix."""
        return self._expanded(name, self.element)

    def function_name(self, name: Name) -> tuple[str | None, str]:
        return self._expanded(name, self.function)

    def _expanded(self, name: Name, default: str | None) -> tuple[str | None, str]:
        if name.uri is not None:
            return name.uri, name.local
        return self.prefixes.get(name.prefix) if name.prefix is not None else default, name.local

    def element_test(self, test: SyntaxNode) -> Callable[[Tag], bool] | None:
        """A function that tests whether elements of a tag pass; None if no element can pass."""
        match test:
            case NameTest(name=name) | ElementTest(name=Name() as name):
                uri, local = self.element_name(name)
                return lambda tag: tag.name.uri == uri and tag.name.local == local
            case Wildcard(local=str(local)):
                return lambda tag: tag.name.local == local
            case Wildcard(uri=str(uri)):
                return lambda tag: tag.name.uri == uri
            case Wildcard(prefix=str(prefix)):
                of_prefix = self.prefixes.get(prefix)
                return lambda tag: tag.name.uri == of_prefix
            case Wildcard() | ElementTest() | AnyKindTest():
                return lambda tag: True
        return None

    def name_of(self, tag: Tag, span: Span) -> Name:
        """A tag's name as the query can write it."""
        uri, local = tag.name.uri, tag.name.local
        if uri == self.element:
            return Name(local, span=span)
        for prefix, known in self.prefixes.items():
            if known == uri:
                return Name(local, prefix=prefix, span=span)
        return Name(local, uri=uri, span=span)


@dataclass(frozen=True, slots=True)
class PrologNames:
    """What a prolog declares: namespaces, and functions by namespace, local name and arity.

    The namespace of a function is "" if its prefix is not declared.
    """

    namespaces: Namespaces
    functions: Mapping[tuple[str, str, int], FunctionDecl]

    @staticmethod
    def of(declarations: Iterable[Declaration]) -> PrologNames:
        declared = tuple(declarations)
        namespaces = Namespaces.of(declared)
        functions = {}
        for one in declared:
            if isinstance(one, FunctionDecl):
                uri, local = namespaces.function_name(one.name)
                functions[uri or "", local, len(one.parameters)] = one
        return PrologNames(namespaces, functions)


def streams_named(module: MainModule) -> frozenset[str] | None:
    """The names of all streams that a query can use; None if it could be any stream.

    >>> import xcql
    >>> sorted(streams_named(xcql.parse('stream("a")//x = stream("b")//y')))
    ['a', 'b']
    >>> streams_named(xcql.parse('for $s in ("a", "b") return stream($s)')) is None
    True
    """
    names: set[str] = set()
    for node in walk(module):
        match node:
            case FunctionCall(name=Name(local="stream"), arguments=(StringLiteral(value=name),)):
                names.add(name)
            case (
                FunctionCall(name=Name(local="stream" | "function-lookup"))
                | NamedFunctionRef(name=Name(local="stream" | "function-lookup"))
                | Arrow(function=Name(local="stream" | "function-lookup"))
            ):
                return None
    return frozenset(names)
