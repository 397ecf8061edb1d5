"""Which streams a query looks at."""

from __future__ import annotations

from xcql.syntax.functions import FunctionCall, NamedFunctionRef
from xcql.syntax.literals import StringLiteral
from xcql.syntax.node import Name, walk
from xcql.syntax.operators import Arrow
from xcql.syntax.prolog import MainModule


def streams_named(module: MainModule) -> frozenset[str] | None:
    """The names of all streams that a query can ask for; None if they could be any.

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
