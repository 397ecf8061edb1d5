"""Node tests, as tests on tags and names."""

from __future__ import annotations

from xcql.compile.result import NotNative
from xcql.compile.terms.scope import Scope
from xcql.syntax.node import SyntaxNode
from xcql.syntax.path import NameTest, Wildcard
from xcql.syntax.types import AnyKindTest, AttributeTest, TextTest


def is_any_node(test: SyntaxNode) -> bool:
    return isinstance(test, AnyKindTest)


def is_text_test(test: SyntaxNode) -> bool:
    return isinstance(test, TextTest)


def attribute_test(test: SyntaxNode, scope: Scope) -> frozenset[str] | None:
    """The expanded names of the attributes that pass; None if all pass."""
    match test:
        case NameTest(name=name):
            return frozenset({attribute_name(name, scope)})
        case AttributeTest(type=type_) if type_ is not None:
            raise NotNative("an attribute of a type", test.span)
        case AttributeTest(name=name) if name is not None:
            return frozenset({attribute_name(name, scope)})
        case AnyKindTest() | AttributeTest() | Wildcard(prefix=None, uri=None, local=None):
            return None
        case Wildcard():
            raise NotNative("attributes of a namespace, or of one local name", test.span)
    return frozenset()


def attribute_name(name: object, scope: Scope) -> str:
    """The expanded name of an attribute: `local`, or `Q{uri}local`."""
    prefix, uri, local = name.prefix, name.uri, name.local  # type: ignore[attr-defined]
    if uri is None and prefix is not None:
        uri = scope.names.prefixes.get(prefix)
    return f"Q{{{uri}}}{local}" if uri else local
