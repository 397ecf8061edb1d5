"""Joins by key: finds what else a query reads by value, so that a change there finds its units.

    for $a in stream("s")//account, $t in stream("t")//payment
    where $a/@id = $t/account                                    a key, by a `where`
    return count(stream("u")//order[customer = $a/customer])     a key, by a predicate

Both sides of the comparison must be nodes: then values are compared as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xcql.analysis.graph import TagGraph
from xcql.analysis.typing import TagTypes
from xcql.analysis.walk_values import is_boolean
from xcql.continuous.parts import (
    NODE,
    NODES,
    Access,
    NeedsWhole,
    hidden,
    hidden_ref,
    is_hidden,
    is_stream_call,
    stream_calls,
)
from xcql.continuous.time_use import is_time
from xcql.syntax.construct import SquareArray
from xcql.syntax.control import Quantified
from xcql.syntax.flwor import Clause, Flwor, For, Let, Where
from xcql.syntax.functions import DynamicCall, FunctionCall, InlineFunction
from xcql.syntax.literals import ContextItem, VariableRef
from xcql.syntax.node import Expr, Name, SyntaxNode, children, walk
from xcql.syntax.operators import Binary, Comparison
from xcql.syntax.path import AxisStep, Filter, Path
from xcql.syntax.temporal import IntervalProjection, Now, TimeInterval

_BELOW = ("child", "descendant", "descendant-or-self", "self", "attribute")


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a join with a loop: elements that are found by the values of a key.

    `key` returns the key values of the side's units, `wanted` those that a unit of the loop looks
    up; both take the nodes of the unit, which are in the variable `NODES`. Without a `key` the
    elements are events that are found by time, and `wanted` returns arrays of two bounds.
    """

    access: Access
    key: Expr | None
    wanted: Expr


