"""Literals that a plan does not depend on: a query with others in their place has the same plan.

    stream("auction")//person[@id = "person0"]      stream("auction")//person[@id = "person12"]

A literal that is compared with data is `Given` in the plan, so that nothing can look at its value,
and a slot in the SQL text. The literals themselves are written into these slots: DuckDB plans a
prepared statement each time that it runs, so parameters would save no more than its parser.

Tests: tests/compile/test_literals.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf
from typing import TypeGuard

from xcql.algebra.operators import Plan, with_scalars
from xcql.algebra.rewriting.everywhere import everywhere
from xcql.algebra.scalars import Constant, Given, Nested, Scalar, rebuilt
from xcql.compile.result import Compiled, Site
from xcql.dialects.dialect import Dialect
from xcql.source import Source, Span
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import IntegerLiteral, StringLiteral
from xcql.syntax.node import Expr, SyntaxNode, walk
from xcql.syntax.operators import Comparison
from xcql.syntax.prolog import MainModule

Literal = StringLiteral | IntegerLiteral
_TYPES: Mapping[type, OneOf["string", "integer"]] = {
    StringLiteral: "string",
    IntegerLiteral: "integer",
}
# equal shapes have plans with the same open literals, and with different others
Shape = tuple[object, ...]


class Literals:
    """The literals of a query that may be open in its plan, and those that are."""

    def __init__(self, module: MainModule) -> None:
        self.source = module.span.source
        self._at = {one.span.start: one for one in _candidates(module)}
        self.all = tuple(self._at[start] for start in sorted(self._at))
        # the numbers of the first ones that are equal to them
        firsts: dict[tuple[type, object], int] = {}
        keys = [(type(one), one.value) for one in self.all]
        self._firsts = [firsts.setdefault(key, index) for index, key in enumerate(keys)]
        self._numbers = {key: number + 1 for key, number in firsts.items()}
        self._open: set[int] = set()
        self._known: set[int] = set()

    @property
    def shape(self) -> Shape:
        """The text around the literals, their types, and which of them are equal."""
        around: list[object] = []
        end = 0
        for one in self.all:
            around += (self.source.text[end : one.span.start], _TYPES[type(one)])
            end = one.span.end
        return (*around, self.source.text[end:], *self._firsts)

    def given(self, expr: Expr) -> Given | None:
        """A literal of the query as an open one; None if it is none, or has to be known."""
        one = self._here(expr)
        if one is None:
            return None
        self._open.add(one.span.start)
        number = self._numbers[type(one), one.value]
        return Given(f"literal {number}", _TYPES[type(one)])

    def look_at(self, node: SyntaxNode) -> None:
        """The plan depends on the values of the literals inside."""
        for inside in walk(node):
            one = self._here(inside)
            if one is not None:
                self._known.add(one.span.start)

    @property
    def open(self) -> frozenset[int]:
        """The indexes of the literals whose values the plan does not depend on."""
        starts = self._open - self._known
        return frozenset(index for index, one in enumerate(self.all) if one.span.start in starts)

    def _here(self, node: SyntaxNode) -> Literal | None:
        """The candidate that is this node, or was copied to it."""
        if not isinstance(node, StringLiteral | IntegerLiteral):
            return None
        one = self._at.get(node.span.start)
        return one if one is not None and node.span == one.span and node == one else None


def _candidates(module: MainModule) -> Iterator[Literal]:
    """The literals that are compared with something else than a literal or a position."""
    for node in walk(module):
        if isinstance(node, Comparison) and node.span.source is module.span.source:
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(other, StringLiteral | IntegerLiteral):
                    continue
                if isinstance(other, FunctionCall) and not other.arguments:
                    continue
                if isinstance(one, StringLiteral) or _is_small(one):
                    yield one


def _is_small(node: Expr) -> TypeGuard[IntegerLiteral]:
    """Whether it is an integer that SQL can hold."""
    return isinstance(node, IntegerLiteral) and node.value < 2**63


@dataclass(frozen=True, slots=True)
class Reusable:
    """A compiled query with its open literals still open."""

    compiled: Compiled
    literals: tuple[Literal, ...]
    open: frozenset[int]
    source: Source

    @staticmethod
    def of(compiled: Compiled, literals: Literals) -> Reusable:
        return Reusable(compiled, literals.all, literals.open, literals.source)

    @property
    def can_be_reused(self) -> bool:
        """Whether it is the plan of other queries, too; the evaluator gets parts of one query."""
        return bool(self.open) and not self.compiled.evaluations

    def fits(self, others: Sequence[Literal]) -> bool:
        """Whether a query of the same shape with other literals has this plan."""
        pairs = enumerate(zip(self.literals, others, strict=True))
        return all(index in self.open or one == other for index, (one, other) in pairs)

    def filled(self, literals: Sequence[Literal], source: Source, dialect: Dialect) -> Compiled:
        """The compiled query with such literals, whose places are in such a source."""
        if dialect.literal is None or not literals:
            return self.compiled
        compiled = self.compiled
        values = {f"literal {index + 1}": one.value for index, one in enumerate(literals)}
        texts = {f":{name}": dialect.literal(value) for name, value in values.items()}
        moved = _Moved(self.literals, literals, self.source, source)
        items = compiled.items
        return replace(
            compiled,
            sql=compiled.sql.filled_partly(texts),
            items=None if items is None else items.filled_partly(texts),
            sites=tuple(map(moved.site, compiled.sites)),
            steps=_Steps(compiled.steps, values, moved),
        )


@dataclass(frozen=True, slots=True)
class _Moved:
    """Moves places of one query to those of another, which differs in its literals."""

    before: Sequence[Literal]
    after: Sequence[Literal]
    old: Source
    new: Source

    def span(self, span: Span) -> Span:
        if self.old is self.new or span.source is not self.old:
            return span
        return Span(self.new, self._offset(span.start), self._offset(span.end))

    def site(self, site: Site) -> Site:
        return site if self.old is self.new else replace(site, span=self.span(site.span))

    def _offset(self, offset: int) -> int:
        shift = 0
        for one, other in zip(self.before, self.after, strict=True):
            if one.span.end > offset:
                break
            shift = other.span.end - one.span.end
        return offset + shift


class _Steps(Sequence[tuple[str, Plan]]):
    """Plans with the literals of a query in them; they are made only for who looks at them."""

    def __init__(
        self,
        plans: Sequence[tuple[str, Plan]],
        values: Mapping[str, str | int],
        moved: _Moved,
    ) -> None:
        self._plans, self._values, self._moved = plans, values, moved

    def __len__(self) -> int:
        return len(self._plans)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return tuple(self[one] for one in range(*index.indices(len(self))))
        name, plan = self._plans[index]
        return name, everywhere(plan, self._changed)

    def _changed(self, plan: Plan) -> Plan:
        if plan.span is not None:
            span = self._moved.span(plan.span)
            plan = plan if span is plan.span else replace(plan, span=span)
        return with_scalars(plan, self._scalar)

    def _scalar(self, scalar: Scalar) -> Scalar:
        if isinstance(scalar, Given):
            return Constant(self._values[scalar.name])
        if isinstance(scalar, Nested):
            return Nested(scalar.plan, scalar.reduction, self._scalar(scalar.value))
        return rebuilt(scalar, self._scalar)
