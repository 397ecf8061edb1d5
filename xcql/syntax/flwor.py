"""FLWOR expressions and their clauses."""

from __future__ import annotations

from typing import Literal

from xcql.syntax.node import Expr, Name, SyntaxNode, node
from xcql.syntax.types import SequenceType


@node
class Flwor(Expr):
    """Clauses, then `return result`."""

    clauses: tuple[Clause, ...]
    result: Expr


class Clause(SyntaxNode):
    """One clause of a FLWOR expression."""

    __slots__ = ()


@node
class For(Clause):
    """`for $variable as type allowing empty at $position in source`"""

    variable: Name
    source: Expr
    type: SequenceType | None = None
    allowing_empty: bool = False
    position: Name | None = None


@node
class Let(Clause):
    """`let $variable as type := source`"""

    variable: Name
    source: Expr
    type: SequenceType | None = None


@node
class WindowCondition(SyntaxNode):
    """`$item at $position previous $previous next $next when condition`"""

    condition: Expr
    item: Name | None = None
    position: Name | None = None
    previous: Name | None = None
    next: Name | None = None


@node
class Window(Clause):
    """`for tumbling|sliding window $variable as type in source start ... end ...`"""

    kind: Literal["tumbling", "sliding"]
    variable: Name
    source: Expr
    start: WindowCondition
    end: WindowCondition | None = None
    only_end: bool = False
    type: SequenceType | None = None


@node
class Where(Clause):
    condition: Expr


@node
class Count(Clause):
    variable: Name


@node
class GroupingKey(SyntaxNode):
    """`$variable as type := source collation "uri"`"""

    variable: Name
    source: Expr | None = None
    type: SequenceType | None = None
    collation: str | None = None


@node
class GroupBy(Clause):
    keys: tuple[GroupingKey, ...]


@node
class OrderKey(SyntaxNode):
    """`key ascending|descending empty greatest|least collation "uri"`"""

    key: Expr
    descending: bool = False
    empty: Literal["greatest", "least"] | None = None
    collation: str | None = None


@node
class OrderBy(Clause):
    keys: tuple[OrderKey, ...]
    stable: bool = False
