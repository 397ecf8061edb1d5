"""Building blocks of plans: hidden names, downward paths from a root, reasons for recomputation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xcql.diagnostics import Diagnostic, warning
from xcql.source import Span
from xcql.syntax.functions import FunctionCall, NamedFunctionRef
from xcql.syntax.literals import VariableRef
from xcql.syntax.node import Expr, Name, SyntaxNode, walk
from xcql.syntax.operators import Arrow

_URI = "urn:xcql:continuous"

# the variables for the nodes of a unit, and for each of them
NODES = "nodes"
NODE = "node"


class NeedsWhole(Exception):
    """The answer cannot be maintained by units and must be computed as a whole."""

    def __init__(self, reason: str, span: Span | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span

    def diagnostic(self) -> Diagnostic:
        return warning("XCQL0610", self.reason, self.span)


@dataclass(frozen=True, slots=True)
class Access:
    """A downward path from a stream's root whose results are split into units.

    `head` is the path as written in the query, up to the first projection; `each` is the rest,
    applied to each of the nodes found, which is in the variable `NODE`. `units` are the tags of the
    fillers that form the units; `above` are the tags of the fillers above them.
    """

    stream: str
    head: Expr
    each: Expr
    units: frozenset[str]
    above: frozenset[str]


def hidden(local: str, span: Span) -> Name:
    """A variable name that no query can contain by accident."""
    return Name(local, uri=_URI, span=span)


def hidden_ref(local: str, span: Span) -> VariableRef:
    return VariableRef(hidden(local, span), span=span)


def is_hidden(name: Name) -> bool:
    return name.uri == _URI


def is_stream_call(node: SyntaxNode) -> bool:
    return isinstance(node, FunctionCall) and node.name.local == "stream"


def stream_calls(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """The places where an expression reads streams, directly or in a way that hides it."""
    for part in walk(node):
        match part:
            case (
                FunctionCall(name=name)
                | NamedFunctionRef(name=name)
                | Arrow(function=Name() as name)
            ):
                if name.local in ("stream", "function-lookup"):
                    yield part
