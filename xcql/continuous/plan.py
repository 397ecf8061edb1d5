"""Plans how a query's answer is kept up to date, from its text and the Tag Structures alone.

The answer is maintained in units: one for each version or event of the fillers over which the
outermost loop of the query iterates, or which contain what it iterates over.

    for $a in stream("credit")//account        one unit per version of an account
    where sum($a/transaction/amount) > 100
    return $a/customer

A query that cannot be split in this way is computed as a whole; the plan says where and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xcql.analysis.names import FUNCTIONS
from xcql.analysis.types import DOCUMENT
from xcql.analysis.walk_values import is_boolean
from xcql.check import Checked
from xcql.continuous.joins import Side, SideFinder
from xcql.continuous.parts import (
    NODE,
    NODES,
    Access,
    NeedsWhole,
    hidden,
    hidden_ref,
    is_stream_call,
    stream_calls,
)
from xcql.continuous.tally_plan import Tallied, tallied
from xcql.continuous.time_use import TimeUse, TimeWindow, time_use
from xcql.continuous.windowed import DOWNWARD, is_downward_step, windowed_events
from xcql.source import Span
from xcql.syntax.construct import SquareArray
from xcql.syntax.flwor import Clause, Flwor, For, GroupBy, Let, OrderBy, OrderKey, Where
from xcql.syntax.functions import FunctionCall
from xcql.syntax.literals import StringLiteral, VariableRef
from xcql.syntax.node import Expr, SyntaxNode, walk
from xcql.syntax.operators import Binary, Comparison, SimpleMap
from xcql.syntax.path import AxisStep, Filter, Path
from xcql.syntax.prolog import ContextItemDecl, FunctionDecl, MainModule, Setter, VariableDecl
from xcql.syntax.temporal import IntervalProjection
from xcql.syntax.types import AnyKindTest

# aggregates that can be combined from those of the units
AGGREGATES = ("count", "exists", "empty", "sum", "avg", "min", "max")


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A `group by`: the answer is maintained by groups, and each unit knows its groups.

    `keys` returns an array of the key values for each tuple of a unit, from its `NODES`; the arrays
    that the plan's body returns begin with `size` such values.
    """

    keys: Expr
    size: int
    span: Span


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """How the answer is maintained by units.

    `body` returns the answer for the nodes of one unit, which are in the variable `NODES`; with
    `group` or `order` it returns an array for each tuple, of these keys followed by the items.
    `looked_at` has, for each stream, the tags of all fillers that the query reads; `windowed` has
    the windows for event tags that it reads only through windows. If `looks_up` is true, it may
    read elements above a unit's. `tallied` is the body without the counts and sums that are stored
    by filler.
    """

    main: Access
    body: Expr
    order: tuple[OrderKey, ...]
    aggregate: FunctionCall | None
    sides: tuple[Side, ...]
    looked_at: Mapping[str, frozenset[str]]
    windowed: Mapping[tuple[str, str], tuple[TimeWindow, ...]]
    time: TimeUse
    looks_up: bool
    group: GroupPlan | None = None
    tallied: Tallied | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    """The answer is computed as a whole, for a reason."""

    reason: NeedsWhole
    time: TimeUse


def plan_query(query: Checked, level: int = 0, calls_python: bool = False) -> UnitPlan | Whole:
    """The plan of a query; with a higher level the units are fillers further up.

    With `calls_python`, functions from outside the query may inspect their arguments.
    """
    uses = time_use(query, calls_python)
    try:
        return _Planner(query, uses, level).plan()
    except NeedsWhole as reason:
        return Whole(reason, uses)


