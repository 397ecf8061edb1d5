"""The context of an expression: static context, dynamic context and focus."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from xcql.diagnostics import XcqlError, error
from xcql.evaluate.collations import CODEPOINT, Collation
from xcql.source import Span
from xcql.xdm.names import XML_NAMESPACE, QName
from xcql.xdm.nodes import DocumentNode

FN = "http://www.w3.org/2005/xpath-functions"
XS = "http://www.w3.org/2001/XMLSchema"
ERR = "http://www.w3.org/2005/xqt-errors"
LOCAL = "http://www.w3.org/2005/xquery-local-functions"

PREDECLARED: Mapping[str, str] = MappingProxyType(
    {
        "xml": XML_NAMESPACE,
        "xs": XS,
        "xsi": "http://www.w3.org/2001/XMLSchema-instance",
        "fn": FN,
        "math": f"{FN}/math",
        "map": f"{FN}/map",
        "array": f"{FN}/array",
        "err": ERR,
        "local": LOCAL,
    }
)


@dataclass(frozen=True, slots=True)
class StaticContext:
    """What is known before an expression runs, from the prolog and enclosing constructors.

    `namespaces` maps prefixes to URIs, without the default element namespace. Decimal formats map
    a name (None for the default format) to the properties that were declared for it.
    """

    namespaces: Mapping[str, str] = field(default_factory=lambda: PREDECLARED)
    default_element_namespace: str = ""
    default_function_namespace: str = FN
    default_collation: Collation = CODEPOINT
    base_uri: str | None = None
    empty_order: Literal["least", "greatest"] = "least"
    preserve_namespaces: bool = True
    inherit_namespaces: bool = True
    decimal_formats: Mapping[QName | None, Mapping[str, str]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def with_namespaces(self, declared: Mapping[str, str]) -> StaticContext:
        """The context inside an element constructor with these `xmlns` attributes."""
        namespaces = {**self.namespaces, **declared}
        default = namespaces.pop("", self.default_element_namespace)
        namespaces = {prefix: uri for prefix, uri in namespaces.items() if uri}
        return replace(self, namespaces=namespaces, default_element_namespace=default)


@dataclass(slots=True)
class QueryEvaluation:
    """The fixed part of one evaluation of a query.

    `now` is an aware datetime in UTC. `documents` keeps what `fn:doc` has read, so that the
    same URI returns the same node. `depth` counts the active calls of user functions.
    """

    now: datetime.datetime
    streams: Mapping[str, Callable[[], DocumentNode]] = field(default_factory=dict)
    variables: Mapping[QName, Any] = field(default_factory=dict)
    documents: dict[str, DocumentNode] = field(default_factory=dict)
    globals: dict[QName, Iterable[Any]] = field(default_factory=dict)
    lookup_function: Callable[[QName, int, Context], Any] | None = None
    depth: int = 0
    # the contexts of the prolog's and body's expressions, and of function bodies (no focus)
    initial: Context = field(init=False)
    focusless: Context = field(init=False)

    def __post_init__(self) -> None:
        self.initial = self.focusless = Context(self)


class Context:
    """The dynamic context of an expression: the focus, and the evaluation it is part of.

    `item` is None where there is no context item. `size` is None where it was not computed
    because nothing uses `last()`.
    """

    __slots__ = ("evaluation", "item", "position", "size")

    def __init__(
        self, evaluation: QueryEvaluation, item: Any = None, position: int = 0, size: int | None = 0
    ) -> None:
        self.evaluation = evaluation
        self.item = item
        self.position = position
        self.size = size

    @property
    def now(self) -> datetime.datetime:
        """The instant of evaluation, as an aware datetime in UTC."""
        return self.evaluation.now


def no_context_item(span: Span | None = None) -> XcqlError:
    return error(
        "XPDY0002",
        "there is no context item here",
        span,
        hints=["give a document to query, or start the expression with stream(…) or doc(…)"],
    )
