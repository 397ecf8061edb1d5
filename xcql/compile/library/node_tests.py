"""Node tests, as tests on tags and names."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from xcql.compile.result import NotNative
from xcql.compile.terms.scope import Scope
from xcql.syntax.node import SyntaxNode
from xcql.syntax.path import NameTest, Wildcard
from xcql.syntax.types import AnyKindTest, AttributeTest, TextTest


def is_any_node(test: SyntaxNode) -> bool:
    return isinstance(test, AnyKindTest)


def is_text_test(test: SyntaxNode) -> bool:
    return isinstance(test, TextTest)


@dataclass(frozen=True, slots=True)
class AttributeNames:
    """All expanded names in a namespace, or all with a local part; it contains them like a set."""

    uri: str | None
    local: str | None

    def __contains__(self, name: object) -> bool:
        uri, brace, local = str(name).removeprefix("Q{").rpartition("}")
        if self.local is not None:
            return local == self.local
        return bool(brace) and uri == self.uri


def attribute_test(test: SyntaxNode, scope: Scope) -> Container[str] | None:
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
        case Wildcard(prefix=prefix, uri=uri, local=local):
            return AttributeNames(scope.names.prefixes.get(prefix or "") or uri, local)
    return frozenset()


def attribute_name(name: object, scope: Scope) -> str:
    """The expanded name of an attribute: `local`, or `Q{uri}local`."""
    prefix, uri, local = name.prefix, name.uri, name.local  # type: ignore[attr-defined]
    if uri is None and prefix is not None:
        uri = scope.names.prefixes.get(prefix)
    return f"Q{{{uri}}}{local}" if uri else local