class _Planner:
    """Makes one plan; holds what all of its steps need."""

    def __init__(self, query: Checked, uses: TimeUse, level: int) -> None:
        self.query = query
        self.module = query.module
        self.graphs = query.graphs
        self.types = query.types
        self.uses = uses
        self.level = level
        self.names = query.names.namespaces
        self.looks_up = _looks_up(query.module)

    def plan(self) -> UnitPlan:
        self._check_prolog()
        for part in walk(self.module):
            if isinstance(part, FunctionCall) and part.name.local in _BY_ID:
                raise NeedsWhole(f"{part.name.local}() searches the whole document", part.span)
        body, aggregate = self._aggregate(self.module.body)
        flwor = body if isinstance(body, Flwor) else self._as_loop(body)
        leading, first, rest, order = self._clauses(flwor)
        main = self.access(first.source)
        span = first.span
        loop = For(hidden(NODE, span), hidden_ref(NODES, span), span=span)
        source = replace(first, source=main.each)
        clauses = (loop, *leading, source, *rest)
        group = self._group(clauses)
        shown = group_names(clauses) + [key.key for key in order]
        result = flwor.result
        if shown:
            result = SquareArray((*shown, result), span=result.span)
        kept = Flwor(clauses, result, span=flwor.span)
        sides = self._sides(kept, main)
        if sides and group is not None:
            raise NeedsWhole("the query groups a join with other streams", group.span)
        return UnitPlan(
            main,
            kept,
            order,
            aggregate,
            sides,
            self.types.looked_at,
            windowed_events(self.query),
            self.uses,
            self.looks_up,
            group,
            self._tallied(kept, first, main) if not sides and group is None else None,
        )

    def _tallied(self, kept: Flwor, first: For, main: Access) -> Tallied | None:
        """The tallies of a query; none if their input can change with time alone."""
        is_each_unit = isinstance(main.each, VariableRef) and (
            self._steps(main.head)[1][-1][0] == main.units
        )
        if self.looks_up or not self.uses.is_none or not is_each_unit:
            return None
        return tallied(self.query, kept, first.variable, main)

    def _group(self, clauses: tuple[Clause, ...]) -> GroupPlan | None:
        """The grouping at the end of some clauses, if there is one."""
        last = clauses[-1]
        if not isinstance(last, GroupBy):
            return None
        lets = []
        for key in last.keys:
            if key.collation is not None or key.type is not None:
                raise NeedsWhole("grouping depends on a collation or a type", key.span)
            if key.source is not None:
                lets.append(Let(key.variable, key.source, span=key.span))
        for part in self.module.declarations:
            if isinstance(part, Setter) and part.keyword == "default collation":
                raise NeedsWhole("grouping depends on a collation", part.span)
        names = group_names(clauses)
        tuples = Flwor(
            (*clauses[:-1], *lets), SquareArray(tuple(names), span=last.span), span=last.span
        )
        return GroupPlan(tuples, len(names), last.span)

    def _check_prolog(self) -> None:
        for declaration in self.module.declarations:
            if isinstance(declaration, ContextItemDecl):
                raise NeedsWhole("a context item is declared", declaration.span)
            if isinstance(declaration, (FunctionDecl, VariableDecl)):
                for call in stream_calls(declaration):
                    raise NeedsWhole("a declaration reads a stream", call.span)

    def _aggregate(self, body: Expr) -> tuple[Expr, FunctionCall | None]:
        if isinstance(body, FunctionCall) and len(body.arguments) == 1:
            uri, local = self.names.function_name(body.name)
            if uri == FUNCTIONS and local in AGGREGATES:
                return body.arguments[0], body
        return body, None

    def _as_loop(self, body: Expr) -> Flwor:
        """A path on its own, as a loop that returns the items of the path."""
        span = body.span
        item = hidden("item", span)
        return Flwor((For(item, body, span=span),), VariableRef(item, span=span), span=span)

    def _clauses(
        self, flwor: Flwor
    ) -> tuple[tuple[Let, ...], For, tuple[Clause, ...], tuple[OrderKey, ...]]:
        """The clauses before the loop, the loop, the clauses after it, and the order."""
        first, *rest = flwor.clauses
        leading: list[Let] = []
        while isinstance(first, Let) and rest and not list(stream_calls(first)):
            leading.append(first)
            first, *rest = rest
        if not isinstance(first, For):
            raise NeedsWhole("the query does not begin with a loop over a stream", first.span)
        if leading and any(
            isinstance(part, VariableRef) and part.name in [let.variable for let in leading]
            for part in walk(first.source)
        ):
            raise NeedsWhole("the input of the loop depends on a variable", first.span)
        if first.position is not None:
            raise NeedsWhole("positions are counted over all items of the loop", first.span)
        if first.allowing_empty:
            raise NeedsWhole("`allowing empty` depends on whether there are any items", first.span)
        order: tuple[OrderKey, ...] = ()
        if rest and isinstance(rest[-1], OrderBy):
            last = rest.pop()
            assert isinstance(last, OrderBy)
            order = last.keys
            for key in order:
                if key.collation is not None:
                    raise NeedsWhole("the order depends on a collation", key.span)
        for clause in rest[:-1] if rest and isinstance(rest[-1], GroupBy) else rest:
            if not isinstance(clause, (For, Let, Where)):
                name = type(clause).__name__
                raise NeedsWhole(
                    f"the clause {_CLAUSES.get(name, name)} sees all tuples", clause.span
                )
        return tuple(leading), first, tuple(rest), order

    # ------------------------------------------------------------------ downward paths from a root

    def access(self, source: Expr) -> Access:
        """How the input of a loop is reached; NeedsWhole if it is not by a downward path."""
        head, each = self._split(source)
        stream, steps = self._steps(head)
        tags = self._units(stream, steps, head.span)
        graph = self.graphs[stream]
        if _goes_on(each) and graph.nest(steps[-1][0] - {DOCUMENT}):
            # results found from each of them may not be in document order
            raise NeedsWhole("a path continues from elements that may be nested", source.span)
        above: set[str] = set()
        for tag in graph.above(tags):
            if tag != DOCUMENT and (graph.is_fragmented(tag) or tag == graph.structure.root.id):
                above.add(tag)
        return Access(stream, head, each, tags, frozenset(above))

    def _split(self, source: Expr) -> tuple[Expr, Expr]:
        """A path up to the first projection or similar, and the rest, for each node."""
        span = source.span
        match source:
            case FunctionCall() if is_stream_call(source):
                return source, hidden_ref(NODE, span)
            case IntervalProjection(base=base):
                head, each = self._split(base)
                return head, replace(source, base=each)
            case Filter(base=base, predicate=predicate):
                if not is_boolean(predicate, self.types[predicate]):
                    raise NeedsWhole("the query uses a position among all items", predicate.span)
                head, each = self._split(base)
                return head, replace(source, base=each)
            case SimpleMap(left=left, right=right) if not _asks_position(right):
                head, each = self._split(left)
                return head, replace(source, left=each)
            case Path(absolute=False, steps=(first, *steps)) if not isinstance(first, AxisStep):
                head, each = self._split(first)
                if not isinstance(each, VariableRef):
                    return head, Path(False, (each, *steps), span=span)
                taken = 0
                while taken < len(steps) and self._is_of_head(steps[taken]):
                    taken += 1
                # `//x[1]` is not the first of all, but the first of each parent
                if taken < len(steps) and taken and _is_anywhere(steps[taken - 1]):
                    raise NeedsWhole("the path has a step to any depth", steps[taken].span)
                before = head.steps if isinstance(head, Path) else (head,)
                if taken:
                    head = Path(False, (*before, *steps[:taken]), span=span)
                if taken < len(steps):
                    return head, Path(False, (each, *steps[taken:]), span=span)
                return head, each
        raise NeedsWhole("this is not a downward path from the root of a stream", span)

    def _is_of_head(self, step: Expr) -> bool:
        """Whether a step can be evaluated over all units at once, in a view without other units.

        Its predicates must not read outside the units; what comes later is checked at run time.
        """
        has_predicates = isinstance(step, AxisStep) and bool(step.predicates)
        return is_downward_step(step, self.types) and not (has_predicates and self.looks_up)

    def _steps(self, head: Expr) -> tuple[str, list[tuple[frozenset[str], bool]]]:
        """The stream of a path, and for each step the tags it reaches and whether it reads them."""
        steps = head.steps if isinstance(head, Path) else (head,)
        stream = self._stream_of(steps[0])
        graph = self.graphs[stream]
        tags = frozenset({DOCUMENT})
        found: list[tuple[frozenset[str], bool]] = []
        for step in steps[1:]:
            assert isinstance(step, AxisStep)
            test = self.names.element_test(step.test)
            reached: set[str] = set()
            for tag in tags:
                if step.axis in ("self", "descendant-or-self"):
                    reached.add(tag)
                if step.axis == "child":
                    reached.update(child.id for child in graph.children(tag))
                elif step.axis != "self":
                    reached |= graph.below(tag)
            any_kind = isinstance(step.test, AnyKindTest)
            tags = frozenset(
                tag
                for tag in reached
                if (any_kind if tag == DOCUMENT else test is not None and test(graph.tag(tag)))
            )
            found.append((tags, bool(step.predicates)))
        return stream, found

    def _stream_of(self, call: Expr) -> str:
        match call:
            case FunctionCall(arguments=(StringLiteral(value=name),)) if name in self.graphs:
                return name
            case FunctionCall(arguments=()) if len(self.graphs) == 1:
                return next(iter(self.graphs))
        raise NeedsWhole("the name of the stream is only known when the query runs", call.span)

    def _units(
        self, stream: str, steps: list[tuple[frozenset[str], bool]], span: Span
    ) -> frozenset[str]:
        """The tags of the fillers that contain everything that a path reaches and reads."""
        graph = self.graphs[stream]
        if not steps or not steps[-1][0]:
            raise NeedsWhole("the items of the loop are not in fillers", span)
        if DOCUMENT in steps[-1][0]:
            raise NeedsWhole("the loop iterates over the document", span)
        tags = self._holders(stream, steps[-1][0], span)
        for looked, has_predicates in steps:
            if has_predicates:
                outside = looked - tags - frozenset().union(*(graph.below(tag) for tag in tags))
                if outside:
                    tags = self._holders(stream, outside | tags, span)
        for _ in range(self.level):
            tags = self._holders(
                stream, frozenset().union(*(graph.parents(tag) for tag in tags)), span
            )
        if graph.nest(tags):
            raise NeedsWhole("elements of the loop may contain each other", span)
        return tags

    def _holders(self, stream: str, tags: frozenset[str], span: Span) -> frozenset[str]:
        """The tags of the outermost fillers that contain elements of these tags."""
        graph = self.graphs[stream]
        holders: set[str] = set()
        pending = list(tags)
        seen: set[str] = set()
        while pending:
            tag = pending.pop()
            if tag in seen:
                continue
            seen.add(tag)
            if tag in (DOCUMENT, graph.structure.root.id):
                raise NeedsWhole("the query reads the root's own content", span)
            if graph.is_fragmented(tag):
                holders.add(tag)
            else:
                pending += graph.parents(tag)
        return frozenset(
            tag
            for tag in holders
            if not any(tag in graph.below(other) for other in holders - {tag})
        )

    # ------------------------------------------------------------------ joins

    def _sides(self, kept: Flwor, main: Access) -> tuple[Side, ...]:
        """What else the query reads; NeedsWhole if it is not found by a key."""
        finder = SideFinder(self.types, self.graphs, self.access)
        finder.visit(kept, ())
        sides = tuple(finder.sides)
        if not sides:
            return ()
        streams = [side.access.stream for side in sides]
        for stream in streams:
            if streams.count(stream) > 1:
                raise NeedsWhole(f"the stream '{stream}' is joined twice", kept.span)
        if self.looks_up:
            raise NeedsWhole("a query with a join reads elements above its units", kept.span)
        for part in walk(self.module):
            if isinstance(part, Setter) and part.keyword == "default collation":
                raise NeedsWhole("the join depends on a collation", part.span)
            if main.stream in streams and _compares_identity(part):
                raise NeedsWhole(
                    "nodes of a stream are compared with others of the same one", part.span
                )
        return sides


