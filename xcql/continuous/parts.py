"""What plans are made of: names that no query has, ways down from a root, reasons for the whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xcql.diagnostics import Diagnostic, warning
from xcql.source import Span
from xcql.syntax.functions import FunctionCall, NamedFunctionRef
from xcql.syntax.literals import VariableRef
from xcql.syntax.node import Expr, Name, Node, walk
from xcql.syntax.operators import Arrow

_URI = "urn:xcql:continuous"

# the variables that the nodes of a unit, and each of them, have
NODES = "nodes"
NODE = "node"


class NeedsWhole(Exception):
    """The answer, or what is kept by units, has to be computed as a whole."""

    def __init__(self, reason: str, span: Span | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span

    def diagnostic(self) -> Diagnostic:
        return warning("XCQL0610", self.reason, self.span)


@dataclass(frozen=True, slots=True)
class Access:
    """A way down from a stream's root, with what it leads to kept apart by units.

    `head` is the path as the query has it, up to the first projection; `each` is what comes after,
    for each of the nodes found, which `NODE` stands for. `units` are the tags of the fillers that
    the units are made for, `above` those of the fillers that stand above them.
    """

    stream: str
    head: Expr
    each: Expr
    units: frozenset[str]
    above: frozenset[str]


def hidden(local: str, span: Span) -> Name:
    """A name of a variable that no query can write by chance."""
    return Name(local, uri=_URI, span=span)


def hidden_ref(local: str, span: Span) -> VariableRef:
    return VariableRef(hidden(local, span), span=span)


def is_hidden(name: Name) -> bool:
    return name.uri == _URI


def is_stream_call(node: Node) -> bool:
    return isinstance(node, FunctionCall) and node.name.local == "stream"


def stream_calls(node: Node) -> Iterator[Node]:
    """Where an expression reads streams, by name or in ways that hide it."""
    for part in walk(node):
        match part:
            case (
                FunctionCall(name=name)
                | NamedFunctionRef(name=name)
                | Arrow(function=Name() as name)
            ):
                if name.local in ("stream", "function-lookup"):
                    yield part