class SideFinder:
    """Finds the sides of a query: every place where it reads a stream again must be one."""

    def __init__(
        self, types: TagTypes, graphs: Mapping[str, TagGraph], access: Callable[[Expr], Access]
    ) -> None:
        self._types = types
        self._graphs = graphs
        self._access = access
        self.sides: list[Side] = []

    def visit(self, node: SyntaxNode, bindings: tuple[Clause, ...]) -> None:
        """Look for sides in a part of the query, given the clauses whose variables it sees."""
        if isinstance(node, Flwor):
            self._visit_flwor(node, bindings)
        elif isinstance(node, Quantified):
            self._visit_quantified(node, bindings)
        elif isinstance(node, Path) and is_stream_call(node.steps[0]):
            self._add(self._by_predicate(node, bindings), node)
        elif next(stream_calls_here(node), None) is not None:
            raise NeedsWhole("a stream is read again without a key", node.span)
        else:
            for child in children(node):
                self.visit(child, bindings)

    def _visit_flwor(self, flwor: Flwor, bindings: tuple[Clause, ...]) -> None:
        for number, clause in enumerate(flwor.clauses):
            side = None
            if isinstance(clause, For) and any(True for _ in stream_calls(clause.source)):
                side = self._by_where(clause, flwor.clauses[number + 1 :], bindings)
                side = side or self._by_time(clause, bindings)
            if side is not None:
                self.sides.append(side)
            else:
                for child in children(clause):
                    self.visit(child, bindings)
            bindings = (*bindings, clause)
        self.visit(flwor.result, bindings)

    def _visit_quantified(self, node: Quantified, bindings: tuple[Clause, ...]) -> None:
        """Handle `some` like a loop with its condition; `every` tests all items: it has no key."""
        for binding in node.bindings:
            clause = For(binding.variable, binding.source, binding.type, span=binding.span)
            side = None
            if node.quantifier == "some" and any(True for _ in stream_calls(binding.source)):
                side = self._by_equality(clause, [node.condition], bindings)
                side = side or self._by_time(clause, bindings)
            if side is not None:
                self.sides.append(side)
            else:
                self.visit(binding.source, bindings)
            bindings = (*bindings, clause)
        self.visit(node.condition, bindings)

    def _add(self, side: Side | None, node: SyntaxNode) -> None:
        if side is None:
            raise NeedsWhole("a stream is read again without a key", node.span)
        self.sides.append(side)

    # ------------------------------------------------------------------ for $b in … where …

    def _by_where(
        self, clause: For, following: Sequence[Clause], bindings: tuple[Clause, ...]
    ) -> Side | None:
        if clause.position is not None or clause.allowing_empty:
            return None
        conditions: list[Expr] = []
        for later in following:
            if isinstance(later, Where):
                conditions.append(later.condition)
            elif not isinstance(later, (For, Let)):
                break
        return self._by_equality(clause, conditions, bindings)

    def _by_equality(
        self, clause: For, conditions: Sequence[Expr], bindings: tuple[Clause, ...]
    ) -> Side | None:
        """The side of a loop, if one of its conditions contains a key."""
        try:
            access = self._access(clause.source)
        except NeedsWhole:
            return None
        if _variables(access.head):
            return None
        for condition in conditions:
            for left, right in self._equalities(condition):
                if _begins_with(left, clause.variable):
                    wanted = self._wanted(right, bindings)
                    each = self._key_source(access, left)
                    if wanted is not None and each is not None:
                        loops = (_over_nodes(clause), replace(clause, source=each, type=None))
                        return Side(access, Flwor(loops, left, span=clause.span), wanted)
        return None

    def _key_source(self, access: Access, key: Expr) -> Expr | None:
        """The expression from which the key of a side's elements is read, without query variables.

        If a projection or filter with variables follows, all possible keys are used: the elements
        that it keeps have the same text, provided that they contain no fillers.
        """
        if not _variables(access.each):
            return access.each
        each = access.each
        while isinstance(each, (IntervalProjection, Filter)):
            each = each.base
        texts_stay = all(
            not self._graphs[nodes.stream].fragmented_below(*nodes.tags)
            for nodes in self._types[key].nodes
        )
        return each if isinstance(each, VariableRef) and texts_stay else None

    # ------------------------------------------------------------------ for $b in …?[from, to]

    def _by_time(self, clause: For, bindings: tuple[Clause, ...]) -> Side | None:
        """The side of events that are read through an interval given by a unit."""
        if clause.position is not None or clause.allowing_empty:
            return None
        try:
            access = self._access(clause.source)
        except NeedsWhole:
            return None
        each, interval = access.each, None
        while isinstance(each, (IntervalProjection, Filter)):
            interval = each.interval if isinstance(each, IntervalProjection) else None
            each = each.base
        if interval is None or _variables(access.head) or not isinstance(each, VariableRef):
            return None
        if not self._is_events(clause.source, interval, access):
            return None
        begin, end = interval.begin, interval.end or interval.begin
        bounds = SquareArray((begin, end), span=interval.span)
        if not (_is_of_variables(bounds) and is_time(begin) and is_time(end)):
            return None
        wanted = self._given(bounds, bindings)
        return None if wanted is None else Side(access, None, wanted)

    def _is_events(self, source: Expr, interval: TimeInterval, access: Access) -> bool:
        """Whether the operand of a projection is exactly the events that the units are made of."""
        for part in walk(source):
            if isinstance(part, IntervalProjection) and part.interval is interval:
                type_ = self._types[part.base]
                graph = self._graphs[access.stream]
                return (
                    not (type_.plain or type_.unknown or type_.leaves)
                    and all(nodes.tags <= access.units for nodes in type_.nodes)
                    and all(graph.tag(tag).kind == "event" for tag in access.units)
                )
        return False

    # ------------------------------------------------------------------ stream("t")//b[… = …]

    def _by_predicate(self, path: Path, bindings: tuple[Clause, ...]) -> Side | None:
        for number, step in enumerate(path.steps[1:], 1):
            if not isinstance(step, AxisStep):
                return None
            for nth, predicate in enumerate(step.predicates):
                for left, right in self._equalities(predicate):
                    relative = _relative(left)
                    wanted = self._wanted(right, bindings) if relative is not None else None
                    if relative is not None and wanted is not None:
                        bare = replace(step, predicates=())
                        head = replace(path, steps=(*path.steps[:number], bare))
                        for later in path.steps[number + 1 :]:
                            if any(True for _ in stream_calls(later)):
                                return None
                        if any(_variables(one) for one in path.steps[:number]):
                            return None
                        access = self._access(head)
                        if not isinstance(access.each, VariableRef):
                            return None
                        key = Flwor((_over_nodes(step),), relative, span=step.span)
                        return Side(access, key, wanted)
                if not is_boolean(predicate, self._types[predicate]):
                    return None
                if nth + 1 == len(step.predicates) and _variables(step):
                    return None
        return None

    # ------------------------------------------------------------------ keys

    def _equalities(self, condition: Expr) -> Iterator[tuple[Expr, Expr]]:
        """The `=` comparisons of nodes that are necessary for a condition, in both directions."""
        match condition:
            case Binary(op="and", left=left, right=right):
                yield from self._equalities(left)
                yield from self._equalities(right)
            case Comparison(op="=", left=left, right=right):
                if self._is_nodes(left) and self._is_nodes(right):
                    yield left, right
                    yield right, left

    def _is_nodes(self, expr: Expr) -> bool:
        type_ = self._types[expr]
        return type_.of_streams and not type_.plain and not type_.unknown

    def _wanted(self, expr: Expr, bindings: tuple[Clause, ...]) -> Expr | None:
        """The values that a unit looks up, whatever the conditions; None if that reads a stream."""
        start = expr.steps[0] if isinstance(expr, Path) and not expr.absolute else expr
        return self._given(expr, bindings) if isinstance(start, VariableRef) else None

    def _given(self, expr: Expr, bindings: tuple[Clause, ...]) -> Expr | None:
        """The values of an expression for the tuples of a unit, before any stream is read again."""
        kept: list[Clause] = []
        known: list[Name] = []
        unknown: list[Name] = []
        for clause in bindings:
            needs_stream = any(True for _ in stream_calls(clause)) or any(
                name in unknown for name in _variables(clause)
            )
            if isinstance(clause, Where) and not needs_stream:
                kept.append(clause)
            if not isinstance(clause, (For, Let)):
                continue
            bound = [clause.variable]
            if isinstance(clause, For) and clause.position is not None:
                bound.append(clause.position)
            unknown = [name for name in unknown if name not in bound]
            if needs_stream:
                unknown += bound
            else:
                kept.append(clause)
                known += bound
        if any(True for _ in stream_calls(expr)):
            return None
        if not kept or any(name in unknown or name not in known for name in _variables(expr)):
            return None
        return Flwor(tuple(kept), expr, span=expr.span)