_BY_ID = ("id", "idref", "element-with-id")
_CLAUSES = {"GroupBy": "group by", "Count": "count", "Window": "window", "OrderBy": "order by"}


def _compares_identity(part: SyntaxNode) -> bool:
    return (isinstance(part, Comparison) and part.op in ("is", "<<", ">>")) or (
        isinstance(part, Binary) and part.op in ("union", "intersect", "except", "|")
    )


def _looks_up(module: MainModule) -> bool:
    """Whether a query may read ancestors of an element."""
    return any(
        (isinstance(part, AxisStep) and part.axis not in (*DOWNWARD, "attribute"))
        or (isinstance(part, Path) and part.absolute)
        or (isinstance(part, FunctionCall) and part.name.local in ("root", "lang", "path"))
        for part in walk(module)
    )


def group_names(clauses: tuple[Clause, ...]) -> list[Expr]:
    """The grouping keys at the end of some clauses, as variables."""
    last = clauses[-1]
    if not isinstance(last, GroupBy):
        return []
    return [VariableRef(key.variable, span=key.span) for key in last.keys]


def _goes_on(each: Expr) -> bool:
    """Whether a path continues directly from the nodes that another one has reached."""
    while not isinstance(each, VariableRef):
        if isinstance(each, Path):
            if isinstance(each.steps[0], VariableRef):
                return True
            each = each.steps[0]
        elif isinstance(each, SimpleMap):
            each = each.left
        else:
            assert isinstance(each, (IntervalProjection, Filter))
            each = each.base
    return False


def _is_anywhere(step: Expr) -> bool:
    return (
        isinstance(step, AxisStep)
        and step.axis == "descendant-or-self"
        and isinstance(step.test, AnyKindTest)
    )


def _asks_position(expr: Expr) -> bool:
    return any(
        isinstance(part, FunctionCall) and part.name.local in ("position", "last")
        for part in walk(expr)
    )
