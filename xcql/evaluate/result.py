"""The answer of a query, as a Python sequence of items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from elementpath import datatypes as ep

from xcql.diagnostics import Diagnostic, error
from xcql.evaluate.values import kind_of, text_of_item
from xcql.xdm.atomic import string_of, type_of
from xcql.xdm.functions import XdmFunction
from xcql.xdm.nodes import AttributeNode, DocumentNode, ElementNode, Node, descendants
from xcql.xdm.serialize import escape_text, serialize


@dataclass(frozen=True, slots=True)
class ResultItem:
    """One item of an answer; `value` is the node or atomic value itself."""

    value: Any

    @property
    def kind(self) -> str:
        """`atomic`, `element`, `document`, `text`, `attribute`, `comment`, `pi`, `namespace` or
        `function`."""
        if isinstance(self.value, Node):
            return "pi" if self.value.kind == "processing-instruction" else self.value.kind
        return "function" if isinstance(self.value, XdmFunction) else "atomic"

    @property
    def xml(self) -> str:
        """The item by itself, in the W3C's xml output method; atomic values and text escaped."""
        if isinstance(self.value, Node):
            return serialize(self.value)
        if isinstance(self.value, XdmFunction):
            raise error("SENR0001", f"{kind_of(self.value)} cannot be written as XML")
        return escape_text(string_of(self.value))

    @property
    def string(self) -> str:
        """The string value."""
        return "" if isinstance(self.value, XdmFunction) else text_of_item(self.value)

    def __str__(self) -> str:
        return self.xml


# the kind of an element in which an element is without a namespace of those around it
NOT_INHERITED = "element Q{}"


def carried_kind(item: Any) -> str:
    """The kind of an item for whoever has its text only, with the namespace of its name.

    >>> import xcql
    >>> [carried_kind(one) for one in xcql.evaluate("1, <a/>, attribute xml:id { 'a' }").values]
    ['xs:integer', 'element', 'attribute Q{http://www.w3.org/XML/1998/namespace}']
    """
    match item:
        case AttributeNode(name=name) if name.uri:
            return f"attribute Q{{{name.uri}}}"
        case ElementNode() | DocumentNode() if any(map(_undeclares, descendants(item))):
            return NOT_INHERITED
        case Node(kind=kind):
            return kind
        case ep.AbstractQName():
            return f"{type_of(item)} Q{{{item.uri or ''}}}"
    return "function" if isinstance(item, XdmFunction) else str(type_of(item))


def _undeclares(node: Node) -> bool:
    """Whether a namespace is not in scope here, but it is around; XML cannot say this."""
    return isinstance(node, ElementNode) and any(
        prefix and not uri for prefix, uri in node.declarations.items()
    )


class Result(Sequence[ResultItem]):
    """The items of an answer, in order; `warnings` lists problems in the query and the data.

    >>> import xcql
    >>> answer = xcql.evaluate("1 to 3, <a>x</a>")
    >>> len(answer), answer[3].kind, answer[3].string
    (4, 'element', 'x')
    >>> print(answer.serialize())
    1
    2
    3
    <a>x</a>
    """

    def __init__(self, values: Sequence[Any], warnings: Sequence[Diagnostic] = ()) -> None:
        self._values = values
        self.warnings = tuple(warnings)

    @property
    def values(self) -> list[Any]:
        """The nodes and atomic values themselves."""
        return list(self._values)

    def serialize(self, separator: str = "\n") -> str:
        """The items as XML text, one per line."""
        return separator.join(item.xml for item in self)

    @overload
    def __getitem__(self, index: int) -> ResultItem: ...
    @overload
    def __getitem__(self, index: slice) -> Result: ...
    def __getitem__(self, index: int | slice) -> ResultItem | Result:
        if isinstance(index, slice):
            return Result(self._values[index], self.warnings)
        return ResultItem(self._values[index])

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[ResultItem]:
        return (ResultItem(value) for value in self._values)

    def __repr__(self) -> str:
        shown = ", ".join(item.string if item.kind == "function" else item.xml for item in self[:5])
        more = ", …" if len(self) > 5 else ""
        return f"<Result of {len(self)}: {shown}{more}>"
