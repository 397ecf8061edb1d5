"""What XCQL adds to XQuery: time."""

from __future__ import annotations

from xcql.syntax.node import Expr, SyntaxNode, node

ALLEN_RELATIONS = (
    "before",
    "after",
    "meets",
    "met-by",
    "overlaps",
    "overlapped-by",
    "starts",
    "started-by",
    "during",
    "contains",
    "finishes",
    "finished-by",
    "equals",
)


@node
class DateLiteral(Expr):
    """`2003-11-01` inside `?[ ]`; as a bound, its midnight"""

    text: str


@node
class DateTimeLiteral(Expr):
    """`2003-10-23T12:23:34` inside `?[ ]`, with or without fraction and zone"""

    text: str


@node
class DurationLiteral(Expr):
    """`PT1M`, `P1Y2M`, `P3DT4H` inside `?[ ]`"""

    text: str


@node
class Now(Expr):
    """`now` in an interval: the instant of evaluation"""


@node
class Start(Expr):
    """`start` in an interval: the beginning of time"""


@node
class LastVersion(Expr):
    """`last` in a version interval: the number of items in the value that is projected"""


@node
class TimeInterval(SyntaxNode):
    """`[begin, end]`, or `[begin]` for one instant (then `end` is None)"""

    begin: Expr
    end: Expr | None = None


@node
class IntervalProjection(Expr):
    """`base?[begin, end]`"""

    base: Expr
    interval: TimeInterval


@node
class VersionProjection(Expr):
    """`base#[first, last]`, or `base#[first]` (then `last` is None)"""

    base: Expr
    first: Expr
    last: Expr | None = None


@node
class AllenComparison(Expr):
    """`left relation right`; an operand is an expression (its lifespan) or a `TimeInterval`."""

    relation: str
    left: SyntaxNode
    right: SyntaxNode