def stream_calls_here(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """The node itself, if it reads a stream."""
    return (part for part in stream_calls(node) if part is node)


def _over_nodes(node: SyntaxNode) -> For:
    return For(hidden(NODE, node.span), hidden_ref(NODES, node.span), span=node.span)


def _begins_with(expr: Expr, variable: Name) -> bool:
    """Whether an expression is a variable or a downward path from it."""
    if isinstance(expr, VariableRef):
        return expr.name == variable
    if not isinstance(expr, Path) or expr.absolute:
        return False
    first, *steps = expr.steps
    return (
        isinstance(first, VariableRef)
        and first.name == variable
        and all(_is_plain_step(step) for step in steps)
    )


def _relative(expr: Expr) -> Expr | None:
    """A downward path from the context item, rewritten to start at `NODE`; otherwise None."""
    node = hidden_ref(NODE, expr.span)
    match expr:
        case ContextItem():
            return node
        case AxisStep() if _is_plain_step(expr):
            return Path(False, (node, expr), span=expr.span)
        case Path(absolute=False, steps=steps):
            rest = steps[1:] if isinstance(steps[0], ContextItem) else steps
            if rest and all(_is_plain_step(step) for step in rest):
                return Path(False, (node, *rest), span=expr.span)
    return None


def _is_plain_step(step: Expr) -> bool:
    return isinstance(step, AxisStep) and step.axis in _BELOW and not step.predicates


def _variables(expr: SyntaxNode) -> list[Name]:
    """The variables of the query that an expression mentions."""
    return [
        part.name
        for part in walk(expr)
        if isinstance(part, VariableRef) and not is_hidden(part.name)
    ]


def _is_of_variables(expr: Expr) -> bool:
    """Whether an expression depends only on variables, not on a context item or the clock."""
    inner = {
        id(step)
        for part in walk(expr)
        if isinstance(part, Path) and not part.absolute
        for step in part.steps[1:]
    }
    return not any(
        isinstance(part, (ContextItem, Now, Flwor, Quantified, InlineFunction, DynamicCall))
        or (isinstance(part, AxisStep) and id(part) not in inner)
        or (isinstance(part, Path) and part.absolute)
        or (isinstance(part, FunctionCall) and not (part.arguments or part.name.local == "start"))
        for part in walk(expr)
    )
